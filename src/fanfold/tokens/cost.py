"""What a usage costs, by a model's list prices."""

from __future__ import annotations

from fanfold.core.errors import BadInput
from fanfold.core.usage import TokenUsage
from fanfold.tokens.models import Model, Prices


def cost(usage: TokenUsage, model: Model) -> float:
    """What this usage costs in dollars by the model's list prices."""
    if model.prices is None:
        raise BadInput(
            f"No prices are known for {model.name!r}: register it with prices=Prices(input=…, output=…)."
        )
    return _charge(usage, model.prices.at(usage.prompt)) / 1_000_000


def _charge(usage: TokenUsage, prices: Prices) -> float:
    read = prices.input if prices.cache_read is None else prices.cache_read
    write = prices.input if prices.cache_write_5m is None else prices.cache_write_5m
    hour = write if prices.cache_write_1h is None else prices.cache_write_1h
    short = usage.cache_write - usage.cache_write_1h
    cached = usage.cache_read * read + short * write + usage.cache_write_1h * hour
    return usage.input * prices.input + usage.output * prices.output + cached
