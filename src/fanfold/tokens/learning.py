"""Learning: what the provider's bills teach about a meter."""

from __future__ import annotations

from math import ceil, floor, isfinite

from msgspec.structs import replace

from fanfold.core.budget import BOUNDS, LEAST, Learned

KEPT = 15
"""Growths that are remembered: the scale is their middle, so that a few wild bills do not move it."""

MOST = 4_000
"""A growth larger than this weighs no more."""

NEARLY = 0.05
"""The count of the model's own tokenizer may be off by a few per cent."""

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


def learn(known: Learned, counted: int, billed: int, *, reply: tuple[int, int] = (0, 0)) -> Learned:
    """What is known after one more bill; `reply` is what came back, counted and as billed."""
    learned = _with_slope(known, counted, billed)
    least = min(known.least or (counted, billed), (counted, billed))
    # Streams that were cut bill next to nothing for their reply: such a bill is not believed.
    is_true = reply[0] and reply[1] >= 0.6 * learned.slope * reply[0]
    return replace(
        learned,
        overhead=max(0.0, least[1] - learned.slope * least[0]),
        least=least,
        whole=(counted, billed),
        reply=reply if is_true else (0, 0),
        valid=True,
    )


def _with_slope(known: Learned, counted: int, billed: int) -> Learned:
    """The slope from what the request grew by, the reply set aside; after an edit, from what differs."""
    if known.exact:
        return known
    if known.whole is None:
        # Before anything grew, a bill below the count cannot be overhead, so the slope is less.
        if known.growths or counted < LEAST or billed >= known.slope * counted:
            return known
        return replace(known, slope=min(max(billed / counted, BOUNDS[0]), BOUNDS[1]))
    reply = known.reply if known.valid else (0, 0)
    more = counted - known.whole[0] - reply[0]
    cost = billed - known.whole[1] - reply[1]
    if not known.valid and abs(more) < max(MOST, counted) / 8:
        return known
    if abs(more) < LEAST or (known.valid and more < 0) or not _is_scale(cost / more):
        return known
    growths = (*known.growths, (abs(more), abs(cost)))[-KEPT:]
    return replace(known, growths=growths, slope=_middle(growths))


def steeper(known: Learned) -> Learned:
    """The same, with the last bill put down to the scale alone: an overhead so large is not likely."""
    counted, billed = known.whole or (1, 1)
    if known.exact or not _is_scale(billed / max(1, counted)):
        return known
    return replace(known, slope=billed / counted, growths=(), overhead=0.0, least=known.whole)


def sound(known: Learned, *, exact: bool) -> Learned:
    """The same for a meter that is exact, or is not; nothing, where it says what no bill can have taught.

    An earlier release believed more, and an export may say anything.
    """
    return known if known.exact == exact and _is_sound(known) else Learned(exact=exact)


def _is_sound(known: Learned) -> bool:
    """Whether bills can have taught this: an exact meter only that requests cost more than is counted."""
    pairs = [pair for pair in (*known.growths, known.whole, known.least) if pair is not None]
    counts = (*known.reply, *(count for pair in pairs for count in pair))
    if not all(0 <= count <= COUNTABLE for count in counts):
        return False
    if not isfinite(known.overhead) or known.overhead < 0 or not all(more for more, _ in known.growths):
        return False
    if known.exact:
        return known.slope == 1
    return _is_scale(known.slope) and all(_is_scale(billed / max(1, counted)) for counted, billed in pairs)


def _is_scale(ratio: float) -> bool:
    """Whether a token can cost so much; else something was not counted."""
    return BOUNDS[0] <= ratio <= BOUNDS[1]


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
