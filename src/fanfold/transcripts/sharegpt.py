"""ShareGPT rows: `conversations`, a list of `{from, value}`; used by many data sets for training.

Who speaks has many names. A call (`function_call`) is JSON in a text and has no id: calls are numbered, and what
tools gave (`observation`) belongs to the oldest call that is still open.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.parsing import parse
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, number, string

NAME = "sharegpt"
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
    return bool(talk) and all(string(turn.get("from")) and "value" in turn for turn in talk[:8])


def read(recording: Recording) -> Iterator[Conversation]:
    name = PurePath(recording.name).name
    for row in recording.rows():
        rows = [row.value] if isinstance(row.value, dict) or _is_talk(row.value) else listing(row.value)
        for place, value in enumerate(rows, 1):
            record = {LISTS[0]: value} if isinstance(value, list) else mapping(value)
            talk = _talk(record)
            if talk is None:
                raise recording.wrong(
                    row.line, "a ShareGPT row has `conversations`: a list of `from` and `value`."
                )
            yield _conversation(
                recording.name, record, talk, f"{name}#{row.line}" + (f".{place}" if place > 1 else "")
            )


def _conversation(source: str, record: Wire, talk: list[Any], fallback: str) -> Conversation:
    told = _ShareTeller()
    if system := string(record.get("system")):
        told.draft.add({"role": "system", "content": system})
    for turn in mappings(talk):
        told.take(string(turn.get("from")) or "", turn.get("value"))
    tools = _tools(record.get("tools"))
    known = {*LISTS, "id", "system", "tools", "model"}
    meta = {key: value for key, value in record.items() if key not in known}
    return told.draft.finish(
        first_string(record, "id") or (str(record["id"]) if number(record.get("id")) else fallback),
        source,
        NAME,
        "openai.chat",
        model=string(record.get("model")),
        frame={"tools": tools} if tools else {},
        meta=meta | ({"other_lines": dict(told.other)} if told.other else {}),
    )


def _tools(value: Any) -> list[Wire]:
    """Tools are a JSON text or a list, of schemas or of OpenAI's tools."""
    listed = mappings(_parse(value) if isinstance(value, str) else value)
    return [tool if "function" in tool else {"type": "function", "function": tool} for tool in listed]


def _parse(text: str) -> Any:
    try:
        return parse(text.encode("utf-8", "surrogatepass"))
    except BadInput:
        return None


class _ShareTeller:
    """A conversation being told."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.count = 0
        self.open: deque[str] = deque()
        """Calls that have no result yet."""
        self.other: Counter[str] = Counter()

    def take(self, who: str, value: Any) -> None:
        text = text_of(value)
        match who.lower().replace("-", "_"):
            case "system":
                self.draft.add({"role": "system", "content": text})
            case name if name in PEOPLE:
                self.draft.add({"role": "user", "content": text})
            case name if name in MODELS:
                self.draft.add(make_answer(text))
            case name if name in CALLS:
                self._call(text)
            case name if name in RESULTS:
                self._return(text)
            case _:
                self.other[who] += 1

    def _call(self, text: str) -> None:
        """Append calls; a text that is none is what the model said."""
        value = _parse(text)
        asked = [call for call in mappings([value] if isinstance(value, dict) else value) if call.get("name")]
        calls = [self._number(call) for call in asked]
        self.draft.add(make_answer(None, calls) if calls else make_answer(text))

    def _number(self, call: Wire) -> Wire:
        self.count += 1
        self.open.append(f"call_{self.count}")
        arguments = call.get("arguments", call.get("parameters"))
        return make_call(self.open[-1], string(call.get("name")) or "", arguments)

    def _return(self, text: str) -> None:
        """Append a result; where no call is open it was written into the conversation, and stays there."""
        self.draft.add(
            make_result(self.open.popleft(), text) if self.open else {"role": "user", "content": text}
        )


FORMAT = Format(NAME, fits, read)
