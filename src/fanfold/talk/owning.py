"""Values that a caller built: checked, and copied, so that changing them later changes nothing here."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from fanfold.errors import BadMessage
from fanfold.values import copied

T = TypeVar("T")


def owned(value: Any, kind: type[T], name: str) -> T:
    """The value as the session keeps it; `BadMessage` if something in it is not what it should be."""
    try:
        return msgspec.convert(copied(value), kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as problem:
        raise BadMessage(f"{name} holds what it cannot hold: {str(problem).rstrip('.')}.") from problem
