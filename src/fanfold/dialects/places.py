"""Places in a JSON text: line, column, and the path that leads there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)


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
        path = _path(levels)
    return f"at line {line}, column {column}" + (f" ({path})" if path else "")


def duplicate_at(text: str) -> tuple[str, int]:
    """The first key that stands twice in one object, and where it stands the second time."""
    for start, levels, again in _walk(text):
        if again:
            return str(levels[-1].key), start
    return "", 0


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


def _path(levels: list[_Level]) -> str:
    steps = [
        f"[{level.key}]" if isinstance(level.key, int) else f".{level.key}"
        for level in levels
        if level.key is not None
    ]
    return "".join(steps).removeprefix(".")
