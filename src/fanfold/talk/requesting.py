"""Making a request: mend, reduce if needed, check, encode, record."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from fanfold.budget import Budget
from fanfold.codecs.codec import Allowed, Marks, plain
from fanfold.codecs.limits import reply_limit
from fanfold.draft import Draft
from fanfold.drive import Reduction
from fanfold.edit import Decision, Mend
from fanfold.errors import BadInput, BrokenGrammar, DoesNotFit, NotFound
from fanfold.hooks import Trigger
from fanfold.ids import canonical, digest
from fanfold.log import covered
from fanfold.message import user
from fanfold.plan import Answer, Ask, Outcome, Patient, Strategy, Watchful
from fanfold.record import Sent, Spent
from fanfold.show import show
from fanfold.strategies.ladder import over
from fanfold.talk.pressure import Pressure, pressure_of
from fanfold.talk.state import State
from fanfold.talk.weighing import sendable
from fanfold.view import View, Violation, Weight

_REGROWTH = 20
"""After a reduction that did not get below the trigger, wait until a twentieth of the room came on top."""
_MOVED = "the session moved while the plan was made; nothing was changed"
NOTHING = Weight(0, 0)


TAKEN = frozenset({"messages", "tools", "system", "input", "instructions", "contents", "systemInstruction"})
"""What a session sends by itself, whatever the dialect calls it."""


def request(
    state: State,
    *,
    max_tokens: int | None = None,
    context: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Generator[Ask, Answer, dict[str, Any]]:
    """The keyword arguments for the provider's SDK, reduced if needed."""
    given: dict[str, Any] = plain(dict(params or {}), "A parameter")
    reply = reply_limit(given) if max_tokens is None else max_tokens
    _checked(state, reply, context, given)
    context = sendable(context) if context else None
    extra = weight_of(state, context)
    known = _known_params(state, max_tokens, given)
    mend(state, known)
    budget = spared(state.limits(reply), extra)
    yield from _trim(state, budget, reply)
    if _due(state, budget):
        if state.terms.hooks.on_pressure:
            state.terms.hooks.on_pressure(pressure_of(state.view(), state.limits(reply), extra.tokens))
        yield from _reduced(state, reply, extra, known)
    return _encoded(state, reply, context, extra, known)


def _reduced(
    state: State, max_tokens: int | None, extra: Weight, params: Mapping[str, Any]
) -> Generator[Ask, Answer, None]:
    """Reduce; once more by the fallbacks alone where mending took the room again, or the plan came too late."""
    for strategies in (None, ()):
        outcome = yield from reduce(state, max_tokens=max_tokens, spare=extra, strategies=strategies)
        mended = mend(state, params)
        budget = spared(state.limits(max_tokens), extra)
        _rest(state, budget)
        if not (mended or outcome.error == _MOVED) or not over(state.view(), budget):
            return


def _rest(state: State, budget: Budget) -> None:
    """A reduction that brought little is not tried again before the view has grown."""
    tokens = state.view().tokens
    state.quiet_until = tokens + max(1, budget.room // _REGROWTH) if tokens >= budget.ceiling else 0


def _trim(state: State, budget: Budget, max_tokens: int | None) -> Generator[Ask, Answer, None]:
    """Let strategies that watch over a share of the view keep it, before the whole view is too much."""
    for strategy in state.terms.strategies:
        if isinstance(strategy, Watchful) and strategy.due(state.view(), budget):
            yield from reduce(state, max_tokens=max_tokens, strategies=[strategy.trim], force=True)


def _checked(state: State, max_tokens: int | None, context: str | None, params: Mapping[str, Any]) -> None:
    if context is not None and not isinstance(context, str):
        raise BadInput(f"context is a text, not {type(context).__name__}.")
    taken = TAKEN & set(params)
    if taken:
        raise BadInput(
            f"{', '.join(sorted(taken))}: the session sends these itself; record them with add, merge or open."
        )
    state.limits(max_tokens)
    if max_tokens == 0:
        raise BadInput("A reply of 0 tokens is none: ask for at least 1, or leave max_tokens out.")
    _something(state)


def _something(state: State) -> None:
    if state.log.head is None:
        raise NotFound("There is nothing to send yet: say something first.")


def weight_of(state: State, context: str | None) -> Weight:
    """What a volatile context takes."""
    return state.gauge.message(user(context)) if context else NOTHING


def spared(budget: Budget, extra: Weight) -> Budget:
    """The budget less what a volatile context takes, in tokens and in bytes."""
    if extra is NOTHING:
        return budget
    scale, offset = budget.measured
    left = None if budget.max_bytes is None else max(1, budget.max_bytes - extra.size - 1)
    spared = msgspec.structs.replace(budget, max_bytes=left)
    return spared.learned(scale, offset + extra.tokens * scale)


def _due(state: State, budget: Budget) -> bool:
    view = state.view()
    if over(view, budget):
        return True
    return view.tokens >= max(budget.ceiling, state.quiet_until)


def mend(state: State, params: Mapping[str, Any]) -> tuple[Decision, ...]:
    """Record repairs where the rows would break the provider's grammar."""
    view = state.view()
    if not _broken(state, view, params):
        return ()
    draft = Draft(view, state.log, state.gauge, state.terms.budget)
    for covers, shows in state.codec.mend(view.rows, params):
        draft.offer(Mend(covers, shows), why="mend", by="mend", forced=True)
    if draft.decisions:
        state.commit(draft.decisions)
        state.store()
    return tuple(draft.decisions)


def _broken(state: State, view: View, params: Mapping[str, Any]) -> list[Violation]:
    if state.legal is not None and state.legal[0] is view and state.legal[1] == params:
        return []
    allowed = state.codec.allow(view.rows, params)
    settled = _settled(state, view, params) if allowed.rows is view.rows else 0
    found = state.codec.check(allowed.rows, allowed.params, settled)
    if not found:
        state.legal = (view, params)
    return found


def _settled(state: State, view: View, params: Mapping[str, Any]) -> int:
    """How many of the first rows were found legal before, with the same parameters."""
    if state.legal is None or state.legal[1] != params:
        return 0
    rows = state.legal[0].rows
    return len(rows) if view.rows[: len(rows)] == rows else 0


def reduce(
    state: State,
    *,
    max_tokens: int | None = None,
    spare: Weight = NOTHING,
    trigger: Trigger = "auto",
    strategies: Sequence[Strategy] | None = None,
    force: bool = False,
) -> Generator[Ask, Answer, Outcome]:
    """One reduction, committed as a whole or not at all."""
    learned = state.learned.voided()
    budget = spared(state.budget(max_tokens).learned(learned.scale, learned.offset), spare)
    if force:
        budget = _forcing(budget, state.view())
    chosen = state.terms.strategies if strategies is None else strategies
    terms = state.terms
    reduction = Reduction(state.view(), state.log, state.gauge, budget, chosen, ask_window=terms.ask_window)
    erased = set(state.log.tree.erased)
    outcome: Outcome = yield from reduction.run(ladder=terms.ladder)
    gone = state.log.tree.erased.keys() - erased
    state.write(*(answer for answer in reduction.answers if not state.log.leaves(answer.sources) & gone))
    if outcome.usage is not None:
        state.write(Spent(outcome.usage, outcome.cost))
    outcome = _committed(state, reduction, outcome, trigger)
    state.store()
    _rest(state, budget)
    if state.terms.hooks.after_edit:
        state.terms.hooks.after_edit(outcome)
    return outcome


def _forcing(budget: Budget, view: View) -> Budget:
    """Force means force: below the target, aim for half of what there is."""
    if view.tokens > budget.goal:
        return budget
    return msgspec.structs.replace(budget, target=max(2, budget.billed(view.tokens // 2)))


def _committed(state: State, reduction: Reduction, outcome: Outcome, trigger: Trigger) -> Outcome:
    """Write the plan; if the session moved meanwhile, only if every edit still holds on the new view."""
    if not outcome.decisions:
        return outcome
    decisions = _holding(state, reduction, reduction.draft.version, outcome.decisions)
    if decisions is None:
        return _failed(outcome, _MOVED)
    before, version = state.terms.hooks.before_edit, state.log.version
    if before is not None and before(decisions, trigger) is False:
        return _failed(outcome, "a hook refused it")
    decisions = _holding(state, reduction, version, decisions)  # the hook may have written something itself
    if decisions is None:
        return _failed(outcome, _MOVED)
    state.commit(decisions)
    return msgspec.structs.replace(outcome, decisions=decisions, after=state.view().tokens)


def _holding(
    state: State, reduction: Reduction, version: int, decisions: tuple[Decision, ...]
) -> tuple[Decision, ...] | None:
    """The decisions as they stand on the present view; None if it moved since that version and one holds no more."""
    if state.log.version == version:
        return decisions
    view = state.view()
    for id in {id for decision in decisions for id in covered(decision.edit)}:
        seen, row = reduction.start.row(id), view.row(id)
        if seen is not None and (row is None or row.messages != seen.messages):
            return None
    draft = Draft(view, state.log, state.gauge, reduction.budget)
    for decision in decisions:
        draft.offer(decision.edit, why=decision.why, by=decision.by, forced=True)
    return tuple(draft.decisions) if len(draft.decisions) == len(decisions) else None


def _failed(outcome: Outcome, error: str) -> Outcome:
    return msgspec.structs.replace(outcome, status="failed", after=outcome.before, decisions=(), error=error)


def _encoded(
    state: State, max_tokens: int | None, context: str | None, extra: Weight, params: dict[str, Any]
) -> dict[str, Any]:
    _something(state)  # a hook, or another thread while a model was asked, may have taken everything back
    view = state.view()
    limits = spared(state.limits(max_tokens), extra)
    if over(view, limits):
        raise DoesNotFit(_why_not(state, pressure_of(view, state.limits(max_tokens), extra.tokens)))
    broken = _broken(state, view, params)
    if broken:
        raise BrokenGrammar(
            "; ".join(map(str, broken[:3])) + ". This is a bug in fanfold or in a plug-in: please report it."
        )
    allowed = state.codec.allow(view.rows, params)
    marks = Marks(digest(state.terms.name.encode("utf-8", "surrogatepass")), _previous_end(state, view))
    _record(state, _sent(state, view, allowed, context, extra))
    params = sendable(allowed.params)
    request = state.codec.encode(state.frame()[0], allowed.rows, params, context=context, marks=marks)
    return msgspec.to_builtins(request)  # type: ignore[no-any-return]


def _previous_end(state: State, view: View) -> str | None:
    """The row at which the last request before this one ended, if it is still in view."""
    ends = [sent.tip for sent in reversed(state.log.sent[-2:]) if sent.tip not in (None, view.tip)]
    return next((end for end in ends for row in reversed(view.rows) if row.id == end), None)


def _known_params(state: State, max_tokens: int | None, params: dict[str, Any]) -> dict[str, Any]:
    model = {"model": state.terms.model} if state.terms.model else {}
    return {**model, **params, **state.codec.limit(max_tokens, state.terms.budget.reply)}


def _sent(state: State, view: View, allowed: Allowed, context: str | None, extra: Weight) -> Sent:
    frame = state.log.frame().id
    rows = b"".join([row.weight.digest for row in allowed.rows])
    seal = digest(rows, frame.encode(), canonical(allowed.params), (context or "").encode())
    lost = [f"{row.id}#{part}" for row in view.rows if row.weight.lost for part in row.weight.lost]
    return Sent(
        view.tip,
        view.version,
        frame,
        allowed.params,
        view.tokens + extra.tokens,
        seal,
        context,
        (*allowed.left_out, *lost, *state.frame()[1]),
        state.terms.clock(),
    )


def _record(state: State, sent: Sent) -> None:
    """Asked twice with nothing said between, a request is one request."""
    last = state.log.sent[-1] if state.log.sent else None
    if last is None or (last.digest, last.tip, last.version) != (sent.digest, sent.tip, sent.version):
        state.write(sent)


def _why_not(state: State, pressure: Pressure) -> str:
    """What holds the room, and a way out."""
    held = {
        "system prompt and tools": pressure.frame,
        "pinned": pressure.pinned,
        "brought back by undo": pressure.brought_back,
        "not seen by the model yet": pressure.fresh,
        "the rest": pressure.rest,
    }
    listed = ", ".join(f"{tokens:,} {name}" for name, tokens in held.items() if tokens)
    undone = [undo for edit, undo in state.log.undone().items() if edit not in state.log.released]
    release = (
        f" Release {', '.join(undone)} ({pressure.brought_back:,} tokens)," if pressure.brought_back else ""
    )
    if pressure.max_bytes is not None and pressure.size > pressure.max_bytes:
        return (
            f"The request has {pressure.size:,} bytes, {pressure.max_bytes:,} fit.{release} "
            "Unpin something, send smaller images, or raise max_bytes."
        )
    return (
        f"{pressure.tokens:,} tokens, {pressure.room:,} fit beside a reply of {pressure.reserve:,}: {listed}.{release} "
        "Unpin something, shorten system prompt or tools, ask for a shorter reply, or raise the window."
    )


def sent_view(state: State, number: int) -> tuple[Sent, View]:
    """A request as it went out, and what the model saw in it."""
    state.read_whole()
    if not isinstance(number, int) or not -len(state.log.sent) <= number < len(state.log.sent):
        raise NotFound(f"There is no request {number!r}; {len(state.log.sent)} went out, counted from 0.")
    sent = state.log.sent[number]
    return sent, show(state.log, sent.tip, sent.version, state.gauge, state.terms.name)


def settle(state: State) -> Generator[Ask, Answer, Outcome | None]:
    """Background work after a turn: reduce if the trigger is reached, else let patient strategies do theirs."""
    if state.log.head is None:
        return None
    if _due(state, state.limits()):
        return (yield from reduce(state))
    outcome = None
    for strategy in state.terms.strategies:
        if isinstance(strategy, Patient) and strategy.settles(state.view(), state.limits()):
            outcome = yield from reduce(state, strategies=[strategy.settling], force=True)
    return outcome
