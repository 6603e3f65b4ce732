"""Drop the oldest, keep the newest: a sliding window with a marker in the place of what left (systems.md B3)."""

from __future__ import annotations

from fanfold.core.budget import Budget
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import View
from fanfold.strategies.handover.first import dropping, first_request
from fanfold.strategies.handover.seal import unsealed


def drop_oldest(*, keep_first: bool = True, keep_summaries: bool = False) -> Strategy:
    """Drop the oldest blocks down to the target, the marker in their place counted.

    The cut is recorded and stands until the window is full again, so that the prompt cache keeps hitting.
    The user's first request stays while it takes no more than a tenth of the room; a longer one is quoted. Without
    `keep_first` it is dropped like everything else. With `keep_summaries` a summary that stands is not dropped.
    """

    def drop_oldest(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget) if keep_first else None
        summaries = [row for row in view.rows if keep_summaries and unsealed(row) is not None]
        yield from dropping(view, budget, but=[*summaries, *([first] if first else [])], quoting=keep_first)

    return drop_oldest
