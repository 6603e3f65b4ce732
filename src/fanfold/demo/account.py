"""What a run sent, what the provider's prompt cache had of it, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fanfold.core.record import TokenUsage
from fanfold.tokens import models
from fanfold.tokens.usage import cost

LEAST_CACHED = 1_024
"""OpenAI caches no shorter prefix."""


class RunAccount(msgspec.Struct):
    """The requests of one run so far."""

    name: str
    model: str
    requests: int = 0
    sent: int = 0
    cached: int = 0
    largest: int = 0
    cost: float = 0.0
    """Dollars for the prompts, by the model table."""
    failed: int | None = None
    """The step at which the provider would have refused."""
    forgot: int | None = None
    """The step at which the first request, with the task in it, was no longer sent."""
    last: Sequence[Any] = ()
    """The blocks of the last request."""

    def take(self, blocks: Sequence[Any], tokens: Sequence[int]) -> None:
        """Count a request: its blocks as they are compared by the cache, and the tokens of each."""
        total = sum(tokens)
        same = next(
            (i for i, (one, other) in enumerate(zip(self.last, blocks, strict=False)) if one != other),
            min(len(self.last), len(blocks)),
        )
        known = sum(tokens[:same])
        self.requests += 1
        self.sent += total
        cached = known if known >= LEAST_CACHED else 0
        self.cached += cached
        self.cost += cost(TokenUsage(input=total - cached, cache_read=cached), models.find(self.model))
        self.largest = max(self.largest, total)
        self.last = blocks

    @property
    def share(self) -> float:
        """The part of all tokens that the cache had."""
        return self.cached / self.sent if self.sent else 0.0

    @property
    def end(self) -> str:
        """How the run ended, in words."""
        if self.failed:
            return f"fails at step {self.failed}"
        return f"task lost at step {self.forgot}" if self.forgot else "yes"

    def figures(self) -> dict[str, Any]:
        """What there is to tell about the run."""
        plain = msgspec.structs.asdict(self) | {"share": self.share}
        return {name: value for name, value in plain.items() if name != "last"}
