"""Splitting a view into an old part and a tail: by tokens, by a share, in turns or in messages."""

from __future__ import annotations

from typing import Literal

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.errors import BadSetting
from fanfold.core.view import Row, Span, View

At = Literal["block", "turn"]
_TAIL = 0.75
"""The share of the target that is left to the tail; the rest is for the summary."""


class Split(msgspec.Struct, frozen=True):
    """How much of the newest stays: at most one of the three is given; else the target decides."""

    keep: float | None = None
    """A share of what the view costs when at most 1, tokens above."""
    turns: int | None = None
    messages: int | None = None
    at: At = "block"
    """Where the old part may end: before any block, or before a person's message where there is one."""

    def __post_init__(self) -> None:
        given = [value for value in (self.keep, self.turns, self.messages) if value is not None]
        if len(given) > 1 or any(value < 0 for value in given):
            raise BadSetting("Say what is kept in one way: as a share or tokens, in turns, or in messages.")

    def old(self, view: View, budget: Budget) -> Span:
        """The blocks on offer that stand before the tail."""
        if self.turns is not None:
            return before(view, _start_of_turns(view, self.turns))
        if self.messages is not None:
            return before(view, len(view.rows) - self.messages)
        old = view.oldest(leaving=self._leaving(view, budget))
        return _whole_turns(view, old) if self.at == "turn" else old

    def _leaving(self, view: View, budget: Budget) -> int:
        if self.keep is None:
            return int(budget.goal * _TAIL)
        return int(view.tokens * self.keep) if self.keep <= 1 else int(self.keep)


def before(view: View, index: int) -> Span:
    """The blocks on offer that end before a row's index."""
    place = {row.id: i for i, row in enumerate(view.rows)}
    rows = [row for block in view.offered if place[block.rows[-1].id] < index for row in block.rows]
    return Span(tuple(rows))


def spared(span: Span, row: Row | None) -> Span:
    """The span without one row."""
    return Span(tuple(one for one in span.rows if row is None or one.id != row.id))


def _start_of_turns(view: View, turns: int) -> int:
    kept = view.turns[-turns:] if turns else ()
    return len(view.rows) - sum(len(turn.rows) for turn in kept)


def _whole_turns(view: View, old: Span) -> Span:
    """The old part up to the next person's message at or behind its end; as it is, where there is none (D4)."""
    if not old.rows:
        return old
    place = {row.id: i for i, row in enumerate(view.rows)}
    end = place[old.rows[-1].id] + 1
    starts = [i for i, row in enumerate(view.rows) if row.is_request and i >= end]
    return before(view, starts[0]) if starts else old
