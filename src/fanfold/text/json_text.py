"""JSON as text: the one way to write it, and the lenient way to read what models write."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

_SIMPLE = frozenset({str, int, bool, type(None)})


def to_json(value: Any) -> str:
    """A value as compact JSON; other scripts, lone surrogates, NaN and Infinity stay what they are."""
    # msgspec is faster, but it writes some floats in another way: the same value must always be the same bytes.
    if type(value) is dict and _SIMPLE.issuperset(map(type, value.values())):
        try:
            return msgspec.json.encode(value).decode()
        except (UnicodeEncodeError, OverflowError):
            pass
    return _encode()(value)


def from_json(text: str) -> Any:
    """The value that a JSON text says; None if it is no JSON. NaN and lone surrogates are accepted."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        import json  # late: most programs never meet such text

        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return None
    except RecursionError:
        return None


@cache
def _encode() -> Callable[[Any], str]:
    from json import JSONEncoder  # late: most programs never need it

    return JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
