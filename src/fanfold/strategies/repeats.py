"""Repeats: lines that say again what a line above them said, or what a later output still shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fanfold.core.budget import Budget
from fanfold.core.edit import Elide
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import View
from fanfold.outputs.notices import AS_LATER, MORE_ALIKE, REPEATED, REPEATS
from fanfold.strategies.elide import Seen, outputs
from fanfold.text.patterns import pattern

KEEP, ALIKE, SAME = 5, 8, 6
"""The newest outputs that stay as they are; lines in a row that are alike; lines in a row that stand elsewhere, too."""
_SHOWN = 2
"""Lines that stay of those that are alike."""
_SMALLEST = 200
"""Tokens below which an output is left as it is."""
_NUMBER = pattern(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)*")
_SIGNS = b"0123456789abcdefABCDEFx. \t\r\v\f\x1c\x1d\x1e\x1f" + bytes(range(128, 256))
"""What numbers are made of, and spaces; beyond ASCII, anything may be one of them."""


def shorten_repeats(*, keep: int = KEEP, alike: int = ALIKE, same: int = SAME) -> Strategy:
    """Leave out repeated lines of outputs, oldest first, down to the target; the newest `keep` outputs stay whole.

    `alike` lines in a row that differ in numbers only become two and "… 83 more like this"; `same` lines in a row that
    a later output shows as well become "… 40 lines as in a later output".
    """
    if keep < 0 or alike < _SHOWN + 1 or same < 2:
        raise BadSetting(
            "shorten_repeats keeps zero or more outputs; alike is 3 or more, and same 2 or more."
        )

    def shorten_repeats(view: View, budget: Budget) -> Plan:
        if view.tokens <= budget.goal:
            return
        for one, text in list(_shortened(view, keep, alike, same)):
            if view.tokens <= budget.goal:
                return
            view = yield Elide(f"{one.row.id}#{one.number}", text)

    return shorten_repeats


def _shortened(view: View, keep: int, alike: int, same: int) -> Iterator[tuple[Seen, str]]:
    """The outputs that get shorter, oldest first, each with what is left of it."""
    found = [one for one in outputs(view) if not one.is_placeholder]
    offered = {row.id for block in view.offered for row in block.rows}
    found = found[next((at for at, one in enumerate(found) if one.row.id in offered), len(found)) :]
    later = _Later(same)
    shortened: list[tuple[Seen, str]] = []
    for place in range(len(found) - 1, -1, -1):
        one = found[place]
        lines = one.part.text.split("\n")
        free = place < len(found) - keep and one.row.id in offered and one.tokens > _SMALLEST
        if free and not lines[0].startswith(REPEATS):
            left = list(_without_alike(list(_without_same(lines, later.runs_for(lines), same)), alike))
            if len(left) < len(lines):
                shortened.append((one, "\n".join([REPEATED, *left])))
        later.add(lines)
    return reversed(shortened)


class _Later:
    """The runs of lines that later outputs show; put together when an output shares enough lines with them."""

    def __init__(self, same: int) -> None:
        self.same = same
        self._lines: set[str] = set()
        self._runs: set[tuple[str, ...]] = set()
        self._new: list[Sequence[str]] = []

    def add(self, lines: Sequence[str]) -> None:
        self._lines.update(lines)
        self._new.append(lines)

    def runs_for(self, lines: Sequence[str]) -> set[tuple[str, ...]]:
        """All runs, or none where so few of these lines are known that no run is among them."""
        if sum(map(self._lines.__contains__, lines)) < self.same:
            return set()
        for new in self._new:
            self._runs.update(_runs(new, self.same))
        self._new.clear()
        return self._runs


def _runs(lines: Sequence[str], same: int) -> Iterator[tuple[str, ...]]:
    """Every run of so many lines."""
    return (tuple(lines[at : at + same]) for at in range(len(lines) - same + 1))


def _without_same(lines: Sequence[str], later: set[tuple[str, ...]], same: int) -> Iterator[str]:
    """The lines, without runs that stand in a later output."""
    if not later:
        yield from lines
        return
    gone = [False] * len(lines)
    for at, run in enumerate(_runs(lines, same)):
        if run in later:
            gone[at : at + same] = [True] * same
    for is_gone, some in groupby(zip(gone, lines, strict=True), key=lambda pair: pair[0]):
        kept = [line for _, line in some]
        yield from [AS_LATER.format(count=len(kept))] if is_gone else kept


def _without_alike(lines: Sequence[str], alike: int) -> Iterator[str]:
    """The lines, of long runs that differ in numbers only the first two."""
    if not _may_be_alike(lines, alike):
        yield from lines
        return
    for _, some in groupby(lines, key=lambda line: _NUMBER.sub("0", line.strip())):
        run = list(some)
        if len(run) < alike:
            yield from run
        else:
            yield from (*run[:_SHOWN], MORE_ALIKE.format(count=len(run) - _SHOWN))


def _may_be_alike(lines: Sequence[str], alike: int) -> bool:
    """Whether so many lines in a row are the same without numbers and spaces: quick to tell, and rarely so."""
    bare = "\n".join(lines).encode("utf-8", "replace").translate(None, _SIGNS).split(b"\n")
    return any(len(list(some)) >= alike for _, some in groupby(bare))
