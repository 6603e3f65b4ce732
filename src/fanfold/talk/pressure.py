"""Pressure: how full the window is, and with what."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fanfold.budget import Budget
from fanfold.view import Row, View


class Pressure(msgspec.Struct, frozen=True):
    """How full the window is, and with what."""

    tokens: int
    """The next request as the provider would bill it."""
    room: int
    trigger: int
    target: int
    reserve: int
    size: int
    max_bytes: int | None
    frame: int
    pinned: int
    brought_back: int
    """What a person undid, which automatic edits leave alone."""
    fresh: int
    """What the model has not seen yet."""
    rest: int
    due: bool = False
    """Whether the next request would reduce first: time for a progress indicator."""
    notes: int = 0
    """What notes say, which stands until they are undone."""

    @property
    def share(self) -> float:
        """Tokens as a share of the room."""
        return self.tokens / self.room if self.room else float("inf")

    def __str__(self) -> str:
        return (
            f"{self.tokens:,} of {self.room:,} tokens ({self.share:.0%}); "
            f"reduces at {self.trigger:,} to {self.target:,}; {self.reserve:,} are kept for the reply. "
            f"Frame {self.frame:,}, pinned {self.pinned:,}, "
            f"brought back {self.brought_back:,}, notes {self.notes:,}, not seen yet {self.fresh:,}, "
            f"the rest {self.rest:,}."
        )


def pressure_of(view: View, budget: Budget, context: int = 0) -> Pressure:
    """The pressure of a view on a budget."""
    scale = budget.measured[0]
    pinned = _tokens(view, lambda row: row.pinned, scale)
    exempt = _tokens(view, lambda row: row.id in view.exempt and not row.pinned, scale)
    notes = _tokens(view, lambda row: row.kind == "note", scale)
    unseen = view.fresh - view.exempt
    fresh = _tokens(view, lambda row: row.id in unseen and row.kind != "note" and not row.pinned, scale)
    frame = round(view.frame.tokens * scale)
    tokens = budget.billed(view.tokens + context)
    return Pressure(
        tokens=tokens,
        room=budget.limit,
        trigger=budget.billed(budget.ceiling),
        target=budget.billed(budget.goal),
        reserve=budget.reply,
        size=view.size,
        max_bytes=budget.max_bytes,
        frame=frame,
        pinned=pinned,
        brought_back=exempt,
        fresh=fresh,
        notes=notes,
        rest=max(0, tokens - frame - pinned - exempt - notes - fresh),
    )


def _tokens(view: View, test: Callable[[Row], bool], scale: float) -> int:
    """What some rows cost, as the provider would bill them."""
    return round(sum(row.tokens for row in view.rows if test(row)) * scale)
