"""Copilot CLI sessions: `events.jsonl`, and the same events as its SDK and `--output-format json` give them.

Each line is `{type, data, id, timestamp, parentId}`. They are told in OpenAI's chat form; what a sub-agent said and
called (its events name the call that started it) is a conversation of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Parent, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, mapping, mappings, seconds, some, text

GROUPS = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "permission.")


def fits(value: Any) -> bool:
    record = mapping(value)
    return text(record, "type").startswith(GROUPS) and isinstance(record.get("data"), dict)


def read(recording: Recording) -> Iterator[Conversation]:
    session = _CopilotSession()
    for event in recording.objects("an event of Copilot CLI"):
        session.take(event)
    yield from session.tell(recording.name)


class _CopilotSession:
    """A session being told, with those of its sub-agents."""

    def __init__(self) -> None:
        self.chains: dict[str | None, _Chain] = {None: _Chain()}
        """By the call that started each; the main one under None."""
        self.agents: dict[str, str] = {}
        """The call that started each sub-agent; not every event of one names it."""
        self.head: Wire = {}
        self.model = ""
        self.other: Counter[str] = Counter()

    def take(self, event: Wire) -> None:
        kind, data = text(event, "type") or "unknown", mapping(event.get("data"))
        time = seconds(event.get("timestamp"))
        chain = self.chains.setdefault(self._caller(kind, event, data), _Chain())
        self.head = self.head or some(event, "sessionId")
        self.model = text(data, "newModel", "selectedModel", "model") or self.model
        match kind:
            case "session.start" | "session.resume":
                self.head = data | self.head
            case "system.message":
                chain.show(text(data, "role") or "system", data, time)
            case "user.message":
                chain.show("user", data, time)
            case "assistant.message":
                chain.answer(data, time)
            case "tool.execution_start":
                chain.call(data, time)
            case "tool.execution_complete":
                chain.end_call(data, time)
            case "session.compaction_complete" if data.get("success") is not False:
                tokens = some(data, "preCompactionTokens", "postCompactionTokens")
                chain.summarize(text(data, "summaryContent"), time, meta=tokens)
            case _:
                self.other[kind] += 1

    def _caller(self, kind: str, event: Wire, data: Wire) -> str | None:
        """The call whose sub-agent this event is of."""
        agent, named = text(event, "agentId"), text(data, "parentToolCallId")
        if agent and kind.startswith("subagent."):
            named = named or text(data, "toolCallId")
        if agent and named:
            self.agents.setdefault(agent, named)
        return named or self.agents.get(agent, agent) or None

    def tell(self, source: str) -> Iterator[Conversation]:
        id = text(self.head, "sessionId") or source
        self.chains[None].other = self.other
        for call, chain in self.chains.items():
            if chain.messages:
                yield chain.finish(
                    id if call is None else f"{id}/{call}",
                    source,
                    "openai.chat",
                    model=self.model,
                    parent=None if call is None else Parent(id, call),
                    meta={} if call else some(self.head, "copilotVersion", "context", "startTime"),
                )


class _Chain(Teller):
    """What one agent said and called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: set[str] = set()
        self.answered: set[str] = set()

    def show(self, role: str, data: Wire, time: float | None) -> None:
        """Append what somebody said, as the model was shown it; some recorders keep only what was put around it."""
        said, shown = text(data, "content"), text(data, "transformedContent")
        if content := shown if said in shown and shown else said:
            self.say(role, content, time)

    def answer(self, data: Wire, time: float | None) -> None:
        """Append an answer with the calls that it asks for."""
        asked = [
            make_call(text(one, "toolCallId", "id"), text(one, "name", "toolName"), one.get("arguments"))
            for one in mappings(data.get("toolRequests"))
        ]
        calls = [call for call in asked if call["id"] not in self.calls]
        self.calls |= {call["id"] for call in calls}
        said, thought = text(data, "content"), text(data, "reasoningText")
        if said or thought or calls:
            self.add(make_answer(said, calls, thought), time)

    def call(self, data: Wire, time: float | None) -> None:
        """Append a call that no answer has asked for: some recorders leave the requests out."""
        id = text(data, "toolCallId")
        if id and id not in self.calls:
            self.calls.add(id)
            self.add(make_answer(None, [make_call(id, text(data, "toolName"), data.get("arguments"))]), time)

    def end_call(self, data: Wire, time: float | None) -> None:
        """Append what a call gave, once."""
        id, result, error = text(data, "toolCallId"), data.get("result"), data.get("error")
        if id and id not in self.answered:
            self.call(data, time)
            self.answered.add(id)
            outcome = text_of(mapping(result).get("content", result))
            self.add(
                make_result(id, outcome or text(inner(data, "error"), "message") or text_of(error)), time
            )
