"""OpenHands events, of its agent SDK (`kind`: MessageEvent, ActionEvent, …) and the older actions and observations.

They stand in a list, one a line, under `history` or `trajectory`, or in a folder with a file for each, and are told in
OpenAI's chat form. A condensation says which events it forgot.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.transcripts import openhands_actions
from fanfold.transcripts.chat import join_texts, make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.files import open_path
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, seconds, some, string

NAME = "openhands"
LISTS = ("history", "trajectory", "events", "items")
KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent")
KINDS_TOO = ("UserRejectObservation", "Condensation", "ConversationStateUpdateEvent", "PauseEvent")


def fits(value: Any) -> bool:
    if isinstance(value, list):
        return any(_is_event(event) for event in mappings(value)[:8])
    record = mapping(value)
    return _is_event(record) or any(_is_event(event) for event in _events(record)[:8])


def _is_event(record: Wire) -> bool:
    return record.get("kind") in (*KINDS, *KINDS_TOO) or openhands_actions.is_event(record)


def _events(record: Wire) -> list[Wire]:
    """The events of a record; early ones came in pairs of action and observation."""
    held = next((listing(record[key]) for key in LISTS if listing(record.get(key))), [])
    return mappings(list(itertools.chain(*(one if isinstance(one, list) else [one] for one in held))))


def read(recording: Recording) -> Iterator[Conversation]:
    """A conversation for each record that holds events; events that stand alone make one together."""
    loose: list[Wire] = []
    name = PurePath(recording.name).name
    for row in recording.rows():
        for place, record in enumerate(
            mappings(row.value if isinstance(row.value, list) else [row.value]), 1
        ):
            if _is_event(record) or not _events(record):
                loose.append(record)
                continue
            fallback = f"{name}#{row.line}" + (f".{place}" if place > 1 else "")
            yield _conversation(recording.name, _events(record), record, fallback)
    if loose:
        yield _conversation(recording.name, loose, {}, name)


def read_folder(folder: Path, *, strict: bool = True) -> Iterator[Conversation]:
    """The one conversation of a folder in which each file is an event, in the order of their numbers."""
    events: list[Wire] = []
    for path in sorted(folder.glob("*.json"), key=_number):
        try:
            with open_path(path, str(path)) as stream:
                events.append(mapping(next(Recording(stream, str(path)).rows()).value))
        except BadInput:
            if strict:
                raise
    told = _conversation(str(folder), events, {}, folder.resolve().parent.name)
    if told.messages:
        yield told


def _number(path: Path) -> tuple[int, str]:
    digits = next((part for part in path.stem.split("-") if part.isdecimal()), "0")
    return int(digits[:18]), path.name


def _conversation(source: str, events: list[Wire], record: Wire, fallback: str) -> Conversation:
    is_older = any(openhands_actions.is_event(event) for event in events)
    told = openhands_actions.Action() if is_older else _EventTeller()
    for event in events:
        told.take(event)
    return told.draft.finish(
        first_string(record, "instance_id", "conversation_id", "id") or fallback,
        source,
        NAME,
        "openai.chat",
        model=told.model or first_string(mapping(mapping(record.get("metadata")).get("llm_config")), "model"),
        frame={"tools": told.tools} if told.tools else {},
        meta=some(record, "test_result", "metrics", "error", "instruction")
        | ({"other_lines": dict(told.other)} if told.other else {}),
    )


class _EventTeller:
    """Events of the agent SDK being told."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.model: str | None = None
        self.tools: list[Wire] = []
        self.answers: dict[str, int] = {}
        """Where the answer of each response stands: its calls come as events of their own."""
        self.places: dict[str, int] = {}
        """The message that each event became."""
        self.calls: dict[str, str] = {}
        """The call that each action was told as."""
        self.other: Counter[str] = Counter()

    def take(self, event: Wire) -> None:
        time = seconds(event.get("timestamp"))
        self.places[string(event.get("id")) or ""] = len(self.draft.messages)
        match event.get("kind"):
            case "SystemPromptEvent":
                self._begin(event, time)
            case "MessageEvent":
                self._say(event, time)
            case "ActionEvent":
                self._act(event, time)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                acted = self.calls.get(string(event.get("action_id")) or "", "")
                self.draft.add(make_result(string(event.get("tool_call_id")) or acted, _outcome(event)), time)
            case "Condensation":
                self._condense(event, time)
            case kind:
                self.other[string(kind) or "unknown"] += 1

    def _begin(self, event: Wire, time: float | None) -> None:
        texts = (
            mapping(event.get(key)).get("text", event.get(key))
            for key in ("system_prompt", "dynamic_context")
        )
        self.draft.add({"role": "system", "content": join_texts(texts)}, time)
        self.tools = [tool for tool in mappings(event.get("tools")) if "function" in tool]

    def _say(self, event: Wire, time: float | None) -> None:
        said = mapping(event.get("llm_message"))
        role = string(said.get("role")) or ("assistant" if event.get("source") == "agent" else "user")
        blocks = [*_blocks(said.get("content")), *_blocks(event.get("extended_content"))]
        content = (
            blocks
            if any("image_url" in block for block in blocks)
            else join_texts(b.get("text") for b in blocks)
        )
        if role == "assistant":
            calls = [call for call in mappings(said.get("tool_calls")) if "function" in call]
            self.draft.add(make_answer(content, calls, string(said.get("reasoning_content")) or ""), time)
        else:
            self.draft.add({"role": role, "content": content}, time)

    def _act(self, event: Wire, time: float | None) -> None:
        """Append a call; calls of one response stand in one message, before the results of all."""
        call, response = _call(event), string(event.get("llm_response_id")) or ""
        self.calls[string(event.get("id")) or ""] = call["id"]
        if response and response in self.answers:
            self.draft.messages[self.answers[response]]["tool_calls"].append(call)
            self.places[string(event.get("id")) or ""] = self.answers[response]
            return
        self.answers[response] = len(self.draft.messages)
        text = join_texts(block.get("text") for block in mappings(event.get("thought")))
        self.draft.add(make_answer(text, [call], _thought_of(event)), time)

    def _condense(self, event: Wire, time: float | None) -> None:
        """Note what a summary replaced: everything but what it did not forget."""
        forgotten = {self.places.get(id) for id in _strings(event.get("forgotten_event_ids"))}
        kept = [at for at in range(len(self.draft.messages)) if at not in forgotten]
        summary = string(event.get("summary"))
        self.draft.compact([{"role": "user", "content": summary}] if summary else [], time, kept=kept)


def _strings(value: Any) -> Iterable[str]:
    return (one for one in listing(value) if isinstance(one, str))


def _blocks(content: Any) -> Iterator[Wire]:
    """Texts and images as chat has them."""
    for block in mappings([{"text": content}] if isinstance(content, str) else content):
        if text := string(block.get("text")):
            yield {"type": "text", "text": text}
        for url in _strings(block.get("image_urls")):
            yield {"type": "image_url", "image_url": {"url": url}}


def _thought_of(event: Wire) -> str:
    blocks = mappings(event.get("thinking_blocks"))
    return string(event.get("reasoning_content")) or "".join(
        string(block.get("thinking")) or "" for block in blocks
    )


def _call(event: Wire) -> Wire:
    """The call as the model made it; where that is not recorded, as the tool was told."""
    made, action = mapping(event.get("tool_call")), mapping(event.get("action"))
    function = mapping(made.get("function")) or made
    told = {key: value for key, value in action.items() if key != "kind"}
    arguments = function.get("arguments", told)
    name = string(event.get("tool_name")) or string(function.get("name")) or string(action.get("kind")) or ""
    id = string(event.get("tool_call_id")) or string(made.get("id")) or string(event.get("id")) or ""
    return make_call(id, name, arguments)


def _outcome(event: Wire) -> str:
    """What the model was told: a terminal's output stands between a beginning and an end that OpenHands wrote."""
    seen = mapping(event.get("observation"))
    around = mapping(seen.get("metadata"))
    content = next((seen[key] for key in ("content", "output", "text") if key in seen), event.get("content"))
    parts = (around.get("prefix"), text_of(content), around.get("suffix"))
    text = "".join(part for part in parts if isinstance(part, str))
    more = join_texts(block.get("text") for block in mappings(event.get("extended_content")))
    told = first_string(event, "error", "rejection_reason") or string(seen.get("error"))
    rest = {key: value for key, value in seen.items() if key != "kind"}
    return join_texts((text or told, more)) or (text_of(rest) if rest and content is None else "")


FORMAT = Format(NAME, fits, read)
