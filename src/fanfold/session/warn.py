"""Warnings, by the standard library's logger `fanfold`: what went wrong without stopping anything.

No handler is installed, and no contents are logged: names of sessions, strategies, filters, tools, meters and errors,
and figures.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fanfold.config.events import Disputed, FilterFailed
from fanfold.core.plan import Outcome, Trigger, name_of
from fanfold.session.state import State

LOGGER = logging.getLogger("fanfold")
_BILL = "a bill"
"""How it is remembered that a bill was warned of."""


def warn_of_reduction(state: State, outcome: Outcome, faults: Sequence[str], trigger: Trigger) -> None:
    """Say what went wrong in a reduction; who compacts by hand sees in the outcome that nothing could be done."""
    by_hand = trigger == "manual" and outcome.status in ("noop", "refused-larger")
    if outcome.error is None or by_hand:
        return
    told = "; ".join(dict.fromkeys(faults)) or "the plan was not carried out"
    done = f" {outcome.strategy} did it instead" if outcome.status == "reduced" and outcome.strategy else ""
    LOGGER.warning(
        "session %r: %s.%s (%s, %s to %s tokens). `on_edit` is told the whole error.",
        state.terms.name,
        told,
        done,
        outcome.status,
        f"{outcome.before:,}",
        f"{outcome.after:,}",
    )


def warn_of_pass(state: State, event: FilterFailed) -> None:
    """Say which filter failed, and at what."""
    LOGGER.warning(
        "session %r: the filter %s failed at output %s of %s (%s); it is shown without that filter.",
        state.terms.name,
        event.name,
        event.ref,
        event.tool or "a tool",
        event.error.partition(":")[0],
    )


def warn_of_unread(state: State, tool: str, kinds: Sequence[str]) -> None:
    """Say which kinds of parts reach models without the caller's own filters, once for a tool in a session."""
    if _is_news(state, f"parts of the tool {tool}"):
        LOGGER.warning(
            "session %r: filters see text only, and outputs of %s have other parts (%s), which are sent as they are. "
            "If that must not be, turn them into text before they are answered.",
            state.terms.name,
            tool or "a tool",
            ", ".join(kinds),
        )


def warn_of_question(state: State, strategy: str, error: Exception) -> None:
    """Say which strategy could not say whether it has something to do, once in a session."""
    if _is_news(state, f"the strategy {strategy}"):
        LOGGER.warning(
            "session %r: %s could not say whether it has something to do (%s), so it is left alone until the window is "
            "full.",
            state.terms.name,
            strategy,
            type(error).__name__,
        )


def warn_of_silence(state: State, strategies: Sequence[str]) -> None:
    """Say which remembered strategies are not used, as there is no model to ask."""
    if strategies:
        LOGGER.warning(
            "session %r: it was opened with the strategy %s, which asks a model, and now there is none to ask: %s is "
            "used instead. Open it with ask=…, or with another strategy=….",
            state.terms.name,
            ", ".join(strategies),
            ", ".join(map(name_of, state.terms.strategies)),
        )


def warn_of_bill(state: State, event: Disputed) -> None:
    """Say that a bill is not believed, once until one is."""
    if _is_news(state, _BILL):
        LOGGER.warning(
            "session %r: the provider billed %s tokens for a request of %s by the meter %r; %s to %s can be true. The "
            "bill is not believed. If the provider is right, name its model or its meter: open(model=…, meter=…).",
            state.terms.name,
            f"{event.billed:,}",
            f"{event.counted:,}",
            state.terms.meter.name,
            f"{event.least:,}",
            f"{event.most:,}",
        )


def believe_bills(state: State) -> None:
    """A bill was believed: the next one that is not is news again."""
    state.warned.discard(_BILL)


def _is_news(state: State, what: str) -> bool:
    """Whether this was not warned of yet; from now on it was."""
    known = what in state.warned
    state.warned.add(what)
    return not known
