"""The prompt cache of a provider, content-addressed on the blocks of the prompt."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from .tokens import PricedBlock

SECONDS = {"5m": 300.0, "1h": 3600.0}
LOOK_BACK = 20
"""Blocks that Anthropic looks back from each mark for a remembered prompt."""


@dataclass(frozen=True)
class Bill:
    """The prompt's tokens: all, those read from the cache, those written to it by time to live."""

    total: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    @property
    def written(self) -> int:
        """All tokens written to the cache."""
        return self.written_5m + self.written_1h

    @property
    def fresh(self) -> int:
        """Tokens neither read nor written."""
        return self.total - self.read - self.written


def chain(blocks: Sequence[PricedBlock], seed: str = "") -> list[bytes]:
    """A digest of the prompt up to and including each block."""
    links, link = [], hashlib.sha256(seed.encode()).digest()
    for item in blocks:
        link = hashlib.sha256(link + item.text.encode("utf-8", "surrogatepass")).digest()
        links.append(link)
    return links


class PromptCache:
    """Remembers prompts for a while; a read keeps what it found for its time again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[bytes, tuple[float, float]] = {}

    def has(self, link: bytes) -> bool:
        """Whether the prompt is remembered; if so, for its full time from now."""
        until, ttl = self._kept.get(link, (float("-inf"), 0.0))
        if until < self._clock():
            return False
        self._kept[link] = (self._clock() + ttl, ttl)
        return True

    def keep(self, link: bytes, ttl: float) -> None:
        """Remember the prompt for `ttl` seconds."""
        _, before = self._kept.get(link, (0.0, 0.0))
        longest = max(ttl, before if self.has(link) else 0.0)
        self._kept[link] = (self._clock() + longest, longest)


def bill_prefix(
    cache: PromptCache, blocks: Sequence[PricedBlock], seed: str, minimum: int, step: int
) -> Bill:
    """Automatic caching: the longest remembered prefix, in steps, once it has the minimum length."""
    sums, links = list(accumulate(item.tokens for item in blocks)), chain(blocks, seed)
    known = next((at for at in range(len(links) - 1, -1, -1) if cache.has(links[at])), None)
    for link in links:
        cache.keep(link, SECONDS["5m"])
    total = sums[-1] if sums else 0
    read = 0 if known is None else sums[known] // step * step
    return Bill(total, read if read >= minimum else 0)


def bill_marks(cache: PromptCache, blocks: Sequence[PricedBlock], seed: str, minimum: int) -> Bill:
    """Caching by marks: each mark finds what an earlier mark left within 20 blocks, and leaves the rest."""
    sums, links = list(accumulate(item.tokens for item in blocks)), chain(blocks, seed)
    marks = [at for at, item in enumerate(blocks) if item.mark and sums[at] >= minimum]
    read = max((_find(cache, links, sums, at) for at in marks), default=0)
    for at in marks:
        cache.keep(links[at], SECONDS.get(blocks[at].mark or "", SECONDS["5m"]))
    long = max((sums[at] for at in marks if blocks[at].mark == "1h"), default=0)
    end = max((sums[at] for at in marks), default=0)
    written_1h = max(0, long - read)
    written_5m = max(0, end - max(read, long))
    return Bill(sums[-1] if sums else 0, read, written_5m, written_1h)


def _find(cache: PromptCache, links: Sequence[bytes], sums: Sequence[int], mark: int) -> int:
    nearest = range(mark, max(-1, mark - LOOK_BACK), -1)
    return next((sums[at] for at in nearest if cache.has(links[at])), 0)
