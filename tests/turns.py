"""Two arguments of a long test, each value of both in `make test`, every pair in `make test-all`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def in_turn(first: str, values: Sequence[Any], second: str, others: Sequence[Any]) -> pytest.MarkDecorator:
    """Every pair of values; quick are those in which each value meets the others' in turn."""
    assert len(values) >= len(others), "name the longer list first: then every value of both is played"
    pairs = [
        pytest.param(
            one,
            other,
            id=f"{_name(one)}-{_name(other)}",
            marks=() if at % len(others) == nth else pytest.mark.slow,
        )
        for at, one in enumerate(values)
        for nth, other in enumerate(others)
    ]
    return pytest.mark.parametrize((first, second), pairs)


def _name(value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(_name, value))
    return str(getattr(value, "__name__", value))
