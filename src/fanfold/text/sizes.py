"""Sizes as people write them, in tokens or bytes (`16k`, `1M`, `64KiB`), and shares of something (`85%`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

SIZED = frozenset(("window", "max_input", "max_output", "max_body", "memory"))
"""The keys of settings that are sizes."""
_SIZE = re.compile(
    r"(\d[\d_]*(?:\.\d+)?|\d{1,3}(?:,\d{3})+)\s*(k|m|g|ki|mi|gi)?(?:b|\s*tokens)?", re.IGNORECASE | re.ASCII
)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%", re.ASCII)
_UNITS = {
    "": 1,
    "k": 1_000,
    "m": 1_000_000,
    "g": 1_000_000_000,
    "ki": 1 << 10,
    "mi": 1 << 20,
    "gi": 1 << 30,
}


def parse_size(text: str) -> int | None:
    """The number that a size stands for; None where it is no size."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    number = Decimal(re.sub("[_,]", "", found.group(1))) * _UNITS[(found.group(2) or "").lower()]
    return int(number) if number == int(number) else None


def share_of(text: str) -> float | None:
    """The part that a percentage stands for, `85%` (0.85); None where it is none, or not from above 0 to 100 %."""
    found = _PERCENT.fullmatch(text.strip())
    share = float(found.group(1)) / 100 if found else 0.0
    return share if 0 < share <= 1 else None


def as_number(value: object) -> Any:
    """The number that a size given as text stands for; anything else as it is, text that is no size too."""
    number = parse_size(value) if isinstance(value, str) else None
    return value if number is None else number


def portion_of(value: object) -> Any:
    """The same for what is a share or a size."""
    share = share_of(value) if isinstance(value, str) else None
    return as_number(value) if share is None else share


def with_numbers(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table of settings with numbers in the place of sizes, in the tables inside it too."""
    return {
        name: with_numbers(value)
        if isinstance(value, Mapping)
        else as_number(value)
        if name in SIZED
        else value
        for name, value in table.items()
    }
