"""Values out of JSON that nobody has checked: each function gives what it promises or an empty thing."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

LARGEST_SECONDS = 1e11
"""Above this a number counts milliseconds: as seconds it would be the year 5138."""


def mapping(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> list[dict[str, Any]]:
    """The objects in an array."""
    return [item for item in listing(value) if isinstance(item, dict)]


def string(value: object) -> str | None:
    """The value if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def number(value: object) -> int:
    """The value if it is a whole number, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def first_string(record: dict[str, Any], *keys: str) -> str | None:
    """The first text among these fields."""
    return next((found for key in keys if (found := string(record.get(key)))), None)


def some(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    """These fields of the record, as far as they say anything."""
    return {key: record[key] for key in keys if record.get(key) not in (None, "", [], {})}


def seconds(value: object) -> float | None:
    """Unix seconds of an ISO text, of seconds or of milliseconds; None if it is none of these."""
    if isinstance(value, str):
        return _iso_seconds(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _number_seconds(value)


def _number_seconds(value: float) -> float | None:
    try:
        count = float(value)
    except OverflowError:
        return None
    if not math.isfinite(count):
        return None
    return count / 1000 if abs(count) > LARGEST_SECONDS else count


def _iso_seconds(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
