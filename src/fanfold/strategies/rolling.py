"""Rolling: the oldest turns flow into a running summary, a few at a time (systems.md B4)."""

from __future__ import annotations

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import Fold
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Plan, ask
from fanfold.core.view import Span, View
from fanfold.strategies.handover.auditing import audited
from fanfold.strategies.handover.seal import sealed
from fanfold.strategies.prompting import prompt, read_summary
from fanfold.strategies.splitting import Split


def rolling(
    *, threshold: int = 10, turns: int = 5, model: str | None = None, custom: str | None = None
) -> Rolling:
    """When there are more than `threshold` turns, a light model takes the oldest ones into the running summary.

    Works in the background, in `settle` after a turn; and when the window is full.
    """
    if threshold < 1 or turns < 1:
        raise BadSetting("rolling takes at least one turn at a time, and leaves at least one.")
    return Rolling(threshold, turns, model, custom)


class Rolling(msgspec.Struct, frozen=True):
    """The strategy that `rolling` makes."""

    threshold: int
    turns: int
    model: str | None = None
    custom: str | None = None

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "rolling"

    @property
    def asks(self) -> bool:
        """Without a model to ask it does nothing."""
        return True

    def __call__(self, view: View, budget: Budget) -> Plan:
        """Fold the oldest turns; where there are few and the window is full, the oldest blocks."""
        old = oldest_turns(view, self.turns) if self.settles(view, budget) else Span()
        if not old.rows and budget.presses(view.tokens):
            old = Split().old(view, budget)
        if len(old.rows) < 2:
            return
        answer = yield from ask(old.messages, self.custom or prompt("buffer"), model=self.model)
        yield Fold(old.covers, sealed(audited(read_summary(answer), old, view, budget), old, view))

    def settles(self, view: View, budget: Budget) -> bool:
        """Whether there are more turns than there should be."""
        return sum(row.is_request for row in view.rows) > self.threshold

    @property
    def settling(self) -> Rolling:
        """The same: a few turns at a time."""
        return self


def oldest_turns(view: View, number: int) -> Span:
    """The rows on offer of the oldest turns, with the running summary before them; the last turn stays whole."""
    offered = {row.id for block in view.offered for row in block.rows}
    spoken = [turn for turn in view.turns if any(row.is_request for row in turn.rows)][:-1][:number]
    head = [turn for turn in view.turns[:1] if turn not in spoken]
    return Span(tuple(row for turn in (*head, *spoken) for row in turn.rows if row.id in offered))
