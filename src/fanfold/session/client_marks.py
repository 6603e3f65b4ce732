"""The cache marks that a client sets itself. Claude caches only what is marked; other providers cache by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fanfold.core.message import text_of
from fanfold.core.record import Frame, Sent
from fanfold.core.view import Row

if TYPE_CHECKING:
    from fanfold.session.state import State


def caches_without_fanfold(state: State) -> bool:
    """Whether the provider would cache the requests of a session's client as they come.

    What a program of one's own sends through a session has the session's marks, and would have its own without it.
    """
    opened = state.log.opened or state.terms.opened
    if state.dialect.name != "anthropic" or "client" not in opened.labels or not state.log.sent:
        return True
    return is_marked(state, state.log.sent[-1])


def is_marked(state: State, sent: Sent) -> bool:
    """Whether a client's own request has a cache mark."""
    frame = state.log.frame(sent.version)
    placed = [*frame.tools, *wires_of(frame)]
    own = sent.params.get("cache_control") if isinstance(sent.params, Mapping) else None
    return bool(own) or unmarked(placed) != placed or any(marks_of(state.view().rows))


def unmarked(value: Any) -> Any:
    """A value without the marks for Anthropic's cache."""
    if isinstance(value, Mapping):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list | tuple) else value


def wires_of(frame: Frame) -> list[Any]:
    """The system prompts of a frame as they were sent."""
    return [message.wire.body if message.wire else text_of(message) for message in frame.system]


def marks_of(rows: Sequence[Row]) -> Iterator[Mapping[str, Any]]:
    """The marks that clients set in messages, the last one first."""
    for body in (body for row in reversed(rows) for body in reversed(row.weight.wire)):
        content = body.get("content") if isinstance(body, Mapping) else None
        for block in reversed(content) if isinstance(content, list) else ():
            control = block.get("cache_control") if isinstance(block, Mapping) else None
            if isinstance(control, Mapping):
                yield control
