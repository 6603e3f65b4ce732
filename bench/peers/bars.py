"""The bars that fanfold's own policies are held to, beside the yardstick: which of them hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.peers.table import share, yardstick
from fanfold.replay import Played, Score, totals

SMALL = 32_000
"""Windows up to this one have a bar of their own for cost and recall."""
ENOUGH = 97.0
"""Per cent of fresh recall that are enough, whatever the yardstick has."""


class Bar(NamedTuple):
    """A figure, and what it has to be."""

    what: str
    figure: float
    bar: float
    least: bool = False
    """Whether the bar is the least rather than the most."""

    @property
    def holds(self) -> bool:
        """Whether the figure is on the right side of the bar."""
        return self.figure >= self.bar if self.least else self.figure <= self.bar

    def __str__(self) -> str:
        sign = "≥" if self.least else "≤"
        return (
            f"{'holds' if self.holds else 'MISSED':7} {self.what}: {self.figure:,.4g} {sign} {self.bar:,.4g}"
        )


def told(played: Sequence[Played], own: str, window: int) -> Iterator[str]:
    """For each of fanfold's policies a line with how many bars hold, and one for each bar."""
    tight, every = totals(played, tight=True), totals(played)
    best = tight[yardstick(tight, own)]
    for name in (name for name in tight if name.startswith(own)):
        found = [*against(tight[name], best, window), *alone(tight[name], every[name])]
        yield f"{name}: {sum(bar.holds for bar in found)} of {len(found)} bars hold at {window:,} tokens"
        yield from (f"  {bar}" for bar in found)


def against(mine: Score, its: Score, window: int) -> list[Bar]:
    """What depends on the yardstick, on the calls where a policy matters."""
    most, more = (0.75, 25) if window <= SMALL else (1.0, 10)
    fresh = min(100 * its.fresh.in_view + more, ENOUGH)
    return [
        Bar("cost / yardstick's", mine.cost / (its.cost or 1.0), most),
        Bar("fresh recall in view, %", 100 * mine.fresh.in_view, fresh, least=True),
        Bar("loose recall in view, %", 100 * mine.loose.in_view, 100 * its.loose.in_view, least=True),
    ]


def alone(mine: Score, every: Score) -> list[Bar]:
    """What holds whatever the others do; no request at all may be too long or broken."""
    return [
        Bar("fresh recall in view or one call away, %", 100 * mine.fresh.in_reach, 99.0, least=True),
        Bar("first request in view, %", share(mine.begun_kept, mine.begun), 100.0, least=True),
        Bar("requests over the window", every.over, 0),
        Bar("rules of the provider broken", every.faults, 0),
        Bar("re-sent because of edits, % of tokens", 100 * mine.resent / (mine.prompt or 1), 10.0),
        Bar("outputs whole on arrival, %", share(mine.whole, mine.outputs), 99.0, least=True),
        Bar("users' rules in view, %", share(mine.rules_kept, mine.rules_stated), 100.0, least=True),
    ]
