"""Reducing: one plan, committed as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import lru_cache

import msgspec

from fanfold.budget import Budget
from fanfold.draft import Draft
from fanfold.drive import Reduction
from fanfold.edit import Decision, Note, covered
from fanfold.events import Reduced, Reducing, Trigger, events_of
from fanfold.plan import Answer, Ask, Outcome, Patient, Strategy, is_watchful
from fanfold.record import Spent
from fanfold.talk.pressure import Pressure, pressure_of
from fanfold.talk.state import State
from fanfold.talk.traces import is_told
from fanfold.view import View
from fanfold.weight import Weight

_REGROWTH = 20
"""After a reduction that did not get below the trigger, wait until a twentieth of the room came on top."""
_KEPT = 10 * 60
"""Seconds after which a provider has forgotten a prompt that nobody used; some forget it after five minutes."""
MOVED = "the session moved while the plan was made; nothing was changed"
BROKEN_OFF = "it was broken off"
NOTHING = Weight(0, 0)


def spared(budget: Budget, extra: Weight) -> Budget:
    """The budget less what is sent beside the rows, in tokens and in bytes."""
    return _spared(budget, extra.tokens, extra.size) if extra.size else budget


@lru_cache(maxsize=64)  # the same parameters come with every request
def _spared(budget: Budget, tokens: int, size: int) -> Budget:
    scale, offset = budget.measured
    left = None if budget.max_bytes is None else max(1, budget.max_bytes - size - 1)
    return msgspec.structs.replace(budget, max_bytes=left, measured=(scale, offset + tokens * scale))


def reduce(
    state: State,
    *,
    max_tokens: int | None = None,
    spare: Weight = NOTHING,
    trigger: Trigger = "auto",
    strategies: Sequence[Strategy] | None = None,
    force: bool = False,
) -> Generator[Ask, Answer, Outcome]:
    """One reduction, committed as a whole or not at all. Who watches is told of its beginning and its end."""
    before = state.view().tokens
    state.tell(Reducing(trigger, before))
    try:
        outcome = yield from _reduced(state, max_tokens, spare, trigger, strategies, force)
    except BaseException:  # also one who cancels: a progress indicator must not turn for ever
        state.tell(Reduced("failed", before, before, BROKEN_OFF))
        raise
    state.tell(*events_of(outcome, state.log))
    return outcome


def _reduced(
    state: State,
    max_tokens: int | None,
    spare: Weight,
    trigger: Trigger,
    strategies: Sequence[Strategy] | None,
    force: bool,
) -> Generator[Ask, Answer, Outcome]:
    learned = state.learned.voided()
    budget = spared(state.budget(max_tokens).learned(learned.scale, learned.offset), spare)
    if force:
        budget = _forcing(budget, state.view())
    chosen = state.terms.strategies if strategies is None else strategies
    terms = state.terms
    reduction = Reduction(
        state.view(),
        state.log,
        state.gauge,
        budget,
        chosen,
        ask_window=terms.ask_window,
        one_model=terms.one_model,
    )
    outcome: Outcome = yield from reduction.run(ladder=terms.ladder)
    gone = reduction.erased_since
    state.write(*(answer for answer in reduction.answers if not is_told(state.log, answer.sources, gone)))
    if outcome.usage is not None:
        state.write(Spent(outcome.usage, outcome.cost))
    decided = bool(outcome.decisions)
    outcome = _committed(state, reduction, outcome, trigger)
    if outcome.decisions or not decided:  # what was discarded is looked at again
        state.write(*reduction.looked)
    state.store()
    rest(state, budget)
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
        return _failed(outcome, MOVED)
    before, version = state.terms.hooks.before_edit, state.log.version
    if before is not None and before(decisions, trigger) is False:
        return _failed(outcome, "a hook refused it")
    decisions = _holding(state, reduction, version, decisions)  # the hook may have written something itself
    if decisions is None:
        return _failed(outcome, MOVED)
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
    if _tells_of_erased(state, reduction, decisions):
        return None
    draft = Draft(view, state.log, state.gauge, reduction.budget)
    for decision in decisions:
        draft.offer(decision.edit, why=decision.why, by=decision.by, forced=True)
    return tuple(draft.decisions) if len(draft.decisions) == len(decisions) else None


def _tells_of_erased(state: State, reduction: Reduction, decisions: Sequence[Decision]) -> bool:
    """Whether there is a note among the decisions, and something that it was made from was erased since."""
    noted = any(isinstance(decision.edit, Note) for decision in decisions)
    return noted and is_told(state.log, [row.id for row in reduction.start.rows], reduction.erased_since)


def _failed(outcome: Outcome, error: str) -> Outcome:
    return msgspec.structs.replace(outcome, status="failed", after=outcome.before, decisions=(), error=error)


def rest(state: State, budget: Budget) -> None:
    """A reduction that brought little is not tried again before the view has grown."""
    tokens = state.view().tokens
    state.quiet_until = tokens + max(1, budget.room // _REGROWTH) if budget.presses(tokens) else 0


def trim(state: State, budget: Budget, max_tokens: int | None) -> Generator[Ask, Answer, None]:
    """Let strategies that watch over a share of the view keep it, before the whole view is too much."""
    for strategy in state.terms.strategies:
        if is_watchful(strategy) and _has_work(strategy.due, state.view(), priced(state, budget)):
            yield from reduce(state, max_tokens=max_tokens, strategies=[strategy.trim], force=True)


def priced(state: State, budget: Budget) -> Budget:
    """The budget at this time: a provider that heard nothing for long has forgotten the last prompt."""
    last = state.log.sent[-1].time if state.log.sent else 0.0
    cold = last > 0 and state.terms.clock() - last > _KEPT
    return msgspec.structs.replace(budget, cold=True) if cold else budget


def pressure(state: State, max_tokens: int | None = None) -> Pressure:
    """How full the window is, with what, and whether the next request would reduce; nothing is done (E9)."""
    budget, view = state.limits(max_tokens), state.view()
    now = priced(state, budget)
    watched = any(is_watchful(one) and _has_work(one.due, view, now) for one in state.terms.strategies)
    return msgspec.structs.replace(pressure_of(view, budget), due=watched or due(state, budget))


def _has_work(question: Callable[[View, Budget], bool], view: View, budget: Budget) -> bool:
    """Whether a strategy says so; one that fails to say has none, until the window forces it and its error is told."""
    try:
        return question(view, budget)
    except Exception:  # a stranger's code may raise anything
        return False


def due(state: State, budget: Budget) -> bool:
    """Whether a request reduces the whole view first."""
    view = state.view()
    if not view.fits(budget):
        return True
    return budget.presses(view.tokens) and view.tokens >= state.quiet_until


def settle(state: State) -> Generator[Ask, Answer, Outcome | None]:
    """Background work after a turn: reduce if the trigger is reached, else let patient strategies do theirs."""
    if state.log.head is None:
        return None
    if due(state, state.limits()):
        return (yield from reduce(state))
    outcome = None
    for strategy in state.terms.strategies:
        if isinstance(strategy, Patient) and _has_work(strategy.settles, state.view(), state.limits()):
            outcome = yield from reduce(state, strategies=[strategy.settling], force=True)
    return outcome
