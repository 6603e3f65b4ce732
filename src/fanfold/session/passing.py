"""Passing a client's request on as it is: what it added is adopted, what it repeats is not looked at again.

For whoever knows by other means that a request begins as the last one did, a gateway by its bytes: one unit of work
does what `merge` and `request` do, as long as nothing has to be changed. Nothing is written for the provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from fanfold.config.telemetry import current_call
from fanfold.core.message import Message
from fanfold.core.view import Row, View
from fanfold.dialects.dialect import Reply
from fanfold.session.merge import merge_messages
from fanfold.session.record import Listening
from fanfold.session.record import hear as record_heard
from fanfold.session.reduce import NOTHING, is_due, wants_to_trim
from fanfold.session.request import (
    Request,
    SentRequest,
    Written,
    count_put_in,
    prepare,
    record,
    repair,
    violations,
)
from fanfold.session.session import Session
from fanfold.session.state import State


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """What a client added to the history that it sent last."""

    mark: object
    """The last history, as `last_history` knows it."""
    known: int
    """So many of its messages, from the start, were sent again just so."""
    new: Sequence[Any]
    """Plain values that nobody else has."""
    frame: tuple[Sequence[Any], Sequence[Any]] | None
    """System prompt and tools; None where they are as they were."""
    params: dict[str, Any]
    """What else is sent, as a budget is to see it."""


def last_history(chat: Session, accepted: tuple[Row, ...]) -> tuple[object, list[Any]]:
    """The history that was merged last: what it is known by, and its messages without the system prompt.

    The rows that were `accepted` as they came need not be looked at again.
    """
    resent = chat._state.resent
    resent.accepted = accepted
    return resent.mark, resent.bodies


def hear(chat: Session, events: Iterable[Any], to: SentRequest) -> Reply | None:
    """Record a reply that came as events, in plain dicts that nobody else has; one that broke off, as cut."""
    hears = Listening(chat._state, events, lambda reply: chat._do(record_heard, reply, to=to), owned=True)
    with hears:
        hears.hear_all(events)
    return hears.reply


def messages_since(chat: Session, entry: str | None) -> tuple[Message | None, list[Message]]:
    """A message of the path, and all behind it, as they were recorded; all of them where it is not on the path."""
    return chat._do(_messages_since, entry)


def _messages_since(state: State, entry: str | None) -> tuple[Message | None, list[Message]]:
    state.read_whole()
    tree, start = state.log.tree, state.depth.get(entry, -1) if entry is not None else -1
    last = tree[entry].message if entry is not None and start >= 0 else None
    return last, [tree[id].message for id in state.path[start + 1 :]]


def pass_on(
    chat: Session, added: Addition, accepts: Callable[[Row], bool]
) -> tuple[SentRequest, object] | None:
    """Adopt what was added, and record that all of it is sent as it came; returns that and the new history's mark.

    None where something has to be changed, where a row is not accepted, or where this is not the last history any more.
    """
    return chat._do(_pass_on, added, accepts)


def _pass_on(
    state: State, added: Addition, accepts: Callable[[Row], bool]
) -> tuple[SentRequest, object] | None:
    resent = state.resent
    is_reset = not any(resent.frame) and bool(state.log.frames)  # somebody else set another frame
    if resent.mark is not added.mark or not 0 < added.known <= len(resent.bodies) or is_reset:
        return None
    history = resent.bodies[: added.known]
    history += added.new
    if not merge_messages(state, history, added.frame, owned=True).new:
        return None  # only what is new is checked against what others wrote meanwhile
    request = repair(state, prepare(state, None, None, added.params))
    if not _accept(state, request.view, accepts) or not _may_stay(state, request):
        return None
    tokens = request.view.tokens + request.extra.tokens + count_put_in(state, request)
    guessed = request.view.guessed + request.extra.guessed if state.gauge.exact else 0
    size = request.view.size + request.extra.size
    sent = record(state, request, Written(body={}, tokens=tokens, guessed=guessed, size=size, over=NOTHING))
    if call := current_call():
        call.ask(state.dialect.name, request.params.get("model") or state.terms.model)
        call.send(request.view, state.terms.name, sent.tokens)
    return SentRequest({}, sent, request.view, request.allowed.rows), state.resent.mark


def _accept(state: State, view: View, accepts: Callable[[Row], bool]) -> bool:
    """Whether all rows are accepted; those that were so the last time are not looked at again."""
    before, rows = state.resent.accepted, view.rows
    start = len(before) if state.judged.begins_with(rows, before) else 0
    if not accepts(view.frame) or not all(map(accepts, rows[start:])):
        return False
    state.resent.accepted = rows
    return True


def _may_stay(state: State, request: Request) -> bool:
    """Whether a request fits as it is, obeys the rules, and no strategy has anything to do."""
    view, budget = request.view, request.budget
    if state.terms.hooks.on_pressure or is_due(state, view, budget) or not view.fits(budget):
        return False
    return not wants_to_trim(state, view, budget) and not violations(state, request)
