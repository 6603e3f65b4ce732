"""What of the trail stands in a request, and how much of it was kept over a whole conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fanfold.core.message import Message
from fanfold.replay.shown import Shown
from fanfold.replay.trail.marks import KINDS, Mark, marks, squeeze


class Share(msgspec.Struct, frozen=True):
    """A share for each of some conversations, summed up."""

    talks: int = 0
    sum: float = 0.0

    @property
    def mean(self) -> float | None:
        """Each conversation counts once; None if none has any."""
        return self.sum / self.talks if self.talks else None

    def __add__(self, other: Share) -> Share:
        return Share(self.talks + other.talks, self.sum + other.sum)


class Trail(msgspec.Struct, frozen=True):
    """How much of each kind was kept."""

    kinds: dict[str, Share] = {}

    def __add__(self, other: Trail) -> Trail:
        none = Share()
        both = [kind for kind in KINDS if kind in self.kinds or kind in other.kinds]
        return Trail({kind: self.kinds.get(kind, none) + other.kinds.get(kind, none) for kind in both})

    def share(self, kind: str) -> float | None:
        """How much of one kind was kept; None if there was nothing to keep."""
        return self.kinds.get(kind, Share()).mean

    @property
    def mean(self) -> float | None:
        """The mean of the kinds that there were."""
        found = [mean for kind in KINDS if (mean := self.share(kind)) is not None]
        return sum(found) / len(found) if found else None


class Missed(msgspec.Struct, frozen=True):
    """A piece of the trail that was missing in some requests."""

    kind: str
    text: str
    calls: int
    """In so many."""


class _Block:
    """A block of a request, and what was looked for in it."""

    def __init__(self, text: str) -> None:
        self.text = squeeze(text)
        self.looked = 0
        """So many marks, from the first."""
        self.found: set[int] = set()


class Watch:
    """Looks for the trail of one conversation in each of its requests.

    Blocks stay the same from request to request, and are searched once for each mark.
    """

    def __init__(self, messages: Sequence[Message], found: Sequence[Mark] | None = None) -> None:
        self._marks = marks(messages) if found is None else found
        self._blocks: dict[str, _Block] = {}
        self._kept = dict.fromkeys(KINDS, 0)
        self._stated = dict.fromkeys(KINDS, 0)
        self._missed: Counter[int] = Counter()

    def look(self, shown: Shown, before: int) -> None:
        """Count what stands in the request after so many messages."""
        known = next((n for n, mark in enumerate(self._marks) if mark.number >= before), len(self._marks))
        there = set[int]().union(*(self._in(text, known) for text in shown.texts))
        for n, mark in enumerate(self._marks[:known]):
            if mark.until is not None and mark.until < before:
                continue
            self._stated[mark.kind] += 1
            self._kept[mark.kind] += n in there
            self._missed[n] += n not in there

    def squeeze(self, shown: Shown) -> Iterator[str]:
        """The blocks of a request, with one space between words."""
        return (self._block(text).text for text in shown.texts)

    def _block(self, text: str) -> _Block:
        block = self._blocks.get(text)
        if block is None:
            block = self._blocks[text] = _Block(text)
        return block

    def _in(self, text: str, known: int) -> set[int]:
        """The marks, up to this one, that stand in a text."""
        block = self._block(text)
        for n in range(block.looked, known):
            if any(needle in block.text for needle in self._marks[n].needles):
                block.found.add(n)
        block.looked = max(block.looked, known)
        return block.found

    def missed(self, most: int) -> tuple[Missed, ...]:
        """What was missing most often, at most so many of each kind."""
        found = [(self._marks[n], calls) for n, calls in self._missed.most_common() if calls]
        listed = (
            Missed(kind, mark.needles[0], calls)
            for kind in KINDS
            for mark, calls in [one for one in found if one[0].kind == kind][:most]
        )
        return tuple(listed)

    def trail(self) -> Trail:
        """How much was kept over all requests that were looked at."""
        return Trail(
            {kind: Share(1, self._kept[kind] / stated) for kind, stated in self._stated.items() if stated}
        )
