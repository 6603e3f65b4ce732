"""Each policy as a point: cheap is left, much recall is up. The frontier joins those that none beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import floor
from typing import NamedTuple

from fanfold.replay.page.plot import LEFT, RIGHT, Axis, Plot, short
from fanfold.replay.score import Score

LETTER = 7.6
"""About so wide is a letter of a label."""
HIGH = 17
"""And so high."""


def frontier(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    """The picture."""
    if not scores:
        return ""
    if not any(score.fresh.needed for score in scores.values()):
        return "<p class=remark>No call needed a name that the model had not just used, so no policy can lose one.</p>"
    dearest = max(score.cost for score in scores.values()) or 1.0
    lowest = min(score.fresh.in_view for score in scores.values())
    plot = Plot((0.0, dearest * 1.08), (max(0.0, floor(lowest * 10 - 0.5) / 10), 1.0))
    edge = " ".join(f"{plot.x(s.cost):.1f},{plot.y(s.fresh.in_view):.1f}" for s in unbeaten(scores).values())
    points = [_point(plot, name, score, hues[name]) for name, score in scores.items()]
    parts = [f'<polyline class=edge points="{edge}"/>', *points, *_labels(plot, scores, hues)]
    return plot.draw(
        "cost and recall of each policy",
        Axis("cost in token equivalents →", short),
        Axis("↑ needed names in view", lambda share: f"{share:.0%}"),
        parts,
    )


def unbeaten(scores: Mapping[str, Score]) -> dict[str, Score]:
    """The policies than which no other is both cheaper and better, the cheapest first."""
    found: dict[str, Score] = {}
    best = -1.0
    for name, score in sorted(scores.items(), key=lambda item: (item[1].cost, -item[1].fresh.in_view)):
        if score.fresh.in_view > best:
            found[name], best = score, score.fresh.in_view
    return found


def _point(plot: Plot, name: str, score: Score, hue: str) -> str:
    told = f"{name}: {score.cost / 1e6:.2f} M token equivalents, {score.fresh.in_view:.1%} in view"
    where = f'cx="{plot.x(score.cost):.1f}" cy="{plot.y(score.fresh.in_view):.1f}"'
    return f'<circle class="point {hue}" {where} r=7><title>{escape(told)}</title></circle>'


def _labels(plot: Plot, scores: Mapping[str, Score], hues: Mapping[str, str]) -> list[str]:
    """The names beside the points, where they cover neither a point nor each other."""
    points = {name: (plot.x(score.cost), plot.y(score.fresh.in_view)) for name, score in scores.items()}
    taken = [Box(x - 9, y - 9, 18, 18) for x, y in points.values()]
    lines = []
    for name, (x, y) in points.items():
        box = _free(plot, x, y, LETTER * len(name), taken)
        taken.append(box)
        where = f'x="{box.left:.1f}" y="{box.top + 14:.1f}"'
        lines.append(f'<text class="label {hues[name]}" {where}>{escape(name)}</text>')
    return lines


class Box(NamedTuple):
    """A place in the picture."""

    left: float
    top: float
    width: float
    height: float

    def meets(self, other: Box) -> bool:
        """Whether both cover a spot."""
        apart = (
            self.left + self.width < other.left or other.left + other.width < self.left
            or self.top + self.height < other.top or other.top + other.height < self.top
        )  # fmt: skip
        return not apart


def _free(plot: Plot, x: float, y: float, width: float, taken: Sequence[Box]) -> Box:
    """The nearest place for a name: right of its point, left, above, below, then further away."""
    for far in range(9):
        rise = far * HIGH
        tops = (y - HIGH / 2, y - HIGH / 2) if not far else (y - HIGH / 2 - rise, y - HIGH / 2 + rise)
        for left in (x + 12, x - 12 - width, x - width / 2):
            for top in tops:
                box = Box(left, top, width, HIGH)
                if _within(plot, box) and not any(map(box.meets, taken)):
                    return box
    return Box(x + 12, y - HIGH / 2, width, HIGH)


def _within(plot: Plot, box: Box) -> bool:
    return (
        box.left >= LEFT and box.left + box.width <= plot.width - RIGHT and 20 <= box.top <= plot.floor - HIGH
    )
