"""Before a change is made: what it would do to the view, to the next request, and to what that costs.

The change is really made, in a unit of work that is then taken back: so what is foretold is what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec

from fanfold.core.edit import Decision, Elide, Fold, Note
from fanfold.core.errors import BadInput, BrokenGrammar, DoesNotFit, NotFound, unknown
from fanfold.core.layout import show
from fanfold.core.message import Message, Text, text_of
from fanfold.core.record import Framed, Replaced, Sent, TokenUsage
from fanfold.core.view import View
from fanfold.dialects.dialect import reply_limit
from fanfold.session import undo
from fanfold.session.beside import NAMELESS, find_beside
from fanfold.session.cache import kept_for
from fanfold.session.cause import retold
from fanfold.session.look import compare
from fanfold.session.quotes import stub_with_ref, without_call
from fanfold.session.reduce import Reason, is_due, pressure, reason_to_reduce, rehearse
from fanfold.session.request import encode, prepare, repair
from fanfold.session.state import State
from fanfold.tokens.models import lookup
from fanfold.tokens.units import in_window
from fanfold.tokens.usage import cost


def _blank(state: State, name: str, reason: str) -> tuple[Decision, ...]:
    """Show what an erasure leaves in this session: a stub, and no summary that was made from it; returns those."""
    beside = find_beside(state, name)
    if beside is not None:
        _blank_beside(state, name, beside, reason)
        return ()
    kept = state.log.kept.get(name)
    id = kept.entry if kept is not None and kept.is_part else undo.entry_named(state, name)
    stub = state.log.tree[id].to_stub(reason).message
    folds = [row.id for row in state.view().rows if row.kind == "fold"]
    told, log = retold(state.log, id), state.log
    covers = [row for row in folds if id in log.leaves((row,)) or told & {row, *log.under(row)}]
    erased = state.log.tree[id].message
    calls, content = {call.id for call in erased.calls}, text_of(erased, unescaped=True)
    asked = [edit for edit in _placeholders(state) if calls.intersection(_answered(state, edit))]
    state.write(Replaced(id, stub))
    state.void_bill()  # as an erasure does
    for edit in asked:  # a placeholder says what was asked
        text = without_call(log, edit, content, stub_with_ref(reason, edit), edit.text)
        if text != edit.text:
            state.decide(msgspec.structs.replace(edit, text=text), why="erase")
    return tuple(state.decide(Fold((row,), f"[erased: {reason}]"), why="erase") for row in covers)


def _blank_beside(state: State, name: str, words: Sequence[Message], reason: str) -> None:
    """Show a stub in the place of system prompts, or of what a person wrote; no other request has a context."""
    state.void_bill()  # as an erasure does
    if name in state.log.decisions:
        edit = state.log.decisions[name].edit
        if isinstance(edit, Fold):
            if state.view().row(name) is not None:
                state.decide(Fold((name,), f"[erased: {reason}]"), why="erase")
            return
        if name in state.log.undone():
            return  # it is not shown
        undo.undo(state, name)
        if isinstance(edit, Note):
            undo.note(state, NAMELESS, f"[erased: {reason}]")
        return
    frame = state.log.frame()
    stub = Message("system", (Text(f"[erased: {reason}]"),))
    system = tuple(stub if one in words else one for one in frame.system)
    if system != frame.system:
        state.write(Framed(msgspec.structs.replace(frame, system=system)))


def _placeholders(state: State) -> list[Elide]:
    """The placeholders that are in view."""
    made = (
        state.log.decisions[why].edit for row in state.view().rows if row.kind == "entry" for why in row.why
    )
    return [edit for edit in made if isinstance(edit, Elide)]


def _answered(state: State, edit: Elide) -> set[str]:
    return {result.call for result in state.log.tree[edit.entry].message.results}


CHANGES: Mapping[str, Callable[..., Any]] = {
    "fold": undo.fold,
    "undo": undo.undo,
    "redo": undo.redo,
    "release": undo.release,
    "rewind": undo.rewind,
    "forward": undo.forward,
    "reset": undo.reset,
    "pin": undo.pin,
    "unpin": undo.unpin,
    "note": undo.note,
    "erase": _blank,
}
"""The changes that can be looked at first."""


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What a change would do, told before it is made. Tokens are those of the window, as everywhere."""

    decisions: tuple[Decision, ...]
    """The decisions that would be recorded."""
    before: int
    after: int
    """Tokens of the view."""
    room: int | None
    trigger: int
    """Above so many tokens the next request is reduced first."""
    due: bool
    """Whether the next request would be reduced first, so that it is not sent just so."""
    because: Reason
    """Why it would be: for its `size`, the provider's `cold` cache, or since a `strategy` of its own says so."""
    reduced: int | None
    """To about how many tokens; None where it is not reduced, or where that depends on what a model answers."""
    gone: tuple[str, ...]
    came: tuple[str, ...]
    changed: tuple[str, ...]
    """The rows that would leave the view, enter it, or read otherwise."""
    cached: int
    cached_after: int
    """Tokens at the beginning of the next request that the last one had, without the change and with it; where it is
    reduced first, with that too."""
    expired: bool
    """Whether the provider has forgotten the last request by now, so that nothing is lost by another beginning."""
    cost: float | None
    cost_after: float | None
    """The price of the next prompt in dollars, without the change and with it, as it is sent: reduced, if it is reduced
    first. None where no price is known, or where a model is asked what it becomes."""
    later: float | None
    """What the change adds to the price of each request after that, as long as the cache holds."""
    body: Any
    """The next request as it stands, with the parameters of the last one; None where it must be reduced to fit."""
    problem: str = ""
    """Why no request can be sent, whatever is reduced."""

    @property
    def summaries(self) -> tuple[str, ...]:
        """The summaries in view that an erasure takes along: they were made from what is erased."""
        return tuple(
            one.edit.covers[0] for one in self.decisions if one.why == "erase" and isinstance(one.edit, Fold)
        )

    @property
    def reason(self) -> str:
        """Why the next request is reduced first, in words that follow `because`."""
        if self.because == "cold":
            return "the provider has forgotten the last prompt after this pause, so that a shorter one is cheaper"
        if self.because == "strategy":
            return "its strategy says that a shorter one is cheaper by now"
        return f"it is above {self.trigger:,} tokens"


class _Tried(Exception):
    """The change was made and looked at; now it is taken back."""


def preview(state: State, change: str | None, *args: Any, **kwargs: Any) -> Preview:
    """What a change would do; without one, how things stand. Nothing is recorded."""
    if change is not None and change not in CHANGES:
        raise unknown("change", change, tuple(CHANGES))
    found: list[Preview] = []

    def attempt() -> None:
        found.append(_foretell(state, change, args, kwargs))
        raise _Tried

    state.check_open()
    with state.lock:
        learned, aftermath = state.learned, copy(state.aftermath)
        with suppress(_Tried):
            state.unit(attempt)
        state.learned, state.aftermath = learned, aftermath  # what changed them was taken back
    return found[0]


def _foretell(state: State, change: str | None, args: Any, kwargs: Any) -> Preview:
    state.read_whole()
    limits = state.limits()
    one, cached = in_window(state.view(), limits), _cached(state)
    try:
        done = CHANGES[change](state, *args, **kwargs) if change else ()
    except TypeError as error:
        raise BadInput(f"{change} does not take this: {error}.") from error
    decisions = done if isinstance(done, tuple) else (done,)
    reply = last_reply(state)
    pressed = pressure(state, reply)
    limits = state.limits(reply)  # a change voids the last bill, by which tokens were corrected
    two, cached_after = in_window(state.view(), limits), _cached(state)
    upcoming = _look_ahead(state)  # last: it repairs, as a request does
    sent = two
    if upcoming.view is not None:  # what is paid is what goes out
        sent, cached_after = in_window(upcoming.view, limits), _cached(state, upcoming.view)
    foreseen = upcoming.view is not None or not upcoming.due
    differs = compare(one, two)
    last = state.log.sent[-1] if state.log.sent else None
    expired = last is not None and bool(last.time) and state.terms.clock() - last.time >= kept_for(state)
    return Preview(
        decisions=tuple(one for one in decisions if isinstance(one, Decision)),
        before=one.tokens,
        after=two.tokens,
        room=limits.limit,
        trigger=pressed.trigger,
        due=pressed.due or upcoming.due,
        because="size" if upcoming.due else reason_to_reduce(state, state.view(), limits),
        reduced=upcoming.reduced,
        gone=differs.gone,
        came=differs.came,
        changed=differs.changed,
        cached=cached,
        cached_after=cached_after,
        expired=expired,
        cost=_price(state, one, 0 if expired else cached),
        cost_after=_price(state, sent, 0 if expired else cached_after) if foreseen else None,
        later=_price_later(state, one, sent) if foreseen else None,
        body=upcoming.body,
        problem=upcoming.problem,
    )


def _cached(state: State, view: View | None = None) -> int:
    """Tokens at the beginning of the view, or of another one, that the last request had just so."""
    if not state.log.sent:
        return 0
    last, now = state.log.sent[-1], view or state.view()
    if state.log.frame(last.version) != state.log.frame():
        return 0
    then = show(state.log, last.tip, last.version, state.gauge)
    pairs = zip(then.rows, now.rows, strict=False)
    same = len(list(takewhile(lambda pair: pair[0].weight.digest == pair[1].weight.digest, pairs)))
    tokens = now.overhead + now.frame.tokens + sum(row.tokens for row in now.rows[:same])
    return round(tokens * state.limits().factor(now.tokens))


def _price(state: State, view: View, cached: int) -> float | None:
    """What a prompt costs of which so much is read from the cache."""
    model = lookup(state.terms.model) if state.terms.model else None
    if model is None or model.prices is None:
        return None
    read = min(cached, view.tokens)
    return cost(TokenUsage(input=view.tokens - read, cache_read=read), model)


def _price_later(state: State, one: View, two: View) -> float | None:
    before, after = _price(state, one, one.tokens), _price(state, two, two.tokens)
    return None if before is None or after is None else after - before


class _Upcoming(NamedTuple):
    """The next request: its body as things stand, and whether it is reduced first."""

    body: Any = None
    problem: str = ""
    due: bool = False
    reduced: int | None = None
    view: View | None = None
    """What is sent if it is reduced first, and no model is asked for that."""


def _look_ahead(state: State) -> _Upcoming:
    """The next request with the last one's parameters, or why there is none."""
    last = state.log.sent[-1] if state.log.sent else None
    due, reduced, view = False, None, None
    try:
        request = repair(state, prepare(state, None, None, _params(last)), keep=False)
        due, state.aftermath.stuck = is_due(state, request.view, request.budget), None
        if due:
            trial = rehearse(state, request.view, request.limits, reply=request.reply, extra=request.extra)
            if trial.draft.view.fits(trial.budget):
                view = None if trial.asked else trial.draft.view
                reduced = request.limits.billed(view.tokens) if view is not None else None
                if not request.view.fits(request.budget):
                    return _Upcoming(due=due, reduced=reduced, view=view)
            else:
                state.aftermath.stuck = trial.draft.view
        return _Upcoming(encode(state, request).body, due=due, reduced=reduced, view=view)
    except (BadInput, BrokenGrammar, DoesNotFit, NotFound) as error:
        return _Upcoming(None, str(error), due)


def last_reply(state: State) -> int | None:
    """How long a reply the last request asked for; None where it did not say, or where that no longer fits."""
    reply = reply_limit(_params(state.log.sent[-1] if state.log.sent else None))
    try:
        state.limits(reply)
    except BadInput:
        return None
    return reply


def _params(last: Sent | None) -> Mapping[str, Any]:
    return last.params if last is not None and isinstance(last.params, Mapping) else {}
