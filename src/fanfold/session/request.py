"""Making a request: repair, reduce if needed, check, encode, record."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fanfold.core.draft import Draft
from fanfold.core.edit import Decision, Repair
from fanfold.core.errors import BadInput, BrokenGrammar, DoesNotFit, NotFound
from fanfold.core.ids import canonical, digest
from fanfold.core.message import user
from fanfold.core.plan import Answer, Ask
from fanfold.core.record import Sent
from fanfold.core.view import Row, View, Violation, Weight
from fanfold.dialects.dialect import Allowed, Dialect, Marks, plain, prompted, reply_limit
from fanfold.dialects.registry import request_fields
from fanfold.session.reduce import MOVED, NOTHING, due, reduce, rest, spared, trim
from fanfold.session.state import State
from fanfold.session.ways_out import Beside, why_not
from fanfold.session.weigh import sendable
from fanfold.tokens.pressure import pressure_of

TAKEN = request_fields()
"""What a session sends by itself, whatever the dialect calls it."""
_TRIES = 3
"""So often a request is made that is too long by what its dialect puts in, which changes with its rows."""


def request(
    state: State,
    *,
    max_tokens: int | None = None,
    context: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Generator[Ask, Answer, dict[str, Any]]:
    """The keyword arguments for the provider's SDK, reduced if needed."""
    given: dict[str, Any] = plain(dict(params or {}), "A parameter")
    reply = reply_limit(given if max_tokens is None else {**given, "max_tokens": max_tokens})
    _checked(state, reply, context, given)
    context = sendable(context) if context else None
    known = _known_params(state, max_tokens, given)
    extra = weight_of(state, context, known)
    repair(state, known)
    budget = spared(state.limits(reply), extra)
    if state.terms.hooks.on_pressure and due(state, budget):
        state.terms.hooks.on_pressure(pressure_of(state.view(), state.limits(reply), extra.tokens))
    yield from trim(state, budget, reply)
    if due(state, budget):
        yield from _reduced(state, reply, extra, known)
    return (yield from _fitting(state, reply, context, extra, known))


def _fitting(
    state: State, max_tokens: int | None, context: str | None, extra: Weight, params: dict[str, Any]
) -> Generator[Ask, Answer, dict[str, Any]]:
    """The request that fits with all that its dialect puts in beside rows, frame and parameters."""
    spare = extra
    for _ in range(_TRIES):
        made = _encoded(state, max_tokens, context, extra, params)
        if made.over == NOTHING:
            state.stuck = None
            _record(state, made.sent)
            return msgspec.to_builtins(made.body)  # type: ignore[no-any-return]
        spare = Weight(spare.tokens + made.over.tokens, spare.size + made.over.size)
        yield from _reduced(state, max_tokens, spare, params)
    whole = Weight(made.sent.tokens, made.size)
    raise _too_long(state, state.view(), max_tokens, context, params, whole)


def _reduced(
    state: State, max_tokens: int | None, extra: Weight, params: Mapping[str, Any]
) -> Generator[Ask, Answer, None]:
    """Reduce; once more by the fallbacks alone where repair took the room again, or the plan came too late."""
    for strategies in (None, ()):
        outcome = yield from reduce(state, max_tokens=max_tokens, spare=extra, strategies=strategies)
        repaired = repair(state, params)
        budget = spared(state.limits(max_tokens), extra)
        rest(state, budget)
        if not (repaired or outcome.error == MOVED) or state.view().fits(budget):
            return


def _checked(state: State, max_tokens: int | None, context: str | None, params: Mapping[str, Any]) -> None:
    if context is not None and not isinstance(context, str):
        raise BadInput(f"context is a text, not {type(context).__name__}.")
    taken = TAKEN & set(params)
    if taken:
        raise BadInput(
            f"{', '.join(sorted(taken))}: the session sends these itself; record them with add, merge or open."
        )
    state.limits(max_tokens)
    judge_frame(state, params)
    if max_tokens == 0:
        raise BadInput("A reply of 0 tokens is none: ask for at least 1, or leave max_tokens out.")
    _something(state)


def _something(state: State) -> None:
    if state.log.head is None:
        raise NotFound("There is nothing to send yet: say something first.")


def weight_of(state: State, context: str | None, params: Mapping[str, Any]) -> Weight:
    """What is sent beside rows and frame: a volatile context, and the parameters, as far as they count."""
    told = state.gauge.message(user(context)) if context else NOTHING
    given = state.gauge.params(params) if params else NOTHING
    tokens, size = told.tokens + given.tokens, told.size + given.size
    return Weight(tokens, size, guessed=told.guessed + given.guessed)


class _Made(NamedTuple):
    """A request in the making, and what is recorded of it."""

    body: dict[str, Any]
    sent: Sent
    size: int
    over: Weight
    """By how much it is too long, in tokens and in bytes."""


def _encoded(
    state: State, max_tokens: int | None, context: str | None, extra: Weight, params: dict[str, Any]
) -> _Made:
    _something(state)  # a hook, or another thread while a model was asked, may have taken everything back
    view = state.view()
    limits = spared(state.limits(max_tokens), extra)
    if not view.fits(limits):
        left = state.stuck if state.stuck and not state.stuck.fits(limits) else view
        whole = Weight(left.tokens + extra.tokens, left.size + extra.size)
        raise _too_long(state, left, max_tokens, context, params, whole)
    faults = broken(state, view, params)
    if faults:
        raise BrokenGrammar(
            "; ".join(map(str, faults[:3])) + ". This is a bug in fanfold or in a plug-in: please report it."
        )
    allowed = state.dialect.allow(view.rows, params)
    marks = Marks(_cache_key(state.terms.name), _previous_end(state, view))
    put_in = sum(state.gauge.text(text) * times for text, times in allowed.put_in.items())
    counted = view.tokens + extra.tokens + put_in
    guessed = view.guessed + extra.guessed + put_in if state.gauge.exact else 0
    sent = _sent(state, view, allowed, context, (counted, guessed))
    params = sendable(allowed.params)
    request = state.dialect.encode(state.frame()[0], allowed.rows, params, context=context, marks=marks)
    size, most = _size(state, view, extra, request), state.budget().max_bytes
    over = Weight(max(0, view.tokens + put_in - limits.room), max(0, size - (most or size)))
    return _Made(request, sent, size, over)


def _size(state: State, view: View, extra: Weight, request: dict[str, Any]) -> int:
    """Bytes of a request: what was weighed, or near the limit what is sent. What a dialect puts in never doubles it."""
    weighed, most = view.size + extra.size, state.budget().max_bytes
    return weighed if most is None or 2 * weighed <= most else state.gauge.request(request, view.rows)


def _too_long(
    state: State,
    view: View,
    max_tokens: int | None,
    context: str | None,
    params: Mapping[str, Any],
    whole: Weight,
) -> DoesNotFit:
    """The error that says what holds the room of a request of this view, which weighs so much as a whole."""
    beside = Beside(weight_of(state, context, {}), weight_of(state, None, params), bool(prompted(params)))
    return DoesNotFit(why_not(state, view, state.limits(max_tokens), whole, beside))


@lru_cache
def _cache_key(name: str) -> str:
    """What a provider calls the cache of a session."""
    return digest(name.encode("utf-8", "surrogatepass"))


def _previous_end(state: State, view: View) -> str | None:
    """The row at which the last request that ended elsewhere ended, if it is still in view: the same though this
    one is asked for again."""
    end = next((tip for tip in reversed(state.log.tips) if tip not in (None, view.tip)), None)
    return end if any(row.id == end for row in reversed(view.rows)) else None


def _known_params(state: State, max_tokens: int | None, params: dict[str, Any]) -> dict[str, Any]:
    model = {"model": state.terms.model} if state.terms.model else {}
    return {**model, **params, **state.dialect.limit(max_tokens, state.terms.budget.reply)}


def _sent(state: State, view: View, allowed: Allowed, context: str | None, tokens: tuple[int, int]) -> Sent:
    """What is recorded of a request; `tokens` are those counted, and those of them that are guessed."""
    frame = state.log.frame().id
    rows = b"".join([row.weight.digest for row in allowed.rows])
    seal = digest(rows, frame.encode(), canonical(allowed.params), (context or "").encode())
    lost = [f"{row.id}#{part}" for row in view.rows if row.weight.lost for part in row.weight.lost]
    return Sent(
        view.tip,
        view.version,
        frame,
        allowed.params,
        tokens[0],
        seal,
        context,
        (*allowed.left_out, *lost, *state.frame()[1]),
        state.terms.clock(),
        tokens[1],
        view.hidden,
    )


def _record(state: State, sent: Sent) -> None:
    """Asked twice with nothing said between, a request is one request."""
    last = state.log.sent[-1] if state.log.sent else None
    if last is None or (last.digest, last.tip, last.version) != (sent.digest, sent.tip, sent.version):
        state.write(sent)


ROUNDS = 3
"""How often repairs are made: what one of them shows may break a rule beside its neighbours."""


def repair(state: State, params: Mapping[str, Any]) -> tuple[Decision, ...]:
    """Record repairs where the rows would break the provider's grammar."""
    made: list[Decision] = []
    for _ in range(ROUNDS):
        repairs = _repaired(state, params)
        made += repairs
        if not repairs:
            break
    return tuple(made)


def _repaired(state: State, params: Mapping[str, Any]) -> tuple[Decision, ...]:
    view = state.view()
    if not broken(state, view, params):
        return ()
    draft = Draft(view, state.log, state.gauge, state.terms.budget)
    rows = [_as_recorded(row, state.dialect) for row in view.rows]
    for covers, shows in state.dialect.repair(rows, params):
        draft.offer(Repair(covers, shows), why="mend", by="mend", forced=True)
    if draft.decisions:
        state.commit(draft.decisions)
        state.store()
    return tuple(draft.decisions)


def _as_recorded(row: Row, dialect: Dialect) -> Row:
    """The row with what no JSON text can carry: that is replaced when it is sent, and not by what repairs the row."""
    wire = tuple(body for message in row.messages for body in dialect.wire(message, row.was))
    return row if wire == row.weight.wire else replace(row, weight=replace(row.weight, wire=wire))


def broken(state: State, view: View, params: Mapping[str, Any]) -> list[Violation]:
    """The rules that a request of this view would break; what was found legal before is not judged again."""
    if state.legal is not None and state.legal[0] is view and state.legal[1] == params:
        return []
    allowed = state.dialect.allow(view.rows, params)
    settled = _settled(state, view, params) if allowed.rows is view.rows else 0
    found = state.dialect.check(allowed.rows, allowed.params, settled)
    if not found:
        state.legal = (view, params)
    return found


def judge_frame(state: State, params: Mapping[str, Any]) -> None:
    """Refuse tools that the provider would refuse: nobody but the caller can put them right."""
    frame, choice = state.frame()[0], params.get("tool_choice")
    if state.offered is not None and state.offered[0] is frame and state.offered[1] == choice:
        return
    found = state.dialect.check_frame(frame, params)
    if found:
        raise BadInput(f"{'; '.join(map(str, found))}. Offer other tools: `open(…, tools=…)`.")
    state.offered = (frame, choice)


def _settled(state: State, view: View, params: Mapping[str, Any]) -> int:
    """How many of the first rows were found legal before, with the same parameters."""
    if state.legal is None or state.legal[1] != params:
        return 0
    rows = state.legal[0].rows
    return len(rows) if view.rows[: len(rows)] == rows else 0
