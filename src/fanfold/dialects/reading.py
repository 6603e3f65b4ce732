"""Bodies given as text: read whole and exactly, or refused with the place of the fault.

Integers beyond 64 bits, lone surrogates, NaN and Infinity survive; a key that stands twice in one object does not.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from fanfold.core.errors import BadInput
from fanfold.dialects.places import duplicate_at, place_of

_UNREAD = object()
_GLANCE = 200


def parse(data: str | bytes) -> Any:
    """The object or list in a JSON text; `BadInput` says what is wrong with it, and where."""
    if not isinstance(data, str | bytes | bytearray):
        raise BadInput(f"A body is given as text or bytes, not as {type(data).__name__}.")
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    value = _UNREAD if _is_spaced(raw) else _at_once(raw)
    if value is _UNREAD:
        value = _with_care(_text(raw))
    if not isinstance(value, dict | list):
        raise BadInput(f"The body is {_kind(value)}; a request is an object, a transcript is a list.")
    return value


def _is_spaced(raw: bytes) -> bool:
    """Whether the text has spaces between its tokens, by its beginning: then it cannot be written again just so."""
    return b'": ' in raw[:_GLANCE] or b"\n" in raw[:_GLANCE]


def _at_once(raw: bytes) -> Any:
    """The value, if writing it again gives the same bytes: then no key was there twice.

    A key that stands twice is written once, so the bytes differ. Most clients write JSON without spaces and pass here.
    """
    try:
        value = msgspec.json.decode(raw)
        return value if msgspec.json.encode(value) == raw else _UNREAD
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return _UNREAD


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8", "surrogatepass").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        raise BadInput(
            f"The body is no UTF-8 text: {error.reason} {place_of(before, len(before))}."
        ) from error


def _with_care(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except _Twice as error:
        raise BadInput(_said_twice(text)) from error
    except json.JSONDecodeError as error:
        raise BadInput(
            f"The body is no JSON: {_problem(text, error)} {place_of(text, error.pos)}."
        ) from error
    except RecursionError as error:
        raise BadInput("The body is nested too deeply to be read.") from error
    except ValueError as error:
        raise BadInput(f"The body holds a number that cannot be read: {error}.") from error


class _Twice(Exception):
    """A key stands twice in one object."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Twice
    return value


def _said_twice(text: str) -> str:
    key, at = duplicate_at(text)
    return f"The key {key!r} stands twice in one object {place_of(text, at)}; only one of them can be meant."


def _problem(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "it ends in the middle" if text.strip() else "it is empty"
    return error.msg[:1].lower() + error.msg[1:].removesuffix(" at")


def _kind(value: Any) -> str:
    kinds = {str: "a text", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
