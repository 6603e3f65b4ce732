"""A picture with two axes, in SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from math import floor, log10
from typing import NamedTuple

import msgspec

LEFT, RIGHT = 64, 24

Range = tuple[float, float]


class Axis(NamedTuple):
    """What stands at an axis: its name, how its numbers are written, and about how many."""

    name: str
    written: Callable[[float], str]
    most: int = 5


class Plot(msgspec.Struct, frozen=True):
    """Where values stand in a picture."""

    across: Range
    up: Range
    width: int = 760
    height: int = 340
    top: int = 30
    bottom: int = 46

    def x(self, value: float) -> float:
        """From the left."""
        return LEFT + _part(value, self.across) * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """From the top."""
        return self.floor - _part(value, self.up) * (self.floor - self.top)

    @property
    def floor(self) -> float:
        """Where the lowest value stands."""
        return self.height - self.bottom

    def draw(self, title: str, across: Axis, up: Axis, parts: Iterable[str]) -> str:
        """The picture: a grid with numbers, the names of the axes, and what stands in it."""
        right = self.width - RIGHT
        lines = [
            f'<path class=grid d="M{LEFT} {self.y(tick):.1f}H{right}"/>'
            f'<text class=number x="{LEFT - 8}" y="{self.y(tick) + 4:.1f}" text-anchor=end>{up.written(tick)}</text>'
            for tick in ticks(self.up, up.most)
        ]
        lines += [
            f'<text class=number x="{self.x(tick):.1f}" y="{self.floor + 18:.0f}" text-anchor=middle>'
            f"{across.written(tick)}</text>"
            for tick in ticks(self.across, across.most)
        ]
        lines.append(
            f'<text class=axis x="{right}" y="{self.height - 8}" text-anchor=end>{across.name}</text>'
        )
        lines.append(f'<text class=axis x="{LEFT - 52}" y="16">{up.name}</text>')
        box = f'viewBox="0 0 {self.width} {self.height}" role=img aria-label="{escape(title)}"'
        return f"<svg {box}>{''.join(lines)}{''.join(parts)}</svg>"


def _part(value: float, of: Range) -> float:
    low, high = of
    return min(1.0, max(0.0, (value - low) / ((high - low) or 1.0)))


def ticks(of: Range, most: int) -> list[float]:
    """Round numbers within a range, at most so many steps; none if none are wanted."""
    low, high = of
    if not most:
        return []
    rough = (high - low) / most or 1.0
    size = 10.0 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    first = int(-(-low // step))
    return [n * step for n in range(first, int(high / step + 1e-9) + 1)]


def short(number: float) -> str:
    """A number with few digits: `950`, `32k`, `1.5M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
