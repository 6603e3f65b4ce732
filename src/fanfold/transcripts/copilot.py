"""Copilot CLI sessions: `events.jsonl`, and the same events as its SDK and `--output-format json` give them.

Each line is `{type, data, id, timestamp, parentId}`. They are told in OpenAI's chat form; what a sub-agent said and
called (its events name the call that started it) is a conversation of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Parent, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, mapping, mappings, seconds, some, string

NAME = "copilot"
GROUPS = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "permission.")


def fits(value: Any) -> bool:
    record = mapping(value)
    kind = string(record.get("type")) or ""
    return kind.startswith(GROUPS) and isinstance(record.get("data"), dict)


def read(recording: Recording) -> Iterator[Conversation]:
    session = _Session()
    for row in recording.rows():
        if not isinstance(row.value, dict):
            raise recording.wrong(row.line, "an event of Copilot CLI is a JSON object.")
        session.take(row.value)
    yield from session.finish(recording.name)


class _Session:
    """A session being told, with those of its sub-agents."""

    def __init__(self) -> None:
        self.chains: dict[str | None, _Chain] = {None: _Chain()}
        """By the call that started each; the main one under None."""
        self.agents: dict[str, str] = {}
        """The call that started each sub-agent; not every event of one names it."""
        self.head: Wire = {}
        self.model: str | None = None
        self.other: Counter[str] = Counter()

    def take(self, event: Wire) -> None:
        kind, data = string(event.get("type")) or "unknown", mapping(event.get("data"))
        time = seconds(event.get("timestamp"))
        chain = self.chains.setdefault(self._caller(kind, event, data), _Chain())
        self.head = self.head or some(event, "sessionId")
        self.model = first_string(data, "newModel", "selectedModel", "model") or self.model
        match kind:
            case "session.start" | "session.resume":
                self.head = data | self.head
            case "system.message":
                chain.add(string(data.get("role")) or "system", data, time)
            case "user.message":
                chain.add("user", data, time)
            case "assistant.message":
                chain.answer(data, time)
            case "tool.execution_start":
                chain.call(data, time)
            case "tool.execution_complete":
                chain.finish(data, time)
            case "session.compaction_complete" if data.get("success") is not False:
                chain.compact(data, time)
            case _:
                self.other[kind] += 1

    def _caller(self, kind: str, event: Wire, data: Wire) -> str | None:
        """The call whose sub-agent this event is of."""
        agent, named = string(event.get("agentId")), string(data.get("parentToolCallId"))
        if agent and kind.startswith("subagent."):
            named = named or string(data.get("toolCallId"))
        if agent and named:
            self.agents.setdefault(agent, named)
        return named or self.agents.get(agent or "", agent)

    def finish(self, source: str) -> Iterator[Conversation]:
        id = string(self.head.get("sessionId")) or source
        head = some(self.head, "copilotVersion", "context", "startTime")
        other = {"other_lines": dict(self.other)} if self.other else {}
        for call, chain in self.chains.items():
            if chain.draft.messages:
                yield chain.draft.finish(
                    id if call is None else f"{id}/{call}",
                    source,
                    NAME,
                    "openai.chat",
                    model=self.model,
                    parent=None if call is None else Parent(id, call),
                    meta=head | other if call is None else {},
                )


class _Chain:
    """What one agent said and called."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.calls: set[str] = set()
        self.answered: set[str] = set()

    def add(self, role: str, data: Wire, time: float | None) -> None:
        """Append what somebody said, as the model was shown it; some recorders keep only what was put around it."""
        said, shown = string(data.get("content")) or "", string(data.get("transformedContent"))
        if text := shown if shown and said in shown else said:
            self.draft.add({"role": role, "content": text}, time)

    def answer(self, data: Wire, time: float | None) -> None:
        """Append an answer with the calls that it asks for."""
        asked = [_call_of(request) for request in mappings(data.get("toolRequests"))]
        calls = [call for call in asked if call["id"] not in self.calls]
        self.calls |= {call["id"] for call in calls}
        text, thought = string(data.get("content")), string(data.get("reasoningText"))
        if text or thought or calls:
            self.draft.add(make_answer(text or "", calls, thought or ""), time)

    def call(self, data: Wire, time: float | None) -> None:
        """Append a call that no answer has asked for: some recorders leave the requests out."""
        id = string(data.get("toolCallId"))
        if id and id not in self.calls:
            self.calls.add(id)
            name = string(data.get("toolName")) or ""
            self.draft.add(make_answer(None, [make_call(id, name, data.get("arguments"))]), time)

    def finish(self, data: Wire, time: float | None) -> None:
        """Append what a call gave, once."""
        id = string(data.get("toolCallId"))
        if id and id not in self.answered:
            self.call(data, time)
            self.answered.add(id)
            self.draft.add(make_result(id, _outcome(data)), time)

    def compact(self, data: Wire, time: float | None) -> None:
        """Note that a summary took the place of all before."""
        summary = string(data.get("summaryContent"))
        shown = [{"role": "user", "content": summary}] if summary else []
        self.draft.compact(shown, time, meta=some(data, "preCompactionTokens", "postCompactionTokens"))


def _call_of(request: Wire) -> Wire:
    name = first_string(request, "name", "toolName") or ""
    return make_call(first_string(request, "toolCallId", "id") or "", name, request.get("arguments"))


def _outcome(data: Wire) -> str:
    result, error = data.get("result"), data.get("error")
    content = mapping(result).get("content", result)
    return text_of(content) or string(mapping(error).get("message")) or text_of(error)


FORMAT = Format(NAME, fits, read)
