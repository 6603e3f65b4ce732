"""Excerpts: what a long text was, in a few dozen tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from fanfold.cutting import cut
from fanfold.patterns import pattern

MOST = 240
_ERROR = pattern(
    r"\b(?:\w{0,40}error|\w{0,40}exception|traceback|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|denied|refused|"
    r"not found|timed? ?out)\b",
    re.IGNORECASE,
)
_NAME = pattern(
    r"https?://[^\s\"'<>)]{1,80}|(?<![\w./~-])(?:[\w.@~-]{0,40}/){1,12}[\w.-]{1,40}(?::\d+)?|\b[\w-]{1,40}\.[a-z]{1,4}:\d+|"
    r"\b[0-9a-f]{7,40}\b|\b[A-Z]{2,8}-\d+\b|\b[a-z]{1,20}(?:_[a-z]{1,20}){1,6}\b|\b(?:[A-Z][a-z0-9]{1,20}){2,6}\b"
)
_LINES, _WIDTH = 400, 240
"""Lines from each end that are read for an excerpt, and characters of each: what it costs is bounded."""


def excerpt(text: str, most: int = MOST) -> str:
    """Structure, first and last lines, errors and names that are likely to be needed, in at most `most` characters."""
    found: list[str] = []
    left = most
    for label, words in _parts(text):
        if left < len(label) + 16 or any(words in one for one in found):
            continue
        words = short(words, min(left - len(label) - 4, most // 2))
        found.append(f"{label}: {words}")
        left -= len(found[-1]) + 2
    return "; ".join(found)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    structure = _structure(text)
    if structure:
        yield "JSON", structure
    lines, ends = _ends(text)
    error = next((line for line in (*lines, *ends) if _ERROR.search(line)), None)
    if error:
        yield "error", error
    if lines and not structure:
        yield "first", lines[0]
        yield "last", ends[-1]
    names = (name for line in lines for name in _NAME.findall(line) if len(name) >= 4)
    found = list(islice(dict.fromkeys(islice(names, 40)), 8))
    if found:
        yield "names", ", ".join(found)


def _ends(text: str) -> tuple[list[str], list[str]]:
    """The first lines and the last ones, long ones cut."""
    reach = _LINES * _WIDTH
    head, tail = text[:reach].splitlines(), text[-reach:].splitlines()
    return _short(head[:_LINES]), _short(tail[-_LINES:])


def _short(lines: list[str]) -> list[str]:
    return [short for line in lines if (short := line[:_WIDTH].strip())]


def _structure(text: str) -> str | None:
    """The shape of a JSON text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    if isinstance(value, dict):
        return "{" + ", ".join(_field(key, item) for key, item in value.items()) + "}"
    inner = value[0] if value else None
    keys = f" of {{{', '.join(map(str, inner))}}}" if isinstance(inner, dict) else ""
    return f"list of {len(value):,}{keys}"


def _field(key: str, item: object) -> str:
    if isinstance(item, list):
        return f"{key}: {len(item):,} items"
    if (isinstance(item, str) and len(item) > 40) or isinstance(item, dict):
        return key
    return f"{key}: {item}"


def short(text: str, most: int) -> str:
    """A text on one line, cut."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: cut(line, max(0, most - 1))] + "…"
