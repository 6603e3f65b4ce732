"""What each block of the requests has cost: an output that is read again in every request adds up."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from fanfold.replay.score import READ, WRITE
from fanfold.replay.shown import Shown
from fanfold.text.cutting import short

PLACEHOLDER = 60
"""Tokens of the line that stands for an elided output, as in `chat.ledger()`."""
_LABEL = 110
"""Characters by which a block is recognised."""


class Expense(msgspec.Struct, frozen=True):
    """What one block has cost."""

    label: str
    tokens: int
    """Of the block itself."""
    requests: int
    """So many requests carried it."""
    cost: float
    """In token equivalents, as the whole replay."""
    spare: float
    """What eliding it after the first request would have saved of that, as far as that can be said."""


class Spending:
    """Shares each request out among its blocks: what the cache held is the beginning of the prompt."""

    def __init__(self) -> None:
        self._blocks: dict[bytes, tuple[str, int]] = {}
        self._costs: defaultdict[bytes, list[float]] = defaultdict(list)

    def take(self, shown: Shown, cached: int) -> None:
        """Count one request, of which so many tokens were cached."""
        left = cached
        for key, tokens, text in zip(shown.keys, shown.tokens, shown.texts, strict=True):
            read = min(left, tokens)
            left -= read
            self._blocks.setdefault(key, (short(text, _LABEL), tokens))
            self._costs[key].append(READ * read + WRITE * (tokens - read))

    @property
    def total(self) -> float:
        """What all blocks have cost."""
        return sum(map(sum, self._costs.values()))

    def dearest(self, most: int) -> tuple[Expense, ...]:
        """The most expensive blocks, the first of all first."""
        order = sorted(self._costs, key=lambda key: -sum(self._costs[key]))[:most]
        return tuple(map(self._spent, order))

    def _spent(self, key: bytes) -> Expense:
        (label, tokens), costs = self._blocks[key], self._costs[key]
        saved = max(0.0, 1 - PLACEHOLDER / tokens) if tokens else 0.0
        return Expense(
            label=label, tokens=tokens, requests=len(costs), cost=sum(costs), spare=sum(costs[1:]) * saved
        )
