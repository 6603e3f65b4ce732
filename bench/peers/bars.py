"""The bars that fanfold's own policies are held to, beside the yardstick: which of them hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.peers.table import share, yardstick
from fanfold.replay import KINDS, Played, Score, totals


class Least(NamedTuple):
    """What a window up to a size is held to, in per cent but for the cost."""

    trail: float
    kind: float
    """Every kind of the trail."""
    cost: float
    """At most so many times the yardstick's."""
    fresh: float
    reach: float
    newest: float


HELD_TO = {
    16_000: Least(trail=88, kind=0, cost=1.0, fresh=86, reach=98, newest=85),
    32_000: Least(trail=92, kind=75, cost=1.0, fresh=92, reach=99, newest=94),
}
WIDE = Least(trail=95, kind=0, cost=0.95, fresh=94, reach=99, newest=98)
"""Windows above those."""


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
    best = yardstick(tight, own)
    for name in (name for name in tight if name.startswith(own)):
        found = list(bars(tight[name], every[name], tight[best] if best else None, window))
        yield f"{name}: {sum(bar.holds for bar in found)} of {len(found)} bars hold at {window:,} tokens"
        yield from (f"  {bar}" for bar in found)


def bars(mine: Score, every: Score, its: Score | None, window: int) -> Iterator[Bar]:
    """The bars on the calls where a policy matters; no request at all may be too long, broken or false."""
    least = next((held for most, held in HELD_TO.items() if window <= most), WIDE)
    kinds = [100 * kept for kind in KINDS if (kept := mine.trail.share(kind)) is not None]
    yield Bar("trail, mean of kinds, %", 100 * (mine.trail.mean or 0), least.trail, least=True)
    yield Bar("trail, the kind that is kept least, %", min(kinds, default=0), least.kind, least=True)
    if its is not None:
        yield Bar("cost / yardstick's", mine.cost / (its.cost or 1.0), least.cost)
    yield Bar("needed names in view, %", 100 * mine.fresh.in_view, least.fresh, least=True)
    if its is not None:
        yield Bar("code words in view, %", 100 * mine.loose.in_view, 100 * its.loose.in_view, least=True)
    yield Bar("in view or one call away, %", 100 * mine.fresh.in_reach, least.reach, least=True)
    yield Bar("last five results whole, %", share(mine.newest_whole, mine.newest), least.newest, least=True)
    yield Bar("first request kept, %", share(mine.begun_kept, mine.begun), 100.0, least=True)
    yield Bar("users' rules in view, %", share(mine.rules_kept, mine.rules_stated), 100.0, least=True)
    yield Bar("outputs shown whole on arrival, %", share(mine.whole, mine.outputs), 99.0, least=True)
    yield Bar("re-sent because of edits, % of tokens", 100 * mine.resent / (mine.prompt or 1), 5.0)
    yield Bar("requests over the window", every.over, 0)
    yield Bar("rules of the provider broken", every.faults, 0)
    yield Bar("false statements of outcome", every.false, 0)
