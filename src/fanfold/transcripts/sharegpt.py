"""ShareGPT rows: `conversations`, a list of `{from, value}`; used by many data sets for training.

Who speaks has many names. A call (`function_call`) is JSON in a text and has no id: calls are numbered, and what
tools gave (`observation`) belongs to the oldest call that is still open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import Recording, parse_text
from fanfold.transcripts.values import listing, mapping, mappings, number, text, without

LISTS = ("conversations", "conversation")
PEOPLE = ("human", "user", "prompter")
MODELS = ("gpt", "assistant", "chatgpt", "bard", "bing", "claude", "model", "ai")
CALLS = ("function_call", "tool_call")
RESULTS = ("observation", "tool", "tool_response", "function_response", "function")


def fits(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and (_talk(mapping(value[0])) is not None or _is_talk(value))
    return _talk(mapping(value)) is not None


def _talk(record: Wire) -> list[Any] | None:
    return next((record[key] for key in LISTS if _is_talk(record.get(key))), None)


def _is_talk(value: Any) -> bool:
    talk = mappings(value)
    return bool(talk) and all(text(turn, "from") and "value" in turn for turn in talk[:8])


def read(recording: Recording) -> Iterator[Conversation]:
    for row in recording.rows():
        rows = [row.value] if isinstance(row.value, dict) or _is_talk(row.value) else listing(row.value)
        for place, value in enumerate(rows, 1):
            record = {LISTS[0]: value} if isinstance(value, list) else mapping(value)
            talk = _talk(record)
            if talk is None:
                reason = "a ShareGPT row has `conversations`: a list of `from` and `value`."
                raise recording.wrong(row.line, reason)
            yield _conversation(recording.name, record, talk, recording.name_part(row.line, place))


def _conversation(source: str, record: Wire, talk: list[Any], fallback: str) -> Conversation:
    teller = _ShareTeller()
    if system := text(record, "system"):
        teller.say("system", system)
    for turn in mappings(talk):
        teller.take(text(turn, "from"), text_of(turn.get("value")))
    tools = _tools(record.get("tools"))
    return teller.finish(
        text(record, "id") or (str(record["id"]) if number(record.get("id")) else fallback),
        source,
        "openai.chat",
        model=text(record, "model"),
        frame={"tools": tools} if tools else {},
        meta=without(record, *LISTS, "id", "system", "tools", "model"),
    )


def _tools(value: Any) -> list[Wire]:
    """Tools are a JSON text or a list, of schemas or of OpenAI's tools."""
    tools = mappings(parse_text(value) if isinstance(value, str) else value)
    return [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools]


class _ShareTeller(Teller):
    """A conversation being told."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.open: deque[str] = deque()
        """Calls that have no result yet."""

    def take(self, who: str, said: str) -> None:
        match who.lower().replace("-", "_"):
            case "system":
                self.say("system", said)
            case name if name in PEOPLE:
                self.say("user", said)
            case name if name in MODELS:
                self.add(make_answer(said))
            case name if name in CALLS:
                self._call(said)
            case name if name in RESULTS and self.open:
                self.add(make_result(self.open.popleft(), said))
            case name if (
                name in RESULTS
            ):  # without a call it was written into the conversation, and stays there
                self.say("user", said)
            case _:
                self.other[who] += 1

    def _call(self, said: str) -> None:
        """Append calls; a text that is none is what the model said."""
        value = parse_text(said)
        calls = []
        for call in mappings([value] if isinstance(value, dict) else value):
            if call.get("name"):
                self.count += 1
                self.open.append(f"call_{self.count}")
                arguments = call.get("arguments", call.get("parameters"))
                calls.append(make_call(self.open[-1], text(call, "name"), arguments))
        self.add(make_answer(None, calls) if calls else make_answer(said))
