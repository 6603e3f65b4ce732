"""A recorded conversation as the model calls it was made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.config.defaults import meter_for
from fanfold.core.message import Message
from fanfold.dialects.dialect import as_request, decode
from fanfold.dialects.registry import dialect_named
from fanfold.dialects.tools import Function
from fanfold.dialects.tools import write as write_tools
from fanfold.transcripts import Conversation


class ModelCall(msgspec.Struct, frozen=True):
    """One call of the model: what was said before it, and what it replied."""

    before: int
    """How many messages came before the reply."""
    until: int
    """How many there are with it."""
    time: float | None = None
    """When it was made: when what came last before the reply was said, else when the reply was."""


class Trace(msgspec.Struct, frozen=True):
    """A conversation to be replayed."""

    name: str
    dialect: str
    model: str | None
    frame: dict[str, Any]
    bodies: tuple[Any, ...]
    messages: tuple[Message, ...]
    calls: tuple[ModelCall, ...]

    def request(self, count: int) -> dict[str, Any]:
        """The first messages as a request, in the dialect they were recorded in."""
        system = len(self.bodies) - len(self.messages)  # a system prompt may stand among the bodies
        return as_request(dialect_named(self.dialect), self.frame, self.bodies[: system + count])


def trace(conversation: Conversation) -> Trace:
    """A conversation cut into the calls of its model."""
    dialect = dialect_named(conversation.dialect)
    _, messages, _ = decode(dialect, as_request(dialect, conversation.frame, conversation.messages))
    system = len(conversation.messages) - len(messages)
    return Trace(
        name=conversation.id,
        dialect=conversation.dialect,
        model=conversation.model,
        frame=conversation.frame,
        bodies=conversation.messages,
        messages=messages,
        calls=tuple(_calls(messages, conversation.times[system:])),
    )


def with_tools(trace: Trace) -> tuple[Trace, tuple[Any, ...]]:
    """The trace with the tools that its agent had, and those; where only calls were recorded, by their names alone."""
    frame, messages, _ = decode(dialect_named(trace.dialect), trace.request(len(trace.messages)))
    if frame.tools:
        return trace, frame.tools
    names = dict.fromkeys(call.name for message in messages for call in message.calls)
    tools, _ = write_tools(map(Function, names), trace.dialect)
    return replace(trace, frame={**trace.frame, "tools": list(tools)}) if tools else trace, tools


def unreduced(trace: Trace) -> list[int]:
    """Tokens of a request with everything in it, frame and all, after each number of messages."""
    frame, messages, _ = decode(dialect_named(trace.dialect), trace.request(len(trace.messages)))
    meter = meter_for(None, trace.model)
    return list(accumulate(map(meter.message, messages), initial=meter.frame(frame)))


def _calls(messages: tuple[Message, ...], times: tuple[float | None, ...]) -> Iterator[ModelCall]:
    """Where the model speaks after somebody else did."""
    at = 0
    while at < len(messages):
        if messages[at].role != "assistant":
            at += 1
            continue
        end = at
        while end < len(messages) and messages[end].role == "assistant":
            end += 1
        if at:
            told = (time for time in (*times[at - 1 : at], *times[at : at + 1]) if time is not None)
            yield ModelCall(at, end, next(told, None))
        at = end
