"""Pressure: how full the window is, and with what."""

from __future__ import annotations

import msgspec

from fanfold.budget import Budget
from fanfold.view import View


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

    @property
    def share(self) -> float:
        """Tokens as a share of the room."""
        return self.tokens / self.room if self.room else float("inf")

    def __str__(self) -> str:
        return (
            f"{self.tokens:,} of {self.room:,} tokens ({self.share:.0%}); "
            f"reduces at {self.trigger:,} to {self.target:,}; {self.reserve:,} are kept for the reply. "
            f"Frame {self.frame:,}, pinned {self.pinned:,}, "
            f"brought back {self.brought_back:,}, not seen yet {self.fresh:,}, the rest {self.rest:,}."
        )


def pressure_of(view: View, budget: Budget, context: int = 0) -> Pressure:
    """The pressure of a view on a budget."""
    pinned = sum(row.tokens for row in view.rows if row.pinned)
    exempt = sum(row.tokens for row in view.rows if row.id in view.exempt and not row.pinned)
    fresh = sum(
        row.tokens
        for row in view.rows
        if row.id in view.fresh and row.id not in view.exempt and not row.pinned
    )
    return Pressure(
        tokens=budget.billed(view.tokens + context),
        room=budget.limit,
        trigger=budget.billed(budget.ceiling),
        target=budget.billed(budget.goal),
        reserve=budget.reply,
        size=view.size,
        max_bytes=budget.max_bytes,
        frame=view.frame.tokens,
        pinned=pinned,
        brought_back=exempt,
        fresh=fresh,
        rest=view.tokens - view.frame.tokens - pinned - exempt - fresh,
    )
