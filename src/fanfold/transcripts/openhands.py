"""OpenHands events, of its agent SDK (`kind`: MessageEvent, ActionEvent, …) and the older actions and observations.

They stand in a list, one a line, under `history` or `trajectory`, or in a folder with a file for each, and are told in
OpenAI's chat form. A condensation says which events it forgot.

An older event is an agent's or a person's `action` with `args`, or the `observation` that it caused. Where tools were
called by function calling, `tool_call_metadata` holds the whole response of the model; otherwise an action is told as
the call that it was.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.transcripts.chat import join_texts, make_answer, make_call, make_image, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.files import load
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import (
    inner,
    listing,
    mapping,
    mappings,
    number,
    seconds,
    some,
    strings,
    text,
    without,
)

LISTS = ("history", "trajectory", "events", "items")
KINDS = ("SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "AgentErrorEvent")
KINDS_TOO = ("UserRejectObservation", "Condensation", "ConversationStateUpdateEvent", "PauseEvent")
UNSENT = (
    "change_agent_state",
    "agent_state_changed",
    "recall",
    "null",
    "loop_recovery",
    "condensation_request",
)
"""Older events that OpenHands keeps for itself."""
NO_ARGUMENTS = ("thought", "is_confirmed", "confirmation_state", "blocking", "hidden", "is_input")


def fits(value: Any) -> bool:
    record = mapping(value)
    events = mappings(value)[:8] if isinstance(value, list) else [record, *_events(record)[:8]]
    return any(_is_event(event) for event in events)


def _is_event(record: Wire) -> bool:
    return record.get("kind") in (*KINDS, *KINDS_TOO) or _is_older(record)


def _is_older(record: Wire) -> bool:
    """Is this an action with its arguments, or an observation with what came of it?"""
    if "kind" in record:
        return False
    acts = bool(text(record, "action")) and isinstance(record.get("args"), dict)
    sees = bool(text(record, "observation")) and bool({"extras", "cause"} & set(record))
    return acts or (sees and "content" in record)


def _events(record: Wire) -> list[Wire]:
    """The events of a record; early ones came in pairs of action and observation."""
    held = next((listing(record[key]) for key in LISTS if listing(record.get(key))), [])
    return mappings(list(itertools.chain(*(one if isinstance(one, list) else [one] for one in held))))


def read(recording: Recording) -> Iterator[Conversation]:
    """A conversation for each record that holds events; events that stand alone make one together."""
    loose: list[Wire] = []
    for row in recording.rows():
        records = mappings(row.value if isinstance(row.value, list) else [row.value])
        for place, record in enumerate(records, 1):
            if _is_event(record) or not _events(record):
                loose.append(record)
                continue
            fallback = recording.name_part(row.line, place)
            yield _conversation(recording.name, _events(record), record, fallback)
    if loose:
        yield _conversation(recording.name, loose, {}, PurePath(recording.name).name)


def read_folder(folder: Path, *, strict: bool = True) -> Iterator[Conversation]:
    """The one conversation of a folder in which each file is an event, in the order of their numbers."""
    events: list[Wire] = []
    for path in sorted(folder.glob("*.json"), key=_number):
        try:
            events.append(mapping(load(path)))
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
    teller = _ActionTeller() if any(_is_older(event) for event in events) else _EventTeller()
    for event in events:
        teller.take(event)
    return teller.finish(
        text(record, "instance_id", "conversation_id", "id") or fallback,
        source,
        "openai.chat",
        model=teller.model or text(inner(record, "metadata", "llm_config"), "model"),
        frame={"tools": teller.tools} if teller.tools else {},
        meta=some(record, "test_result", "metrics", "error", "instruction"),
    )


class _EventTeller(Teller):
    """Events of the agent SDK being told."""

    def __init__(self) -> None:
        super().__init__()
        self.tools: list[Wire] = []
        self.answers: dict[str, int] = {}
        """Where the answer of each response stands: its calls come as events of their own."""
        self.places: dict[str, int] = {}
        """The message that each event became."""
        self.calls: dict[str, str] = {}
        """The call that each action was told as."""

    def take(self, event: Wire) -> None:
        time = seconds(event.get("timestamp"))
        self.places[text(event, "id")] = len(self.messages)
        match event.get("kind"):
            case "SystemPromptEvent":
                prompts = (event.get(key) for key in ("system_prompt", "dynamic_context"))
                self.say("system", join_texts(mapping(one).get("text", one) for one in prompts), time)
                self.tools = _functions(event.get("tools"))
            case "MessageEvent":
                self._say(event, time)
            case "ActionEvent":
                self._act(event, time)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                call = text(event, "tool_call_id") or self.calls.get(text(event, "action_id"), "")
                self.add(make_result(call, _outcome(event)), time)
            case "Condensation":
                forgotten = {self.places.get(id) for id in strings(event.get("forgotten_event_ids"))}
                kept = [at for at in range(len(self.messages)) if at not in forgotten]
                self.summarize(text(event, "summary"), time, kept=kept)
            case _:
                self.other[text(event, "kind") or "unknown"] += 1

    def _say(self, event: Wire, time: float | None) -> None:
        said = mapping(event.get("llm_message"))
        role = text(said, "role") or ("assistant" if event.get("source") == "agent" else "user")
        blocks = [*_blocks(said.get("content")), *_blocks(event.get("extended_content"))]
        has_image = any("image_url" in block for block in blocks)
        content = blocks if has_image else join_texts(block.get("text") for block in blocks)
        if role == "assistant":
            calls, thought = _functions(said.get("tool_calls")), text(said, "reasoning_content")
            self.add(make_answer(content, calls, thought), time)
        else:
            self.say(role, content, time)

    def _act(self, event: Wire, time: float | None) -> None:
        """Append a call; calls of one response stand in one message, before the results of all."""
        call, response, id = _call(event), text(event, "llm_response_id"), text(event, "id")
        self.calls[id] = call["id"]
        if response and response in self.answers:
            self.messages[self.answers[response]]["tool_calls"].append(call)
            self.places[id] = self.answers[response]
            return
        self.answers[response] = len(self.messages)
        said = join_texts(block.get("text") for block in mappings(event.get("thought")))
        thinking = "".join(text(block, "thinking") for block in mappings(event.get("thinking_blocks")))
        self.add(make_answer(said, [call], text(event, "reasoning_content") or thinking), time)


class _ActionTeller(Teller):
    """Older actions and observations being told."""

    def __init__(self) -> None:
        super().__init__()
        self.tools: list[Wire] = []
        self.answers: set[str] = set()
        """Responses that are told: parallel calls name the same one."""
        self.calls: dict[int, str] = {}
        """The call that each action was told as."""
        self.places: dict[int, int] = {}
        """The message that each event became."""

    def take(self, event: Wire) -> None:
        time, args = seconds(event.get("timestamp")), mapping(event.get("args"))
        self.places[number(event.get("id"))] = len(self.messages)
        action = text(event, "action")
        kind = action or text(event, "observation") or "null"
        if kind in UNSENT:
            self.other[kind] += 1
        elif action == "condensation":
            self._condense(args, time)
        elif action == "system":
            self.tools = _functions(args.get("tools"))
            self.say("system", text(args, "content"), time)
        elif action:
            self._act(action, event, args, time)
        else:
            self._see(event, time)

    def _act(self, action: str, event: Wire, args: Wire, time: float | None) -> None:
        told = mapping(event.get("tool_call_metadata"))
        response = mapping(told.get("model_response"))
        if mappings(response.get("choices")):
            self._answer(response, time)
        elif action == "message":
            said = text(args, "content") or text(event, "message")
            images = [make_image(url) for url in strings(args.get("image_urls"))]
            content: Any = [{"type": "text", "text": said}, *images] if images else said
            self.say("assistant" if event.get("source") == "agent" else "user", content, time)
        else:
            id = text(told, "tool_call_id") or f"action_{number(event.get('id'))}"
            self.calls[number(event.get("id"))] = id
            given = {key: one for key, one in without(args, *NO_ARGUMENTS).items() if one is not None}
            call = make_call(id, text(told, "function_name") or action, given)
            self.add(make_answer(text(args, "thought"), [call]), time)

    def _answer(self, response: Wire, time: float | None) -> None:
        """Append the model's response once, however many actions came of it."""
        id = text(response, "id") or f"response {len(self.answers)}"
        if id in self.answers:
            return
        self.answers.add(id)
        self.model = text(response, "model") or self.model
        message = inner(mappings(response["choices"])[0], "message")
        calls, thought = _functions(message.get("tool_calls")), text(message, "reasoning_content")
        usage = mapping(response.get("usage")) or None
        self.add(make_answer(message.get("content") or "", calls, thought), time, usage)

    def _see(self, event: Wire, time: float | None) -> None:
        """Append what came of an action; what no call caused, the model was told as a user's message."""
        call = text(inner(event, "tool_call_metadata"), "tool_call_id")
        call = call or self.calls.get(number(event.get("cause")), "")
        seen = text_of(event.get("content"))
        if call:
            self.add(make_result(call, seen), time)
        elif seen:
            self.say("user", seen, time)

    def _condense(self, args: Wire, time: float | None) -> None:
        ids = [id for id in listing(args.get("forgotten_event_ids")) if isinstance(id, int)]
        start, end = (number(args.get(f"forgotten_events_{edge}_id")) for edge in ("start", "end"))
        gone = {at for id, at in self.places.items() if id in ids or (end and start <= id <= end)}
        kept = [at for at in range(len(self.messages)) if at not in gone]
        self.summarize(text(args, "summary"), time, kept=kept)


def _functions(tools: Any) -> list[Wire]:
    """The tools or calls of a list that are functions."""
    return [tool for tool in mappings(tools) if "function" in tool]


def _blocks(content: Any) -> Iterator[Wire]:
    """Texts and images as chat has them."""
    for block in mappings([{"text": content}] if isinstance(content, str) else content):
        if said := text(block, "text"):
            yield {"type": "text", "text": said}
        for url in strings(block.get("image_urls")):
            yield make_image(url)


def _call(event: Wire) -> Wire:
    """The call as the model made it; where that is not recorded, as the tool was told."""
    made, action = mapping(event.get("tool_call")), mapping(event.get("action"))
    function = mapping(made.get("function")) or made
    name = text(event, "tool_name") or text(function, "name") or text(action, "kind")
    id = text(event, "tool_call_id") or text(made, "id") or text(event, "id")
    return make_call(id, name, function.get("arguments", without(action, "kind")))


def _outcome(event: Wire) -> str:
    """What the model was told: a terminal's output stands between a beginning and an end that OpenHands wrote."""
    seen, around = inner(event, "observation"), inner(event, "observation", "metadata")
    content = next((seen[key] for key in ("content", "output", "text") if key in seen), event.get("content"))
    whole = text(around, "prefix") + text_of(content) + text(around, "suffix")
    more = join_texts(block.get("text") for block in mappings(event.get("extended_content")))
    told = text(event, "error", "rejection_reason") or text(seen, "error")
    rest = without(seen, "kind")
    return join_texts((whole or told, more)) or (text_of(rest) if rest and content is None else "")
