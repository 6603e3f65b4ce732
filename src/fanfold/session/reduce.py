"""Reducing: one plan, committed as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from types import MethodType
from typing import Literal

from msgspec.structs import replace

from fanfold.asking.drive import Reduction
from fanfold.config.events import Reduced, Reducing, events_of
from fanfold.config.telemetry import ReductionSpan
from fanfold.core.budget import Budget
from fanfold.core.draft import Draft
from fanfold.core.edit import Decision, Elide, Note, covers_of
from fanfold.core.errors import BadInput
from fanfold.core.plan import Answer, Ask, Outcome, Patient, Strategy, Trigger, Watchful, is_watchful, name_of
from fanfold.core.record import Spent
from fanfold.core.view import View, Weight
from fanfold.session.cache import SOONEST, kept_for
from fanfold.session.state import State
from fanfold.session.traces import is_told
from fanfold.strategies.focus import SHARE, belonging
from fanfold.strategies.framing import beside, beside_frame_of, framing
from fanfold.strategies.price import helps
from fanfold.tokens.pressure import Pressure, pressure_of
from fanfold.tokens.units import decision_in_window, outcome_in_window

_REGROWTH = 20
"""After a reduction that did not get below the trigger, wait until a twentieth of the room came on top."""
MOVED = "the session moved while the plan was made; nothing was changed"
BROKEN_OFF = "it was broken off"
NOTHING = Weight(0, 0)
Reason = Literal["", "size", "cold", "strategy"]
"""Why a request reduces first: the view is too large, the provider forgot the prompt, or a strategy says it is time."""


@lru_cache(maxsize=64)  # the same parameters come with every request
def less(budget: Budget, extra: Weight) -> Budget:
    """The budget less what is sent beside the view, in tokens and in bytes."""
    if not extra.size:
        return budget
    left = None if budget.max_bytes is None else max(1, budget.max_bytes - extra.size - 1)
    return replace(budget, max_bytes=left, beside=budget.beside + extra.tokens)


def reduce(
    state: State,
    view: View,
    limits: Budget,
    *,
    reply: int | None = None,
    extra: Weight = NOTHING,
    trigger: Trigger = "auto",
    strategies: Sequence[Strategy] | None = None,
    force: bool = False,
    dry_run: bool = False,
    because: Reason = "",
) -> Generator[Ask, Answer, Outcome]:
    """Make a view smaller, so that it fits the limits beside `extra`. Whoever watches is told of beginning and end.

    Strategies work on a draft: the session is free while a model is asked, and what it did meanwhile decides whether
    the plan is committed. `strategies` are the session's own if none are given; `force` reduces below the target too.
    A dry run makes the plan and commits nothing; answers that were paid for are kept, so that no plan pays them twice.
    """
    if state.log.resumed_at:
        # A hand-over tells what earlier ones told, too, so it is written from the whole log.
        state.read_whole()
        view = state.view()
    before = limits.billed(view.tokens)
    watched = state.tell if not dry_run else lambda events: None
    watched((Reducing(trigger, before),))
    span = ReductionSpan(state.terms.name, trigger, before, dry_run=dry_run)
    try:
        reduction = _plan(state, view, limits, reply=reply, extra=extra, strategies=strategies, force=force)
        whole = strategies is None
        reduction.may_ask = trigger == "manual" or _may_ask(state, view, reduction.budget, whole=whole)
        outcome = yield from _run(state, reduction, trigger)
        outcome = _let_tools_go(state, reduction, outcome) if outcome.decisions else outcome
        outcome = replace(outcome, again=_sent_again(view, reduction.draft.view) if outcome.decisions else 0)
        if dry_run:
            outcome = _leave(state, reduction, outcome)
        else:
            outcome = _conclude(state, reduction, outcome, trigger, because)
    except BaseException:  # also one who cancels: a progress indicator must not turn for ever
        watched((Reduced("failed", before, before, BROKEN_OFF),))
        span.end(None)
        raise
    span.end(outcome)
    watched(events_of(outcome, state.log))
    return outcome


def _plan(
    state: State,
    view: View,
    limits: Budget,
    *,
    reply: int | None,
    extra: Weight,
    strategies: Sequence[Strategy] | None = None,
    force: bool = False,
) -> Reduction:
    """A reduction that has not begun."""
    # An edit voids the last bill, and with it the most exact count: what is made must fit by either count.
    after = state.limits(reply, edited=True)
    budget = beside(less(after if after.room < limits.room else limits, extra), framing(view))
    if force and view.tokens <= budget.goal:
        budget = replace(budget, target=max(2, budget.billed(view.tokens // 2)))
    return Reduction(
        view=view,
        log=state.log,
        scale=state.gauge,
        budget=budget,
        strategies=state.terms.strategies if strategies is None else strategies,
        answered=state.keeping.answer,
        summarizer_window=state.terms.summarizer_window,
        one_model=state.terms.one_model,
    )


def rehearse(state: State, view: View, limits: Budget, *, reply: int | None, extra: Weight) -> Reduction:
    """Go through what a request would do to make room: no model is asked, nobody is told, nothing is changed."""
    reduction = _plan(state, view, limits, reply=reply, extra=extra)
    if view.fixed <= reduction.budget.room:
        flow, answer = reduction.run(fallbacks=state.terms.fallbacks), None
        with suppress(StopIteration):
            while flow.send(answer):  # type: ignore[arg-type]
                answer = Answer(error="nobody is asked in a preview")
    return reduction


def _may_ask(state: State, view: View, budget: Budget, *, whole: bool) -> bool:
    """Whether a question is worth its price: not again where the last one led to no request that fits."""
    stuck = state.aftermath.stuck
    if stuck is not None and view.fixed >= stuck.fixed:
        return False
    return not whole or helps(view, budget)


def _run(state: State, reduction: Reduction, trigger: Trigger) -> Generator[Ask, Answer, Outcome]:
    """Run a reduction; of one that nobody asked for, and that does not make the request fit, nothing is kept."""
    fallbacks = state.terms.fallbacks
    if trigger == "manual":
        return (yield from reduction.run(fallbacks=fallbacks))
    hopeless = reduction.start.fixed > reduction.budget.room
    outcome = reduction.outcome() if hopeless else (yield from reduction.run(fallbacks=fallbacks))
    if outcome.status != "does-not-fit":
        state.aftermath.stuck = None
        return outcome
    state.aftermath.stuck = reduction.draft.view
    return replace(outcome, after=outcome.before, decisions=())


def _let_tools_go(state: State, reduction: Reduction, outcome: Outcome) -> Outcome:
    """Let tools that were found and not called since leave with a reduction: the prompt is read afresh anyway."""
    draft, before = reduction.draft, reduction.draft.view.tokens
    for address, text in list(state.deferral.unneeded(state.log.frame(), draft.view.rows)):
        draft.offer(Elide(address, text), why="unload", forced=True)
    after = outcome.after - (before - draft.view.tokens)
    return replace(outcome, decisions=tuple(draft.decisions), after=after)


def _sent_again(before: View, after: View) -> int:
    """Tokens of the rows behind the first edit that stay: they were sent before, and their place is another now."""
    pairs = enumerate(zip(before.rows, after.rows, strict=False))
    first = next((at for at, (one, two) in pairs if one.weight.digest != two.weight.digest), len(after.rows))
    stay = {row.id: row.weight.digest for row in before.rows[first:]}
    return sum(row.tokens for row in after.rows[first:] if stay.get(row.id) == row.weight.digest)


def _leave(state: State, reduction: Reduction, outcome: Outcome) -> Outcome:
    """End a dry run: nothing is changed."""
    _keep_answers(state, reduction, outcome)
    state.store()
    return outcome_in_window(outcome, state.limits())


def _keep_answers(state: State, reduction: Reduction, outcome: Outcome) -> None:
    """Write down what models answered, whatever became of the plan: it is paid for."""
    gone = reduction.erased_since
    state.write(*[answer for answer in reduction.answers if not is_told(state.log, answer.sources, gone)])
    if outcome.usage is not None:
        state.write(Spent(outcome.usage, outcome.cost))


def _conclude(
    state: State, reduction: Reduction, outcome: Outcome, trigger: Trigger, because: Reason
) -> Outcome:
    """Write down what a reduction came to: the plan, and the answers that were paid for."""
    _keep_answers(state, reduction, outcome)
    planned = bool(outcome.decisions)
    if planned:
        outcome = _commit(state, reduction, outcome, trigger, because)
    if outcome.decisions or not planned:  # what was discarded is looked at again
        state.write(*reduction.looked)
    state.store()
    state.aftermath.paid = reduction.asked > 0
    rest(state, outcome.after if outcome.decisions else state.view().tokens, reduction.budget)
    outcome = outcome_in_window(outcome, state.limits())
    if outcome.error is not None:
        _warn(state, outcome, reduction.faults, trigger)
    elif outcome.status == "reduced" and reduction.fell_back:
        _warn_of_fallbacks(state, reduction)
    if state.terms.hooks.after_edit:
        state.terms.hooks.after_edit(outcome)
    return outcome


def _commit(
    state: State, reduction: Reduction, outcome: Outcome, trigger: Trigger, because: Reason
) -> Outcome:
    """Write the plan; if the session moved meanwhile, only if every edit still holds on the new view."""
    decisions = _still_valid(state, reduction, reduction.draft.version, outcome.decisions)
    hook, version = state.terms.hooks.before_edit, state.log.version
    if decisions and hook is not None:
        if hook([decision_in_window(one, state.limits()) for one in decisions], trigger) is False:
            return _fail(outcome, "a hook refused it")
        # The hook may have written something itself.
        decisions = _still_valid(state, reduction, version, decisions)
    if not decisions:
        return _fail(outcome, MOVED)
    before = state.view().tokens  # what was said meanwhile is no part of what this plan saved
    if decisions is outcome.decisions:
        state.projection.expect(decisions, reduction.start, reduction.draft.view)
    state.commit(decisions, "manual" if trigger == "manual" else because)
    return replace(outcome, decisions=decisions, before=before, after=state.view().tokens)


def _still_valid(
    state: State, reduction: Reduction, version: int, decisions: tuple[Decision, ...]
) -> tuple[Decision, ...]:
    """The decisions as they stand on the present view; none if it moved since that version and one holds no more."""
    if state.log.version == version:
        return decisions
    view = state.view()
    for id in {id for decision in decisions for id in covers_of(decision.edit)}:
        seen, row = reduction.start.row(id), view.row(id)
        if seen is not None and (row is None or row.messages != seen.messages):
            return ()
    # A note tells of everything that its strategy saw, so it falls with anything of that which was erased since.
    noted = any(isinstance(decision.edit, Note) for decision in decisions)
    if noted and is_told(state.log, [row.id for row in reduction.start.rows], reduction.erased_since):
        return ()
    draft = Draft(view, state.log, state.gauge, reduction.budget)
    for decision in decisions:
        draft.offer(decision.edit, why=decision.why, by=decision.by, forced=True)
    return tuple(draft.decisions) if len(draft.decisions) == len(decisions) else ()


def _fail(outcome: Outcome, error: str) -> Outcome:
    return replace(outcome, status="failed", after=outcome.before, decisions=(), error=error)


def _warn(state: State, outcome: Outcome, faults: Sequence[str], trigger: Trigger) -> None:
    """Log what went wrong; whoever compacts by hand sees in the outcome that nothing could be done."""
    if trigger == "manual" and outcome.status in ("noop", "refused-larger"):
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


def _warn_of_fallbacks(state: State, reduction: Reduction) -> None:
    """Log where fallbacks followed strategies of one's own: what those promise to keep, a fallback may hide."""
    if any(not _is_ours(strategy) for strategy in reduction.strategies):
        state.warn(
            "%s left more than fits, so the fallback %s reduced the view too.",
            ", ".join(map(name_of, reduction.strategies)),
            ", ".join(dict.fromkeys(reduction.fell_back)),
        )


def _is_ours(strategy: Strategy) -> bool:
    """Whether a strategy comes with fanfold."""
    return str(getattr(strategy, "__module__", "")).startswith("fanfold.")


def rest(state: State, tokens: int, budget: Budget) -> None:
    """A reduction that brought little is not tried again before the view has grown.

    One that was paid for and leaves the view near its trigger is not tried again before the window forces it: the
    next message or two would make it due, and be paid for, once more.
    """
    little = max(1, budget.room // _REGROWTH)
    if state.aftermath.paid:
        state.aftermath.quiet_until = tokens + budget.room if budget.presses(tokens + little) else 0
    else:
        state.aftermath.quiet_until = tokens + little if budget.presses(tokens) else 0


def is_due(state: State, view: View, budget: Budget) -> bool:
    """Whether a request reduces the whole view first."""
    budget = beside_frame_of(view, budget)
    if not view.fits(budget):
        return True
    return budget.presses(view.tokens) and view.tokens >= state.aftermath.quiet_until and helps(view, budget)


def trim(state: State, view: View, budget: Budget, reply: int | None) -> Generator[Ask, Answer, bool]:
    """Let strategies that watch over a share of the view keep it, before the whole view is too much.

    Returns whether one had work.
    """
    worked = False
    if view.tokens > budget.room and view.fixed > budget.room:
        return worked
    budget = beside_frame_of(view, budget)
    for strategy in filter(is_watchful, state.terms.strategies):
        view = state.view() if worked else view
        if _has_work(state, strategy, strategy.due, view, _price_now(state, budget)):
            worked, limits = True, state.limits(reply)
            steps, because = (
                [_named_like(strategy, strategy.trim)],
                _reason_of(state, strategy, view, _price_now(state, budget)),
            )
            yield from reduce(state, view, limits, reply=reply, strategies=steps, force=True, because=because)
    return worked


def _named_like(strategy: object, step: Strategy) -> Strategy:
    """A step that is a method, under its strategy's name: people know that, and not `trim`."""
    if not isinstance(step, MethodType):
        return step
    named = partial(step)
    named.name = name_of(strategy)  # type: ignore[attr-defined]
    return named


def wants_to_trim(state: State, view: View, budget: Budget) -> bool:
    """Whether `trim` would find work."""
    watchful = [strategy for strategy in state.terms.strategies if is_watchful(strategy)]
    if not watchful or (view.tokens > budget.room and view.fixed > budget.room):
        return False
    price = _price_now(state, beside_frame_of(view, budget))
    return any(_has_work(state, strategy, strategy.due, view, price) for strategy in watchful)


def _price_now(state: State, budget: Budget) -> Budget:
    """The budget at this time: a provider that heard nothing for long has forgotten the last prompt."""
    last = state.log.sent[-1].time if state.log.sent else 0.0
    silence = state.terms.clock() - last if last > 0 else 0.0
    cold = silence > SOONEST and silence > kept_for(state)
    return replace(budget, cold=True) if cold else budget


def _has_work(
    state: State, strategy: object, question: Callable[[View, Budget], bool], view: View, budget: Budget
) -> bool:
    """Whether a strategy says so; one that fails to say has none, until the window forces it and its error is told."""
    try:
        return question(view, budget)
    except Exception as error:  # other people's code may raise anything
        state.warn(
            "%s could not say whether it has something to do (%s), so it is left alone until the window is full.",
            name_of(strategy),
            type(error).__name__,
            once=f"the strategy {name_of(strategy)}",
        )
        return False


def reason_to_reduce(state: State, view: View, budget: Budget) -> Reason:
    """Why a request reduces first, if it does."""
    if is_due(state, view, budget):
        return "size"
    price = _price_now(state, beside_frame_of(view, budget))
    for strategy in filter(is_watchful, state.terms.strategies):
        if _has_work(state, strategy, strategy.due, view, price):
            return _reason_of(state, strategy, view, price)
    return ""


def _reason_of(state: State, strategy: Watchful, view: View, price: Budget) -> Reason:
    """Why a strategy that has work has it: without the pause it may have none."""
    warm = replace(price, cold=False)
    return "cold" if price.cold and not _has_work(state, strategy, strategy.due, view, warm) else "strategy"


def pressure(state: State, max_tokens: int | None = None) -> Pressure:
    """How full the window is, with what, and whether the next request would reduce; nothing is done (E9)."""
    budget, view = state.limits(max_tokens), state.view()
    now = _price_now(state, budget)
    watched = any(
        is_watchful(one) and _has_work(state, one, one.due, view, now) for one in state.terms.strategies
    )
    return replace(pressure_of(view, budget), due=watched or is_due(state, view, budget))


def compact(
    state: State, *, force: bool = False, dry_run: bool = False, focus: str | None = None
) -> Generator[Ask, Answer, Outcome]:
    """Reduce because somebody said so, if the view is above its target; `force` reduces in any case.

    What belongs to the `focus` stays as it is, within its share of what can be kept.
    """
    if focus is not None and not (isinstance(focus, str) and focus.strip()):
        raise BadInput("focus is a text that names what matters, such as 'the parser bug'.")
    view, limits = state.view(), state.limits()
    if focus:
        aim = limits.goal if view.tokens > limits.goal else view.tokens // 2
        kept = belonging(view, focus, int(SHARE * max(0, aim - view.held)))
        view = replace(view, exempt=view.exempt | kept)
    return (yield from reduce(state, view, limits, trigger="manual", force=force, dry_run=dry_run))


def settle(state: State) -> Generator[Ask, Answer, Outcome | None]:
    """Background work after a turn: reduce if the trigger is reached, else let patient strategies do theirs."""
    if state.log.head is None:
        return None
    view, limits = state.view(), state.limits()
    if is_due(state, view, limits):
        return (yield from reduce(state, view, limits))
    outcome = None
    for strategy in state.terms.strategies:
        if isinstance(strategy, Patient) and _has_work(state, strategy, strategy.settles, view, limits):
            outcome = yield from reduce(
                state, view, limits, strategies=[_named_like(strategy, strategy.settling)], force=True
            )
            view, limits = state.view(), state.limits()
    return outcome
