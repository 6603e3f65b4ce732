"""Filling: where nothing follows a request, as much of the newest stays as there is room for."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.core.budget import Budget
from fanfold.core.edit import ASKED, Edit
from fanfold.core.message import Call
from fanfold.core.view import Block, Row, Span, View
from fanfold.strategies.pieces import pieces, shortened

_NEARLY_ALL = 0.8
_FILLED = 32
"""Free is no more than this part of the goal, if there is enough to fill it with."""
_GAP = 10
"""Where more than this part is free after all, the next block is too long, and is clipped."""
_AROUND = 32
"""Tokens that a summary may take beside its text: for its mark, and as a message."""


def fills(budget: Budget) -> bool:
    """Whether nearly all of the room is to be filled: so it is for `fit`, which is asked once."""
    return budget.goal > _NEARLY_ALL * budget.room


def fewest(old: Span, text: str, view: View, goal: int, but: Sequence[Row]) -> Span:
    """The fewest of these rows that have to go where this text stands in their place, so that the goal is left."""
    free = left_free(old, text, view, goal)
    if free <= goal // _FILLED:
        return old
    return view.oldest(leaving=view.tokens - old.tokens + free, but=but)


def clip_newest(old: Span, text: str, view: View, goal: int, *, refs: bool) -> tuple[Edit, Span] | None:
    """What shortens the newest block of these rows so that it may stay, and the rows that go then.

    None where little is free, or where no part of that block is so long that clipping it would be enough.
    """
    free = left_free(old, text, view, goal)
    block = newest_block(old, view)
    if free <= goal // _GAP or len(old.rows) < len(block.rows) + 2:
        return None
    own = [piece for piece in pieces(view) if piece.row in block.rows and piece.row.kind == "entry"]
    longest = max(own, key=lambda piece: piece.tokens, default=None)
    excess = block.tokens - free
    if longest is None or isinstance(longest.part, Call) or longest.tokens < excess + goal // _FILLED:
        return None
    return shortened(longest, excess, f"; {ASKED}" if refs else ""), Span(old.rows[: -len(block.rows)])


def newest_block(old: Span, view: View) -> Block:
    """The block on offer with which these rows end."""
    return next(block for block in reversed(view.offered) if block.rows[-1] is old.rows[-1])


def left_free(old: Span, text: str, view: View, goal: int) -> int:
    """About what is free of the goal with this text in the place of these rows."""
    return goal - (view.tokens - old.tokens + view.count(text) + _AROUND)
