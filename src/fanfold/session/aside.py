"""Beside the conversation: a side call is recorded, and a request counted, while the head stays where it is."""

from __future__ import annotations

from typing import Any

from fanfold.core.layout import show
from fanfold.core.log import Log
from fanfold.core.record import Framed, Move
from fanfold.dialects.dialect import decode
from fanfold.session.branch import keep_aside
from fanfold.session.merge import count_known, memory_of
from fanfold.session.record import read_reply
from fanfold.session.request import weigh_extra
from fanfold.session.state import State


def aside(state: State, transcript: Any, response: Any = None) -> str | None:
    """Record a conversation beside this one; what it has in common with the path is that."""
    state.read_whole()
    split = state.dialect.split(state.dialect.whole(transcript, lambda: memory_of(state)))
    known, entries = count_known(state, split.messages)
    read = [state.dialect.message(body, f"messages[{i}]") for i, body in enumerate(split.messages)]
    said = read_reply(state, response).messages if response is not None else ()
    return keep_aside(state, state.path[entries - 1] if entries else None, (*read[known:], *said))


def count(state: State, body: Any) -> int:
    """The tokens of a request as the provider would bill it; nothing of it is recorded."""
    request = state.dialect.whole(body, lambda: memory_of(state))
    frame, messages, params = decode(state.dialect, request)
    log = Log(records=[Framed(frame)])
    for message in messages:
        log.write(Move(log.tree.add(log.head, message).id))
    tokens = show(log, log.head, log.version, state.gauge).tokens
    return state.limits().billed(tokens + weigh_extra(state, None, params).tokens)
