"""The path of a request. Read it from top to bottom, and you have seen what fanfold does.

    prepare     check what the caller gave, and look at the session: a `Request`
    repair      record the smallest changes that make the rows obey the provider's rules
    make_room   where the view presses on its budget, let strategies make it smaller (`reduce.py`)
    encode      write the rows as the provider's SDK takes them
    record      keep what was sent, so that its bill and a person can refer to it

A `Request` is frozen: the view, what the dialect allows of it, and the budget are computed once. Whatever changes the
session on the way (a repair, a reduction, a hook) is followed by `look`, which returns a new `Request`.

`request` is a generator, because a strategy may have a question for a model; `asking/drive.py` says how that works.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fanfold.config.telemetry import current_call
from fanfold.core.budget import Budget
from fanfold.core.draft import Draft
from fanfold.core.edit import Repair
from fanfold.core.errors import BadBudget, BadInput, BrokenGrammar, DoesNotFit, Moved, NotFound
from fanfold.core.ids import canonical, digest, pack
from fanfold.core.message import user
from fanfold.core.plan import Answer, Ask
from fanfold.core.record import Sent, is_visible
from fanfold.core.view import Row, View, Violation, Weight
from fanfold.dialects.dialect import Allowed, Dialect, Marks, plain, prompt_params, reply_limit
from fanfold.dialects.registry import request_fields
from fanfold.dialects.tools import chosen_tool
from fanfold.dialects.weigh import Offer, encoded
from fanfold.session.aftermath import GivenParams, HashedRows
from fanfold.session.beside import context_or_stub
from fanfold.session.everything import count_everything
from fanfold.session.reduce import MOVED, NOTHING, is_due, less, reduce, rest, trim
from fanfold.session.state import State
from fanfold.session.still import adopt, adopt_after_edits, told_at_the_end
from fanfold.session.ways_out import Beside, why_not
from fanfold.text.json_text import sendable
from fanfold.tokens.pressure import pressure_of

OWN = request_fields()
"""The fields that a session sends by itself, whatever the dialect calls them."""
_ROUNDS = 3
"""Repairs are made in rounds, because what one of them shows may break a rule beside its neighbours."""
_TRIES = 3
"""A dialect may have to put words in, and which ones depends on the rows: a reduction can change how many they are."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the making: what the caller asked for, and the session as it was when last looked at."""

    params: dict[str, Any]
    """The parameters to send, with the model and the limit of the reply."""
    reply: int | None
    """The tokens that the caller wants for the reply."""
    context: str | None
    """A text that goes with this one request only."""
    extra: Weight
    """What parameters and context weigh."""
    view: View
    allowed: Allowed
    """The rows and parameters that may be sent together."""
    offer: Offer
    """System prompt and tools, as they are sent with these rows."""
    limits: Budget
    budget: Budget
    """The limits less `extra`: what is left for the view."""


class SentRequest(dict[str, Any]):
    """Keyword arguments for the provider's SDK; `receive` and `listen` take it as `to`, to bind the reply to it."""

    def __init__(self, body: dict[str, Any], sent: Sent, view: View, rows: Sequence[Row]) -> None:
        super().__init__(body)
        self.sent = sent
        """What was recorded of it."""
        self.view = view
        """What the model sees in it."""
        self.rows = rows
        """The rows of the view as they are sent: one is another than in the view where the parameters demand it."""


def request(
    state: State,
    *,
    max_tokens: int | None = None,
    context: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Generator[Ask, Answer, SentRequest]:
    """The keyword arguments for the provider's SDK, reduced if needed."""
    request = repair(state, prepare(state, max_tokens, context, params or {}))
    if state.terms.hooks.on_pressure and is_due(state, request.view, request.budget):
        state.terms.hooks.on_pressure(pressure_of(request.view, request.limits, request.extra.tokens))
        request = repair(state, look(state, request))
    if (yield from trim(state, request.view, request.budget, request.reply)):
        request = repair(state, look(state, request))
    if is_due(state, request.view, request.budget):
        request = yield from make_room(state, request, request.extra)
    spare = request.extra
    for _ in range(_TRIES):
        written = encode(state, request)
        if written.over == NOTHING:
            sent = record(state, request, written)
            if call := current_call():
                call.ask(state.dialect.name, request.params.get("model") or state.terms.model)
                call.send(request.view, state.terms.name, sent.tokens)
            return SentRequest(msgspec.to_builtins(written.body), sent, request.view, request.allowed.rows)
        spare += written.over
        request = yield from make_room(state, request, spare)
    raise _too_long(state, request, request.view, Weight(written.tokens, written.size))


def prepare(state: State, max_tokens: int | None, context: str | None, params: Mapping[str, Any]) -> Request:
    """Check what the caller gave, and look at the session."""
    given = state.given = _read_params(state, max_tokens, params)
    if context is not None and not isinstance(context, str):
        raise BadInput(f"context is a text, not {type(context).__name__}.")
    adopt_after_edits(state)
    offer = _check_tools(state, given.params)
    context = told_at_the_end(state, sendable(context) if context else None)
    extra = given.weight + _weigh_forced(state, given.params)
    if context:
        context = context_or_stub(state.log, context)
        extra += state.gauge.message(user(context))
    view, limits = _view(state), state.limits(given.reply)
    return Request(
        params=given.params,
        reply=given.reply,
        context=context,
        extra=extra,
        view=view,
        allowed=state.dialect.allow(view.rows, given.params),
        offer=offer,
        limits=limits,
        budget=less(limits, extra),
    )


def _read_params(state: State, max_tokens: int | None, params: Mapping[str, Any]) -> GivenParams:
    """What the caller gave, checked and weighed; that is done once where every request comes with the same."""
    own: dict[str, Any] = plain(dict(params), "A parameter") if params else {}
    key = pack((max_tokens, own)) if max_tokens is None or type(max_tokens) is int else b""
    if key and key == state.given.key:
        return state.given
    reply = reply_limit(own if max_tokens is None else {**own, "max_tokens": max_tokens})
    if taken := OWN & own.keys():
        raise BadInput(
            f"{', '.join(sorted(taken))}: the session sends these itself; record them with add, merge or open."
        )
    if isinstance(reply, str):  # a size in words is for budgets: no provider takes one
        raise BadBudget(
            f"reserve is {reply!r}, by this request's limit; it must be a whole number of at least 1."
        )
    state.limits(reply)  # raises where the reply cannot be so long
    if reply == 0:
        raise BadInput("A reply of 0 tokens is none: ask for at least 1, or leave max_tokens out.")
    model = {"model": state.terms.model} if state.terms.model else {}
    limit = state.dialect.limit(max_tokens, state.terms.budget.reply)
    if max_tokens is None:  # parameters of a past request have its limit
        limit = {name: value for name, value in limit.items() if name not in own}
    whole = {**model, **own, **limit}
    return GivenParams(
        key=key, params=whole, reply=reply, weight=state.gauge.params(whole) if whole else NOTHING
    )


def look(state: State, request: Request) -> Request:
    """The same request on the session as it is now."""
    view, limits = _view(state), state.limits(request.reply)
    if view is request.view and limits is request.limits:
        return request
    return replace(
        request,
        view=view,
        allowed=state.dialect.allow(view.rows, request.params),
        offer=state.offer(chosen_tool(request.params)),
        limits=limits,
        budget=less(limits, request.extra),
    )


def _view(state: State) -> View:
    if state.log.head is None:  # a hook or another thread may have taken everything back meanwhile
        raise NotFound("There is nothing to send yet: say something first.")
    return state.view()


def _check_tools(state: State, params: Mapping[str, Any]) -> Offer:
    """The tools to offer. Those that the provider would refuse are refused: only the caller can change them."""
    offer, choice = state.offer(chosen_tool(params)), params.get("tool_choice")
    if state.judged.frame is not offer.sent or state.judged.choice != choice:
        found = state.dialect.check_frame(offer.sent, params)
        if found:
            raise BadInput(f"{'; '.join(map(str, found))}. Offer other tools: `open(…, tools=…)`.")
        state.judged.frame, state.judged.choice = offer.sent, choice
    return offer


def weigh_extra(state: State, context: str | None, params: Mapping[str, Any]) -> Weight:
    """What is sent beside rows and frame weighs: the context of one request, and the parameters."""
    told = state.gauge.message(user(context)) if context else NOTHING
    return told + (state.gauge.params(params) if params else NOTHING) + _weigh_forced(state, params)


def _weigh_forced(state: State, params: Mapping[str, Any]) -> Weight:
    """What the schema of a waiting tool weighs that is there only because this request forces the model to call it."""
    forced = chosen_tool(params)
    if forced is None or not state.deferral.catalog(state.log.frame()).waiting:
        return NOTHING
    tokens = [state.gauge.meter.frame(state.offer(name).counted) for name in (forced, None)]
    return Weight(max(0, tokens[0] - tokens[1]), 0)


def repair(state: State, request: Request, *, keep: bool = True) -> Request:
    """Record repairs until the rows obey the provider's rules, or nothing more can be done.

    They are stored at once, unless the caller only looks and takes them back (`keep`).
    """
    for _ in range(_ROUNDS):
        if not violations(state, request):
            break
        draft = Draft(request.view, state.log, state.gauge, state.terms.budget)
        rows = [_as_recorded(row, state.dialect) for row in request.view.rows]
        for covers, shows in state.dialect.repair(rows, request.params):
            draft.offer(Repair(covers, shows), why="mend", by="mend", forced=True)
        if not draft.decisions:
            break
        state.commit(draft.decisions)
        if keep:
            state.store()
        request = look(state, request)
    return request


def violations(state: State, request: Request) -> list[Violation]:
    """The rules that a request would break. Rows that were found legal with these parameters are not checked again."""
    view, judged, settled = request.view, state.judged, 0
    legal = judged.view if judged.params == request.params else None
    if legal is view:
        return []
    if legal is not None and request.allowed.rows is view.rows and judged.begins_with(view.rows, legal.rows):
        settled = len(legal.rows)
    found = state.dialect.check(request.allowed.rows, request.allowed.params, settled)
    if not found:
        judged.view, judged.params = view, request.params
    return found


def _as_recorded(row: Row, dialect: Dialect) -> Row:
    """The row with what no JSON text can carry: that is replaced when it is sent, and no repair may do it for good."""
    wire = tuple(body for message in row.messages for body in dialect.wire(message, row.was))
    return row if wire == row.weight.wire else replace(row, weight=replace(row.weight, wire=wire))


def make_room(state: State, request: Request, extra: Weight) -> Generator[Ask, Answer, Request]:
    """Reduce until the view fits beside `extra`.

    The strategies have one try. Where repairs take the room again, or the session moved while a model was asked, the
    fallbacks have a second one: they ask nobody.
    """
    for strategies in (None, ()):
        outcome = yield from reduce(
            state, request.view, request.limits, reply=request.reply, extra=extra, strategies=strategies
        )
        if outcome.decisions:
            adopt(state)
        reduced = look(state, request)
        request = repair(state, reduced)
        budget = less(request.limits, extra)
        rest(state, request.view.tokens, budget)
        if (request is reduced and outcome.error != MOVED) or request.view.fits(budget):
            break
    return request


class Written(NamedTuple):
    """A request as the provider's SDK takes it, and its weight."""

    body: dict[str, Any]
    tokens: int
    guessed: int
    """How many of the tokens an exact meter guesses."""
    size: int
    over: Weight
    """What its dialect put in, in tokens and in bytes, where it is too long with that."""


def encode(state: State, request: Request) -> Written:
    """Write a request, unless it does not fit or would be refused."""
    view, allowed, extra = request.view, request.allowed, request.extra
    if not view.fits(request.budget):
        stuck = state.aftermath.stuck
        left = stuck if stuck and not stuck.fits(request.budget) else view
        raise _too_long(state, request, left, Weight(left.tokens + extra.tokens, left.size + extra.size))
    faults = violations(state, request)
    if faults:
        raise BrokenGrammar(
            "; ".join(map(str, faults[:3])) + ". This is a bug in fanfold or in a plug-in: please report it."
        )
    marks = Marks(state.terms.cache_key, _previous_end(state, view))
    (params,), _ = encoded((dict(allowed.params),))
    body = state.dialect.encode(
        request.offer.sent, allowed.rows, params, context=request.context, marks=marks
    )
    put_in = count_put_in(state, request)
    estimated, most = view.size + extra.size, request.limits.max_bytes
    size = estimated
    if most is not None and 2 * size > most:  # what a dialect puts in never doubles a request
        size = state.gauge.request(body, view.rows)
    # All that the dialect put in needs room, not only the excess: the view may be far from its own limit.
    over = Weight(
        put_in if view.tokens + put_in > request.budget.room else 0,
        size - estimated if most is not None and size > most else 0,
    )
    guessed = view.guessed + extra.guessed + put_in if state.gauge.exact else 0
    tokens = view.tokens + extra.tokens + put_in
    return Written(body=body, tokens=tokens, guessed=guessed, size=size, over=over)


def count_put_in(state: State, request: Request) -> int:
    """The tokens of what the dialect puts in by itself."""
    return sum([state.gauge.text(text) * times for text, times in request.allowed.put_in.items()])


def _previous_end(state: State, view: View) -> str | None:
    """The row at which the last request ended that ended elsewhere, if it is still in view.

    The provider's cache reaches up to there. A request that is asked for twice has the same mark both times.
    """
    for tip in reversed(state.log.tips):
        if tip is not None and tip != view.tip:
            return tip if any(row.id == tip for row in reversed(view.rows)) else None
    return None


def record(state: State, request: Request, written: Written) -> Sent:
    """Keep what was sent. Asked for twice with nothing said between, it is one request."""
    state.aftermath.stuck = None
    view, allowed, offer = request.view, request.allowed, request.offer
    frame = offer.sent.id if offer.loaded else state.log.frame().id
    rows = _hash_rows(state, tuple(allowed.rows))
    seal = digest(rows, frame.encode(), canonical(allowed.params), (request.context or "").encode())
    last = state.log.sent[-1] if state.log.sent else None
    if last is not None and (last.digest, last.tip, last.version) == (seal, view.tip, view.version):
        # Nothing is written here, so nothing else tells that a message was erased meanwhile.
        if any(map(is_visible, state.keeping.ask_anew())):
            raise Moved("Somebody else wrote to this session since its last request was made.")
        return last
    losing = state.judged.hashed.losing if view.rows is allowed.rows else view.rows
    everything = count_everything(state, view)
    lost = [f"{row.id}#{part}" for row in losing for part in row.weight.lost]
    sent = Sent(
        tip=view.tip,
        version=view.version,
        frame=frame,
        params=allowed.params,
        tokens=written.tokens,
        digest=seal,
        context=request.context,
        left_out=(*allowed.left_out, *lost, *offer.left_out),
        time=state.terms.clock(),
        guessed=written.guessed,
        hidden=view.hidden,
        loaded=offer.loaded,
        whole=everything,
        over=request.limits.billed(everything) > request.limits.limit,
    )
    state.write(sent)
    return sent


def _hash_rows(state: State, rows: tuple[Row, ...]) -> bytes:
    """The hash of all rows of a request. Nearly always they are those of the last one, and some more."""
    known = state.judged.hashed
    if not known.rows or not state.judged.begins_with(rows, known.rows):
        known = HashedRows()
    state.judged.hashed = known.up_to(rows)
    return bytes(state.judged.hashed.hashing.digest())


def _too_long(state: State, request: Request, view: View, whole: Weight) -> DoesNotFit:
    """The error that says what takes the room of a request of this view, which weighs so much as a whole."""
    beside = Beside(
        weigh_extra(state, request.context, {}),
        weigh_extra(state, None, request.params),
        bool(prompt_params(request.params)),
    )
    return DoesNotFit(why_not(state, view, request.limits, whole, beside))
