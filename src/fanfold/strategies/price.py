"""Price: what a reduction costs beside what it brings."""

from __future__ import annotations

from fanfold.core.budget import Budget
from fanfold.core.view import View
from fanfold.strategies.handover.first import first_request

REWRITE = 11.5
"""What it costs to write a token to the prompt cache anew, in tokens that are read from it: (1.25 - 0.1) / 0.1."""
_WORTH, _SHARE = 10, 2
"""A reduction that misses its target is worth it if it takes a tenth of the trigger, and half of what is free below."""


def pays(rent: float, anew: float, rewrite: float) -> bool:
    """Whether to buy the skis: what was read so far has cost as much as writing anew what an edit moves."""
    return rent >= rewrite * anew


def helps(view: View, budget: Budget) -> bool:
    """Whether a reduction can reach its target, or at least take so much that the next one is not due at once."""
    stays = view.fixed
    if stays <= budget.goal:
        return True
    least = max(budget.ceiling // _WORTH, (budget.ceiling - stays) // _SHARE)
    return stays <= budget.room and _new(view, budget) >= least


def _new(view: View, budget: Budget) -> int:
    """Tokens on offer that no reduction has taken yet, but for the first request, which stays, and the last block."""
    first = first_request(view, budget)
    blocks = [block for block in view.offered if block is not view.blocks[-1]]
    rows = (row for block in blocks for row in block.rows if row is not first and row.kind != "fold")
    return sum(row.tokens for row in rows)
