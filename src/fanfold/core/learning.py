"""Learning: what the provider's bills teach about a meter."""

from __future__ import annotations

from math import ceil, floor, isfinite

from msgspec import Struct
from msgspec.structs import replace

KEPT = 15
"""Growths that are remembered: the scale is their middle, so that a few wild bills do not move it."""

LEAST = 50
"""Less growth than this tells nothing about the scale."""

MOST = 4_000
"""A growth larger than this weighs no more."""

BOUNDS = (0.5, 2.5)
"""An estimate may be corrected to between half of it and two and a half times as much."""

NEARLY = 0.05
"""The count of the model's own tokenizer may be off by a few per cent."""

FAR = 2.0
"""So many times the slope a whole request may cost by the token."""


COUNTABLE = 1 << 53
"""More tokens than this were never counted, and no float tells them apart."""


def believable(counted: int, guessed: int, hidden: int = 0) -> tuple[int, int]:
    """The least and the most that a provider can have billed for what was counted, of which so much is a guess.

    What is hidden is not counted at all: reasoning that only the provider can read.

    Words that the model's own tokenizer counted cost what they cost, within a few per cent. What is guessed beside them
    (system prompt and tools, the frames of messages and calls, pictures, documents, thinking) may cost nothing, as
    some of it is not billed, or up to two and a half times as much. Where all is guessed, at least half of it is true.
    """
    sure = counted - guessed
    if sure <= 0:
        return ceil(BOUNDS[0] * counted), floor(BOUNDS[1] * (counted + hidden))
    return ceil((1 - NEARLY) * sure), floor((1 + NEARLY) * sure + BOUNDS[1] * (guessed + hidden))


class Learned(Struct, frozen=True, omit_defaults=True):
    """What the bills taught: billed ≈ scale × counted + offset.

    The last bill is the baseline and only what is newer is estimated. An edit voids the baseline, never the
    scale and the overhead.
    """

    slope: float = 1.0
    """What a newly counted token costs."""
    growths: tuple[tuple[int, int], ...] = ()
    """Counted and billed growth between bills, the newest last."""
    overhead: float = 0.0
    """What every request costs beside what is counted: a client's own prompt, a tool's preamble."""
    least: tuple[int, int] | None = None
    """Counted and billed, of the smallest request of this session: it tells the overhead best."""
    whole: tuple[int, int] | None = None
    """Counted and billed, of the last request."""
    reply: tuple[int, int] = (0, 0)
    """The reply to it: as counted, and as it was billed when written."""
    valid: bool = False
    """Whether the baseline holds: nothing was edited since the last bill."""
    exact: bool = False
    """Whether the model's own tokenizer counts: its scale is 1, and a bill tells only what comes on top."""

    @property
    def last(self) -> tuple[int, int] | None:
        """The baseline: what was counted and what was billed for the last request."""
        return self.whole if self.valid else None

    @property
    def scale(self) -> float:
        """What a counted token costs: a new one while the baseline holds, else one of the last request."""
        if self.valid or self.whole is None or self.whole[0] < LEAST or self.exact:
            return self.slope
        return self._average(*self.whole)

    @property
    def offset(self) -> float:
        """What to add to scale × counted."""
        if self.whole is None:
            return self.overhead
        counted, billed = self.whole
        if not self.valid:
            return max(self.overhead, billed - self.scale * counted)
        known, written = self.reply
        offset = billed + written - self.slope * (counted + known)
        return max(0.0, offset) if self.exact else offset

    def _average(self, counted: int, billed: int) -> float:
        """The last request without its overhead; what lies far from the slope is put down to the overhead."""
        average = (billed - self.overhead) / max(1, counted)
        return _bounded(min(max(average, self.slope / FAR), self.slope * FAR))

    def billed(self, counted: int, billed: int, *, reply: tuple[int, int] = (0, 0)) -> Learned:
        """What is known after one more bill; `reply` is what came back, counted and as billed."""
        learned = self._grown(counted, billed)
        least = min(self.least or (counted, billed), (counted, billed))
        overhead = max(0.0, least[1] - learned.slope * least[0])
        return replace(
            learned,
            overhead=overhead,
            least=least,
            whole=(counted, billed),
            reply=learned._believed(reply),
            valid=True,
        )

    def _grown(self, counted: int, billed: int) -> Learned:
        """The slope from what the request grew by, the reply set aside; after an edit, from what differs."""
        if self.exact:
            return self
        if self.whole is None:
            return self._first(counted, billed)
        reply = self.reply if self.valid else (0, 0)
        more = counted - self.whole[0] - reply[0]
        cost = billed - self.whole[1] - reply[1]
        if not self.valid and abs(more) < max(MOST, counted) / 8:
            return self
        if abs(more) < LEAST or (self.valid and more < 0) or not _is_scale(cost / more):
            return self
        growths = (*self.growths, (abs(more), abs(cost)))[-KEPT:]
        return replace(self, growths=growths, slope=_middle(growths))

    def _first(self, counted: int, billed: int) -> Learned:
        """Before anything grew: a bill below the count cannot be overhead, so the slope is less."""
        if self.growths or counted < LEAST or billed >= self.slope * counted:
            return self
        return replace(self, slope=_bounded(billed / counted))

    def _believed(self, reply: tuple[int, int]) -> tuple[int, int]:
        """A reply's bill, if it can be true: streams that were cut bill next to nothing."""
        counted, billed = reply
        return reply if counted and billed >= 0.6 * self.slope * counted else (0, 0)

    def steeper(self) -> Learned:
        """The same, with the last bill put down to the scale alone: an overhead so large is not likely."""
        counted, billed = self.whole or (1, 1)
        if self.exact or not _is_scale(billed / max(1, counted)):
            return self
        return replace(self, slope=billed / counted, growths=(), overhead=0.0, least=self.whole)

    def voided(self) -> Learned:
        """The same without the baseline: an edit was made since."""
        return replace(self, valid=False) if self.valid else self

    def inherited(self) -> Learned:
        """What another session of the same model can start from."""
        return Learned(slope=self.slope, growths=self.growths, overhead=self.overhead, exact=self.exact)

    def checked(self, *, exact: bool) -> Learned:
        """The same for a meter that is exact, or is not; nothing, where it says what no bill can have taught.

        An earlier release believed more, and an export may say anything.
        """
        return self if self.exact == exact and self._is_sound() else Learned(exact=exact)

    def _is_sound(self) -> bool:
        """Whether bills can have taught this: an exact meter only that requests cost more than is counted."""
        pairs = [pair for pair in (*self.growths, self.whole, self.least) if pair is not None]
        if not all(map(_is_count, (*self.reply, *(count for pair in pairs for count in pair)))):
            return False
        if not isfinite(self.overhead) or self.overhead < 0 or not all(more for more, _ in self.growths):
            return False
        if self.exact:
            return self.slope == 1
        return _is_scale(self.slope) and all(_is_scale(billed / max(1, counted)) for counted, billed in pairs)


def _is_count(tokens: int) -> bool:
    """Whether there can be so many tokens."""
    return 0 <= tokens <= COUNTABLE


def _is_scale(ratio: float) -> bool:
    """Whether a token can cost so much; else something was not counted."""
    return BOUNDS[0] <= ratio <= BOUNDS[1]


def _bounded(ratio: float) -> float:
    return min(max(ratio, BOUNDS[0]), BOUNDS[1])


def _middle(growths: tuple[tuple[int, int], ...]) -> float:
    """The weighed median of the ratios, with 1 as a first guess that weighs as much as the heaviest."""
    weighed = [(cost / more, min(more, MOST)) for more, cost in growths]
    weighed = sorted([*weighed, (1.0, max(weight for _, weight in weighed))])
    half = sum(weight for _, weight in weighed) / 2
    for ratio, weight in weighed:
        half -= weight
        if half <= 0:
            return ratio
    return 1.0
