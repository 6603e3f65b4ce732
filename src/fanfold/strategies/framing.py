"""What of a view no reduction is about: the frame, and the client's instructions beside it."""

from __future__ import annotations

from msgspec.structs import replace

from fanfold.core.budget import Budget
from fanfold.core.view import View

_CROWDED = (0.55, 0.75)
"""Shares of the room between which a frame leaves little."""


def framing(view: View) -> int:
    """Tokens of the frame, and of what clients say beside it before the model first speaks."""
    # Every request asks several times, and always for the same rows.
    known: tuple[object, int] = view.memory.get("framing", (None, 0))
    if known[0] is not view.rows:
        said = sum([row.tokens for row in view.rows if row.instructs])
        known = view.memory["framing"] = view.rows, said
    return view.frame.tokens + known[1]


def beside_frame_of(view: View, budget: Budget) -> Budget:
    """The budget for a view beside its own frame. A short view cannot have one that takes most of the room."""
    return beside(budget, framing(view)) if view.tokens > _CROWDED[0] * budget.room else budget


def is_crowded(budget: Budget, frame: int) -> bool:
    """Whether a frame of so many tokens leaves little of the room, and yet enough to work in."""
    return _CROWDED[0] * budget.room < frame < _CROWDED[1] * budget.room


def beside(budget: Budget, frame: int) -> Budget:
    """The budget for a view with a frame of so many tokens.

    Where the frame takes most of the room, thresholds are shares of what it leaves. Else all that is said would have to
    fit below a trigger that is near.
    """
    if budget.trigger >= 1 or budget.target >= 1 or not is_crowded(budget, frame):
        return budget
    start, end = (frame + share * (budget.room - frame) for share in (budget.trigger, budget.target))
    return replace(budget, trigger=budget.billed(start), target=budget.billed(end))
