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


def strings(value: object) -> list[str]:
    """The texts in an array."""
    return [item for item in listing(value) if isinstance(item, str)]


def string(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """The value if it is a whole number, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def text(record: dict[str, Any], *keys: str) -> str:
    """The first text among these fields that is not empty."""
    return next((found for key in keys if (found := string(record.get(key)))), "")


def inner(record: object, *keys: str) -> dict[str, Any]:
    """The object that lies under these keys, one within the other."""
    for key in keys:
        record = mapping(record).get(key)
    return mapping(record)


def some(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    """These fields of the record, or all, as far as they say anything."""
    return {key: record[key] for key in keys or record if record.get(key) not in (None, "", [], {})}


def without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The record without these fields."""
    return {key: value for key, value in record.items() if key not in keys}


def seconds(value: object) -> float | None:
    """Unix seconds of an ISO text, of seconds or of milliseconds; None if it is none of these."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        count = float(value)
    except (ValueError, OverflowError):
        return None
    return count / 1000 if abs(count) > LARGEST_SECONDS else count
