"""What a run sent, what the provider's prompt cache had of it, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fanfold import models

LEAST_CACHED = 1_024
"""OpenAI caches no shorter prefix."""


class Account(msgspec.Struct):
    """The requests of one run so far."""

    name: str
    model: str
    requests: int = 0
    sent: int = 0
    cached: int = 0
    largest: int = 0
    failed: int | None = None
    """The step at which the provider would have refused."""
    _last: Sequence[Any] = ()

    def take(self, blocks: Sequence[Any], tokens: Sequence[int]) -> None:
        """Count a request: its blocks as they are compared by the cache, and the tokens of each."""
        total = sum(tokens)
        same = next(
            (i for i, (one, other) in enumerate(zip(self._last, blocks, strict=False)) if one != other),
            min(len(self._last), len(blocks)),
        )
        known = sum(tokens[:same])
        self.requests += 1
        self.sent += total
        self.cached += known if known >= LEAST_CACHED else 0
        self.largest = max(self.largest, total)
        self._last = blocks

    @property
    def share(self) -> float:
        """The part of all tokens that the cache had."""
        return self.cached / self.sent if self.sent else 0.0

    @property
    def cost(self) -> float:
        """Dollars for the prompts, by the model table."""
        prices = models.find(self.model).prices
        if prices is None:
            return 0.0
        read = prices.input if prices.cache_read is None else prices.cache_read
        return ((self.sent - self.cached) * prices.input + self.cached * read) / 1e6
