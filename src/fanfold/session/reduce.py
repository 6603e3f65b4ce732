"""Reducing: one plan, committed as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import lru_cache

import msgspec

from fanfold.asking.drive import Reduction
from fanfold.config.events import Reduced, Reducing, events_of
from fanfold.core.budget import Budget
from fanfold.core.draft import Draft
from fanfold.core.edit import Decision, Note, covered
from fanfold.core.plan import Answer, Ask, Outcome, Patient, Strategy, Trigger, is_watchful, name_of
from fanfold.core.record import Spent
from fanfold.core.view import View, Weight
from fanfold.session.state import State
from fanfold.session.traces import is_told
from fanfold.session.weigh import decided, ended
from fanfold.strategies.price import helps
from fanfold.tokens.pressure import Pressure, pressure_of

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
    left = None if budget.max_bytes is None else max(1, budget.max_bytes - size - 1)
    return msgspec.structs.replace(budget, max_bytes=left, beside=budget.beside + tokens)


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
    before = state.shown().tokens
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
    budget = spared(_narrower(state, max_tokens), spare)
    if force:
        budget = _forcing(budget, state.view())
    terms = state.terms
    reduction = Reduction(
        state.view(),
        state.log,
        state.gauge,
        budget,
        terms.strategies if strategies is None else strategies,
        answered=state.keeping.answer,
        summarizer_window=terms.summarizer_window,
        one_model=terms.one_model,
        may_ask=trigger == "manual" or _may_ask(state, budget, whole=strategies is None),
    )
    outcome = yield from _run(state, reduction, trigger)
    gone = reduction.erased_since
    state.write(*(answer for answer in reduction.answers if not is_told(state.log, answer.sources, gone)))
    if outcome.usage is not None:
        state.write(Spent(outcome.usage, outcome.cost))
    planned = bool(outcome.decisions)
    outcome = ended(_committed(state, reduction, outcome, trigger), state.limits())
    if outcome.decisions or not planned:  # what was discarded is looked at again
        state.write(*reduction.looked)
    state.store()
    state.paid = reduction.asked > 0
    rest(state, budget)
    _warn(state, outcome, reduction.faults, trigger)
    if state.terms.hooks.after_edit:
        state.terms.hooks.after_edit(outcome)
    return outcome


def _warn(state: State, outcome: Outcome, faults: Sequence[str], trigger: Trigger) -> None:
    """Say what went wrong; whoever compacts by hand sees in the outcome that nothing could be done."""
    by_hand = trigger == "manual" and outcome.status in ("noop", "refused-larger")
    if outcome.error is None or by_hand:
        return
    done = f" {outcome.strategy} did it instead" if outcome.status == "reduced" and outcome.strategy else ""
    state.warn(
        "%s.%s (%s, %s to %s tokens). `on_edit` is told the whole error.",
        "; ".join(dict.fromkeys(faults)) or "the plan was not carried out",
        done,
        outcome.status,
        f"{outcome.before:,}",
        f"{outcome.after:,}",
    )


def _run(state: State, reduction: Reduction, trigger: Trigger) -> Generator[Ask, Answer, Outcome]:
    """Run a reduction; of one that nobody asked for, and that does not make the request fit, nothing is kept."""
    if trigger == "manual":
        return (yield from reduction.run(fallbacks=state.terms.fallbacks))
    if reduction.start.fixed > reduction.budget.room:
        outcome = reduction.outcome()
    else:
        outcome = yield from reduction.run(fallbacks=state.terms.fallbacks)
    stuck = outcome.status == "does-not-fit"
    state.stuck = reduction.draft.view if stuck else None
    return msgspec.structs.replace(outcome, after=outcome.before, decisions=()) if stuck else outcome


def _may_ask(state: State, budget: Budget, *, whole: bool) -> bool:
    """Whether a question is worth its price: not again where the last one led to no request that fits."""
    view, stuck = state.view(), state.stuck
    if stuck is not None and view.fixed >= stuck.fixed:
        return False
    return not whole or helps(view, budget)


def _narrower(state: State, max_tokens: int | None) -> Budget:
    """The budget as it is, or as it will be once an edit voids the last bill: what is made must fit by either."""
    after = state.learned.voided()
    both = (state.limits(max_tokens), state.budget(max_tokens).learned(after.scale, after.offset))
    return min(both, key=lambda budget: budget.room)


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
    if before is not None and before([decided(one, state.limits()) for one in decisions], trigger) is False:
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
    """A reduction that brought little is not tried again before the view has grown.

    One that was paid for and leaves the view near its trigger is not tried again before the window forces it: the
    next message or two would make it due, and be paid for, once more.
    """
    tokens, little = state.view().tokens, max(1, budget.room // _REGROWTH)
    if state.paid:
        state.quiet_until = tokens + budget.room if budget.presses(tokens + little) else 0
    else:
        state.quiet_until = tokens + little if budget.presses(tokens) else 0


def trim(state: State, budget: Budget, max_tokens: int | None) -> Generator[Ask, Answer, None]:
    """Let strategies that watch over a share of the view keep it, before the whole view is too much."""
    if state.view().fixed > budget.room:
        return
    for strategy in state.terms.strategies:
        if is_watchful(strategy) and _has_work(state, strategy, strategy.due, priced(state, budget)):
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
    watched = any(is_watchful(one) and _has_work(state, one, one.due, now) for one in state.terms.strategies)
    return msgspec.structs.replace(pressure_of(view, budget), due=watched or due(state, budget))


def _has_work(
    state: State, strategy: object, question: Callable[[View, Budget], bool], budget: Budget
) -> bool:
    """Whether a strategy says so; one that fails to say has none, until the window forces it and its error is told."""
    try:
        return question(state.view(), budget)
    except Exception as error:  # a stranger's code may raise anything
        state.warn(
            "%s could not say whether it has something to do (%s), so it is left alone until the window is full.",
            name_of(strategy),
            type(error).__name__,
            once=f"the strategy {name_of(strategy)}",
        )
        return False


def due(state: State, budget: Budget) -> bool:
    """Whether a request reduces the whole view first."""
    view = state.view()
    if not view.fits(budget):
        return True
    return budget.presses(view.tokens) and view.tokens >= state.quiet_until and helps(view, budget)


def settle(state: State) -> Generator[Ask, Answer, Outcome | None]:
    """Background work after a turn: reduce if the trigger is reached, else let patient strategies do theirs."""
    if state.log.head is None:
        return None
    if due(state, state.limits()):
        return (yield from reduce(state))
    outcome = None
    for strategy in state.terms.strategies:
        if isinstance(strategy, Patient) and _has_work(state, strategy, strategy.settles, state.limits()):
            outcome = yield from reduce(state, strategies=[strategy.settling], force=True)
    return outcome
