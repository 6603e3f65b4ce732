"""Bodies given as text: read whole and exactly, or refused with the place of the fault.

Integers beyond 64 bits, lone surrogates, NaN and Infinity survive; a key that stands twice in one object does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fanfold.core.errors import BadInput

_UNREAD = object()
_GLANCE = 200
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)


def parse(data: str | bytes) -> Any:
    """The object or list in a JSON text; `BadInput` says what is wrong with it, and where."""
    if not isinstance(data, str | bytes | bytearray):
        raise BadInput(f"A body is given as text or bytes, not as {type(data).__name__}.")
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    # Text with spaces between its tokens cannot be written again just so; its beginning tells.
    is_spaced = b'": ' in raw[:_GLANCE] or b"\n" in raw[:_GLANCE]
    value = _UNREAD if is_spaced else _at_once(raw)
    if value is _UNREAD:
        value = _with_care(_text(raw))
    if not isinstance(value, dict | list):
        kind = {str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
        raise BadInput(f"The body is {kind}; a request is an object, a transcript is a list.")
    return value


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
        twice = ((str(levels[-1].key), start) for start, levels, again in _walk(text) if again)
        key, at = next(twice, ("", 0))
        place = place_of(text, at)
        raise BadInput(
            f"The key {key!r} stands twice in one object {place}; only one of them can be meant."
        ) from error
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


def _problem(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "it ends in the middle" if text.strip() else "it is empty"
    return error.msg[:1].lower() + error.msg[1:].removesuffix(" at")


class _Level:
    """An object or a list that is open at some place."""

    def __init__(self, *, is_object: bool) -> None:
        self.is_object = is_object
        self.keys: set[str] = set()
        self.key: str | int | None = None if is_object else 0
        self.at_key = is_object

    def next(self) -> None:
        """A comma came."""
        if self.is_object:
            self.at_key = True
        elif isinstance(self.key, int):
            self.key += 1


def place_of(text: str, at: int) -> str:
    """`at line 3, column 7 (contents[0].parts)`."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    path = ""
    for start, levels, _ in _walk(text):
        if start >= at:
            break
        keys = [level.key for level in levels if level.key is not None]
        path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
    return f"at line {line}, column {column}" + (f" ({path})" if path else "")


def _walk(text: str) -> Iterator[tuple[int, list[_Level], bool]]:
    """Every bracket, comma and string with the levels open there, and whether it is a key for the second time."""
    levels: list[_Level] = []
    for token in _TOKEN.finditer(text):
        mark, again = token[0], False
        if mark in "{[":
            levels.append(_Level(is_object=mark == "{"))
        elif mark in "}]":
            del levels[-1:]
        elif levels and mark == ",":
            levels[-1].next()
        elif levels and levels[-1].at_key:
            again = _enter(levels[-1], mark)
        yield token.start(), levels, again


def _enter(level: _Level, mark: str) -> bool:
    """A key came; tells whether it was here before."""
    try:
        key = str(json.loads(mark))
    except ValueError:
        key = mark.strip('"')
    again = key in level.keys
    level.keys.add(key)
    level.key, level.at_key = key, False
    return again
