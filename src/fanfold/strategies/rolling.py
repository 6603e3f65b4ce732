"""Rolling: the oldest turns flow into a running summary, a few at a time (systems.md B4)."""

from __future__ import annotations

from fanfold.budget import Budget
from fanfold.edit import Fold
from fanfold.plan import Plan, Strategy, ask
from fanfold.strategies.prompting import prompt
from fanfold.strategies.seal import sealed
from fanfold.view import Span, View


def rolling(
    *, threshold: int = 10, turns: int = 5, model: str | None = None, custom: str | None = None
) -> Strategy:
    """When there are more than `threshold` turns, a light model takes the oldest ones into the running summary.

    Meant for `settle`, after a turn; it also works when the window is full.
    """

    def rolling(view: View, budget: Budget) -> Plan:
        old = oldest_turns(view, turns)
        if (len(view.turns) <= threshold and view.tokens < budget.ceiling) or not old.rows:
            return
        text = yield from ask(old.messages, custom or prompt("buffer"), model=model)
        yield Fold(old.covers, sealed(text.strip(), old.count))

    return rolling


def oldest_turns(view: View, number: int) -> Span:
    """The rows on offer of the oldest turns, with the running summary before them."""
    offered = {row.id for block in view.offered for row in block.rows}
    chosen = [turn for turn in view.turns if any(row.is_request for row in turn.rows)][:number]
    head = view.turns[:1] if view.turns and not any(row.is_request for row in view.turns[0].rows) else ()
    rows = [row for turn in (*head, *chosen) for row in turn.rows if row.id in offered]
    return Span(tuple(rows))
