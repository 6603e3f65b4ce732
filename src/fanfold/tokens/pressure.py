"""Pressure: how full the window is, and with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.view import Row, View, Weight


class Pressure(msgspec.Struct, frozen=True):
    """How full the window is, and with what."""

    tokens: int
    """The next request in the tokens that the window is measured in: as counted, corrected by bills."""
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


class Shares(NamedTuple):
    """What frame and rows hold, by what they are."""

    frame: int
    pinned: int
    brought_back: int
    notes: int
    fresh: int


def shares_of(view: View, measure: Callable[[Weight], float]) -> Shares:
    """What holds the room of a view, by any measure; no row counts twice."""
    pinned = {row.id: share for row in view.rows if (share := view.pinned_share(row))}
    exempt, fresh = view.exempt, view.fresh
    # Most rows hold nothing of it: they are looked at once.
    special = [row for row in view.rows if row.kind == "note" or row.id in exempt or row.id in fresh]

    def held(test: Callable[[Row], bool]) -> int:
        loose = ((row, 1 - pinned.get(row.id, 0)) for row in special if test(row))
        return round(sum(measure(row.weight) * share for row, share in loose))

    return Shares(
        frame=round(measure(view.frame.weight)) if view.frame.tokens else 0,  # an empty one has brackets
        pinned=round(sum(measure(row.weight) * pinned[row.id] for row in view.rows if row.id in pinned)),
        brought_back=held(lambda row: row.id in exempt),
        notes=held(lambda row: row.kind == "note"),
        fresh=held(lambda row: row.id in fresh and row.id not in exempt and row.kind != "note"),
    )


def pressure_of(view: View, budget: Budget, context: int = 0) -> Pressure:
    """The pressure of a view on a budget."""
    factor = budget.factor(view.tokens)
    shares = shares_of(view, lambda weight: weight.tokens * factor)
    tokens = budget.billed(view.tokens + context)
    return Pressure(
        tokens=tokens,
        room=budget.limit,
        trigger=budget.billed(budget.ceiling),
        target=budget.billed(budget.goal),
        reserve=budget.reply,
        size=view.size,
        max_bytes=budget.max_bytes,
        frame=shares.frame,
        pinned=shares.pinned,
        brought_back=shares.brought_back,
        fresh=shares.fresh,
        notes=shares.notes,
        rest=max(0, tokens - sum(shares)),
    )
