"""What a provider's prompt cache has of a request: the beginning that it shares with the one before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanfold.core.record import TokenUsage
from fanfold.replay.shown import Shown
from fanfold.tokens import models
from fanfold.tokens.usage import cost

LEAST_CACHED = 1_024
"""Providers cache no shorter prefix, unless the model's table says otherwise."""
SHORT = 5 * 60
"""What is to be kept for more seconds than these is written at the price of an hour, where there is one."""


class Cache(msgspec.Struct, frozen=True):
    """What a provider keeps of a prompt, and for how long."""

    least: int = LEAST_CACHED
    ttl: float | None = None
    """After so many seconds in which no request used it, it is forgotten; None: never."""

    def holds(self, tokens: int, since: float | None) -> int:
        """How much of a shared beginning is still cached, so many seconds after it was last used."""
        return tokens if tokens >= self.least and not self.expired(since) else 0

    def expired(self, since: float | None) -> bool:
        """Whether the cache has expired. If no times were recorded, it has not."""
        return self.ttl is not None and since is not None and since >= self.ttl

    def dollars(self, total: int, cached: int, asking: int, model: str | None) -> float | None:
        """The price of a request, and of the questions that were asked for it, if the table has prices."""
        known = models.lookup(model) if model else None
        if known is None or known.prices is None:
            return None
        return cost(self._usage(total, cached), known) + cost(TokenUsage(input=asking), known)

    def _usage(self, total: int, cached: int) -> TokenUsage:
        """A request as it is billed: what is too short to be cached is not written either."""
        if total < self.least:
            return TokenUsage(input=total)
        long = self.ttl is not None and self.ttl > SHORT
        written = total - cached
        return TokenUsage(cache_read=cached, cache_write=written, cache_write_1h=written if long else 0)


def cache_of(model: str | None, ttl: float | None) -> Cache:
    """The cache of this model's provider."""
    known = models.lookup(model) if model else None
    return Cache(known.min_cacheable if known and known.min_cacheable else LEAST_CACHED, ttl)


def overlap(shown: Shown, last: Shown | None) -> tuple[int, int]:
    """Tokens of the beginning that two requests share, and of the later messages that were sent before, too."""
    if last is None:
        return 0, 0
    same = _same(last.keys, shown.keys)
    known = set(last.keys[same:])
    again = sum(t for key, t in zip(shown.keys[same:], shown.tokens[same:], strict=True) if key in known)
    return sum(shown.tokens[:same]), again


def _same(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
