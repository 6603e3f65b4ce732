"""Values that a caller built: checked, and copied, so that changing them later changes nothing here."""

from __future__ import annotations

from typing import Any, TypeVar

from fanfold.core.errors import BadMessage
from fanfold.text import plain as values

T = TypeVar("T")


def owned(value: Any, kind: type[T], name: str) -> T:
    """The value as the session keeps it; `BadMessage` if something in it is not what it should be."""
    try:
        return values.owned(value, kind)  # type: ignore[no-any-return]
    except ValueError as problem:
        raise BadMessage(f"{name} holds what it cannot hold: {problem}.") from problem
