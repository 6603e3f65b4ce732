"""Excerpts: what a long text was, in a few dozen tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from fanfold.cutting import cut

MOST = 240
_ERROR = re.compile(
    r"\b(?:\w*error|\w*exception|traceback|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|denied|refused|not found|"
    r"timed? ?out)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"https?://[^\s\"'<>)]+|(?:[\w.@~-]*/)+[\w.-]+\.\w+(?::\d+)?|\b[\w-]+\.[a-z]{1,4}:\d+|\b[0-9a-f]{7,40}\b|"
    r"\b[A-Z]{2,}-\d+\b|\b(?:[a-z]+_){1,}[a-z]+\b|\b(?:[A-Z][a-z0-9]+){2,}\b"
)
_LOOKED_AT = 200_000
"""Characters from each end that are read for an excerpt."""


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
    head, tail = text[:_LOOKED_AT], text[-_LOOKED_AT:]
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    ends = [line.strip() for line in tail.splitlines() if line.strip()] if len(text) > _LOOKED_AT else lines
    error = next((line for line in lines if _ERROR.search(line)), None)
    if error is None:
        error = next((line for line in ends if _ERROR.search(line)), None)
    if error:
        yield "error", error
    if lines and not structure:
        yield "first", lines[0]
        yield "last", ends[-1]
    names = list(islice(dict.fromkeys(name for name in _NAME.findall(head) if len(name) >= 4), 8))
    if names:
        yield "names", ", ".join(names)


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
