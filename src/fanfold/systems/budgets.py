"""When the five documented systems reduce, and how far: their thresholds as budgets."""

from __future__ import annotations

from math import ceil, floor

from msgspec.structs import replace

from fanfold.core.budget import Budget, whole_number
from fanfold.core.errors import BadBudget

NEARLY_FULL = 0.95
"""The share of what remains that a request may take (systems.md D3)."""


def check_between(name: str, value: float, *, most: int) -> None:
    """Refuse what does not lie above 0, or lies above `most`."""
    if not isinstance(value, int | float) or not 0 < value <= most:
        raise BadBudget(f"{name} is {value!r}; it must lie above 0, and not above {most}.")


def reduce_like(known: Budget, other: Budget) -> Budget:
    """The known limits with another budget's thresholds, in tokens, its buffer, and its reserve if it has one."""
    return replace(
        known,
        trigger=other.trigger if other.trigger > 1 else max(2, other.ceiling),
        target=max(2, other.goal),
        reserve=other.reserve or known.reserve,
        buffer=other.buffer,
    )


def at_percent(budget: Budget, percent: float) -> Budget:
    """The same budget, reducing at a percentage of the window (E2)."""
    check_between("percent", percent, most=100)
    trigger = max(2, ceil(budget.window * percent / 100))
    return replace(budget, trigger=trigger, target=max(2, min(budget.goal, trigger // 2)))


def codelia(limit: int, ratio: float = 0.8) -> Budget:
    """Compact at floor(limit × ratio) of the model's input limit (A11)."""
    whole_number("limit", limit)
    check_between("threshold_ratio", ratio, most=1)
    return Budget(window=limit, reserve=0, trigger=max(2, floor(limit * ratio)), target=min(0.4, ratio / 2))


def openstarry(limit: int) -> Budget:
    """Give all that system, tools and context leave to the newest history (B3)."""
    return Budget(window=limit, reserve=0, trigger=1.0, target=1.0)


def gemini_cli(limit: int = 1_048_576, threshold: float = 0.5, keep: float = 0.3) -> Budget:
    """Compress at half of the model's limit, keep the newest 30 % (D1)."""
    whole_number("limit", limit)
    check_between("threshold", threshold, most=1)
    check_between("keep", keep, most=1)
    trigger = max(2, ceil(limit * threshold))
    return Budget(window=limit, reserve=0, trigger=trigger, target=threshold * keep)


def nearly_full(remaining: int) -> Budget:
    """Compress where a request takes more than 95 % of what remains (D3)."""
    whole_number("remaining", remaining)
    trigger = max(2, floor(remaining * NEARLY_FULL) + 1)
    return Budget(window=remaining, reserve=0, trigger=trigger, target=NEARLY_FULL / 2)


def roo_code(window: int, max_tokens: int | None = None, percent: float = 75.0) -> Budget:
    """Condense at a percentage of the window, never above 0.9 of it less the reply (E1)."""
    whole_number("window", window)
    if max_tokens is not None:
        whole_number("max_tokens", max_tokens, least=0)
    check_between("percent", percent, most=100)
    reply = max_tokens or 8_192
    allowed = floor(window * 0.9) - reply
    if allowed <= 0:
        raise BadBudget(
            f"Nine tenths of {window:,} tokens less a reply of {reply:,} leave nothing. Give a smaller max_tokens."
        )
    trigger = max(2, ceil(window * percent / 100))
    target = max(2, min(allowed, trigger) // 2)
    return Budget(window=window, reserve=reply, buffer=0.1, trigger=trigger, target=target)
