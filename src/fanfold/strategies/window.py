"""Sliding window: the newest stays, the oldest leaves behind a marker (systems.md B3)."""

from __future__ import annotations

from fanfold.budget import Budget
from fanfold.plan import Plan, Strategy
from fanfold.strategies.first import dropped, first_request
from fanfold.view import View


def window(*, keep_first: bool = True) -> Strategy:
    """Drop the oldest blocks down to the target.

    The cut is recorded and stands until the window is full again, so that the prompt cache keeps hitting.
    The user's first request stays while it takes no more than a tenth of the room; a longer one is quoted.
    """

    def window(view: View, budget: Budget) -> Plan:
        first = first_request(view, budget) if keep_first else None
        edit = dropped(view, budget, [first] if first else [])
        if edit is not None:
            yield edit

    return window
