"""Units: whatever a session shows is in the tokens that its window is measured in, as bills correct the meter's own."""

from __future__ import annotations

from math import floor

from msgspec.structs import replace

from fanfold.core.budget import Budget
from fanfold.core.edit import Decision
from fanfold.core.plan import Outcome
from fanfold.core.view import Row, View


def in_window(view: View, budget: Budget) -> View:
    """A view in the window's tokens. What belongs to no row is in the frame's, so that rows come to the total."""
    tokens, factor = budget.billed(view.tokens), budget.factor(view.tokens)
    if tokens == view.tokens and factor == 1:
        return view
    frame, *rows = (_row(row, factor) for row in (view.frame, *view.rows))
    overhead = tokens - frame.tokens - sum(row.tokens for row in rows)
    if frame.messages:  # else nobody is shown a line of it
        weight = replace(frame.weight, tokens=frame.tokens + overhead)
        frame, overhead = replace(frame, weight=weight), 0
    return replace(view, frame=frame, rows=tuple(rows), overhead=overhead, total=None)


def _row(row: Row, factor: float) -> Row:
    if factor == 1:
        return row
    return replace(row, weight=replace(row.weight, tokens=floor(row.tokens * factor)))


def decision_in_window(decision: Decision, budget: Budget) -> Decision:
    """A decision in the window's tokens."""
    before, after = _fewer(decision.before, decision.after, budget)
    return replace(decision, before=before, after=after) if decision.before else decision


def outcome_in_window(outcome: Outcome, budget: Budget) -> Outcome:
    """How a reduction ended, in the window's tokens."""
    before, after = _fewer(outcome.before, outcome.after, budget)
    decisions = tuple(decision_in_window(decision, budget) for decision in outcome.decisions)
    return replace(outcome, before=before, after=after, decisions=decisions)


def _fewer(before: int, after: int, budget: Budget) -> tuple[int, int]:
    """Tokens before and after an edit; where it saved some, rounding does not hide it."""
    first, then = budget.billed(before), budget.billed(after)
    return first, min(then, first - 1) if after < before else then
