"""Warnings, by the standard library's logger `fanfold`: what went wrong without stopping anything.

No handler is installed, and no contents are logged: names of sessions, strategies, passes, tools and errors only.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from fanfold.events import PassFailed, Trigger
from fanfold.plan import Outcome
from fanfold.talk.state import State

LOGGER = logging.getLogger("fanfold")


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


def warn_of_pass(state: State, event: PassFailed) -> None:
    """Say which pass failed, and at what."""
    LOGGER.warning(
        "session %r: the pass %s failed at output %s of %s (%s); it is shown without that pass.",
        state.terms.name,
        event.name,
        event.ref,
        event.tool or "a tool",
        event.error.partition(":")[0],
    )


def warn_of_question(state: State, strategy: str, error: Exception) -> None:
    """Say which strategy could not say whether it has something to do, once in a session."""
    if strategy not in state.warned:
        state.warned.add(strategy)
        LOGGER.warning(
            "session %r: %s could not say whether it has something to do (%s), so it is left alone until the window is "
            "full.",
            state.terms.name,
            strategy,
            type(error).__name__,
        )
