"""JSON: the one way to write it, for models and for programs, and the lenient way to read what models write."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isfinite, isnan
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


def write_json(value: Any) -> bytes:
    """A value as JSON for files and programs, structs too; what JSON has no word for is replaced."""
    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    try:
        written = msgspec.json.encode(plain)
    except UnicodeEncodeError:  # a lone surrogate
        return msgspec.json.encode(sendable(plain))
    # msgspec writes NaN and Infinity as null, too.
    return written if b"null" not in written else msgspec.json.encode(sendable(plain))


def print_json(value: Any, indent: int = 2) -> str:
    """The same on several lines, for people."""
    return msgspec.json.format(write_json(value), indent=indent).decode()


def sendable(value: Any) -> Any:
    """A value with every lone surrogate as U+FFFD, NaN and Infinity as words."""
    if isinstance(value, str):
        return sendable_text(value)
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


def sendable_text(text: str) -> str:
    """The text with every lone surrogate as U+FFFD, as it is sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
