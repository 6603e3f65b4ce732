"""Who tells a summary: the user by default; here the assistant, after a word of reasoning (systems.md E12)."""

from __future__ import annotations

from typing import Any

from fanfold.core.budget import Budget
from fanfold.core.edit import Fold
from fanfold.core.message import Message, Text, Thinking
from fanfold.core.plan import Plan, Strategy, name_of, steps_of
from fanfold.core.view import View

REASONING = (
    "Condensing conversation context. "
    "The summary below captures the key information from the prior conversation."
)


def told_by_assistant(strategy: Strategy, reasoning: str = REASONING) -> Strategy:
    """The same strategy, but the assistant tells its summaries, with reasoning where the provider takes some.

    Where nothing would stand before it, the user tells the summary: a conversation does not begin with a reply.
    """

    def telling(view: View, budget: Budget) -> Plan:
        plan = steps_of(strategy(view, budget))
        got: Any = None
        while True:
            try:
                step = plan.send(got)
            except StopIteration:
                return
            got = yield _told(step, view, reasoning) if isinstance(step, Fold) else step
            view = got if isinstance(got, View) else view

    telling.__name__ = name_of(strategy)
    return telling


def _told(fold: Fold, view: View, reasoning: str) -> Fold:
    first = next((row for row in view.rows if row.kind != "note"), None)
    if not isinstance(fold.shows, str) or first is None or first.id in fold.covers:
        return fold
    return Fold(
        fold.covers, (Message("assistant", (Thinking(reasoning), Text(fold.shows))),), fold.ref, fold.sources
    )
