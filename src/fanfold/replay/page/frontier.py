"""Each policy as a point: cheap is left, much recall is up. The frontier joins those that none beats in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import floor
from typing import NamedTuple

from fanfold.replay.page.plot import LEFT, RIGHT, Axis, Plot, short
from fanfold.replay.report import digits
from fanfold.replay.score import Score

LETTER = 7.6
"""About so wide is a letter of a label."""
HIGH = 17
"""And so high."""


def frontier(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    """The picture."""
    if not scores:
        return ""
    measure = next((one for one in _MEASURES if any(map(one.known, scores.values()))), None)
    if measure is None:
        return f"<p class=remark>{_NO_NAMES}, so no policy can lose one.</p>"
    kept = measure.kept
    dearest = max(score.cost for score in scores.values()) or 1.0
    lowest = min(map(kept, scores.values()))
    plot = Plot((0.0, dearest * 1.08), (max(0.0, floor(lowest * 10 - 0.5) / 10), 1.0))
    edge = " ".join(f"{plot.x(s.cost):.1f},{plot.y(kept(s)):.1f}" for s in unbeaten(scores, kept).values())
    places = {name: (plot.x(score.cost), plot.y(kept(score))) for name, score in scores.items()}
    told = {
        name: f"{name}: {score.cost / 1e6:.{_digits(scores)}f} M token equivalents, {kept(score):.1%} {measure.words}"
        for name, score in scores.items()
    }
    points = [_point(*places[name], told[name], hues[name]) for name in scores]
    parts = [f'<polyline class=edge points="{edge}"/>', *points, *_labels(plot, places, hues)]
    drawn = plot.draw(
        "cost and recall of each policy",
        Axis("cost in token equivalents →", short),
        Axis(f"↑ {measure.name}", lambda share: f"{share:.0%}"),
        parts,
    )
    return f"{measure.remark}{drawn}"


class _Measure(NamedTuple):
    """How much a policy keeps, in one figure."""

    name: str
    words: str
    kept: Callable[[Score], float]
    known: Callable[[Score], bool]
    remark: str = ""


def _names(score: Score) -> float:
    return score.fresh.in_view


def _trail(score: Score) -> float:
    mean = score.trail.mean
    return 1.0 if mean is None else mean


_NO_NAMES = "No call needed a name that the model had not just used"
_MEASURES = (
    _Measure(
        name="needed names in view",
        words="in view",
        kept=_names,
        known=lambda score: bool(score.fresh.needed),
    ),
    _Measure(
        name="trail of work",
        words="of the trail",
        kept=_trail,
        known=lambda score: score.trail.mean is not None,
        remark=f"<p class=remark>{_NO_NAMES}. So this is how much each policy keeps of the trail of work.</p>",
    ),
)
"""The first that is known is drawn."""


def _digits(scores: Mapping[str, Score]) -> int:
    return digits([score.cost / 1e6 for score in scores.values()])


def unbeaten(scores: Mapping[str, Score], kept: Callable[[Score], float] = _names) -> dict[str, Score]:
    """The policies than which no other is both cheaper and better, the cheapest first."""
    found: dict[str, Score] = {}
    best = -1.0
    for name, score in sorted(scores.items(), key=lambda item: (item[1].cost, -kept(item[1]))):
        if kept(score) > best:
            found[name], best = score, kept(score)
    return found


def _point(x: float, y: float, told: str, hue: str) -> str:
    where = f'cx="{x:.1f}" cy="{y:.1f}"'
    return f'<circle class="point {hue}" {where} r=7><title>{escape(told)}</title></circle>'


def _labels(plot: Plot, points: Mapping[str, tuple[float, float]], hues: Mapping[str, str]) -> list[str]:
    """The names beside the points, where they cover neither a point nor each other."""
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
