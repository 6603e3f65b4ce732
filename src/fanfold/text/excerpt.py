"""Excerpts: what a long text was, in a few dozen tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

import msgspec

from fanfold.text.cutting import bytes_of, short
from fanfold.text.patterns import linear, pattern

MOST = 110
"""What an excerpt may cost: some two or three dozen tokens, in any script."""
_ERROR = pattern(
    r"(?<!\b0 )(?<!\bno )"
    r"\b(?:\w{0,40}errors?|\w{0,40}exceptions?|traceback|fail(?:ed|ures?|s)?|fatal|panic(?:ked)?|denied|refused|"
    r"not found|timed? ?out)\b",
    re.IGNORECASE,
)
_HINT = r"(?i)error|exception|traceback|fail|fatal|panic|denied|refused|not found|timed? ?out"
"""What stands in whatever the pattern above finds; it is looked for in long texts."""
_HINTS, _SEARCHED = 1_000, 1_000_000
_NAME = pattern(
    r"https?://[^\s\"'<>)]{1,80}|(?<![\w./~-])(?:[\w.@~-]{0,40}/){1,12}[\w.-]{1,40}(?::\d+)?|\b[\w-]{1,40}\.[a-z]{1,4}:\d+|"
    r"\b[0-9a-f]{7,40}\b|\b[A-Z]{2,8}-\d+\b|\b[a-z]{1,20}(?:_[a-z]{1,20}){1,6}\b|\b(?:[A-Z][a-z0-9]{1,20}){2,6}\b"
)
_LEADS = pattern(r"[/\d]")
_NUMBER = pattern(r"\s*\d+[\u2192\t]")
"""What some tools put before a line."""
_SAYS = pattern(r"\w.?\w")
_LEAST = 12
_LINES, _WIDTH = 400, 240
"""Lines from each end that are read for an excerpt, and characters of each: what it costs is bounded."""


def excerpt(text: str, most: int = MOST) -> str:
    """Structure, first and last lines, errors and names that are likely to be needed, at a cost of at most `most`."""
    lines, ends = _ends(text)
    structure = _structure(text)
    told = chain(lines, ends, () if structure else _hint_lines(text))
    errors = list(islice((line for line in told if _ERROR.search(line)), 1))
    found: list[str] = []
    left = most
    for words, share in _parts(structure, errors, lines, ends):
        if left < _LEAST or any(words in one for one in found):
            continue
        found.append(within(words, min(left, int(most * share))))
        left -= cost(found[-1]) + 2
    return "; ".join([*found, *_names([*errors, *lines], "; ".join(found), left)])


def _parts(
    structure: str | None, errors: list[str], lines: list[str], ends: list[str]
) -> Iterator[tuple[str, float]]:
    """What there is to tell beside names, and the share of an excerpt that it may take."""
    if structure:
        yield structure, 0.5
    yield from ((error, 0.4) for error in errors)
    if lines and not structure:
        yield lines[0], 0.25
        yield ends[-1], 0.25


def _names(lines: list[str], told: str, room: int) -> list[str]:
    """The names that fit, whole, those that lead somewhere first: paths, addresses, numbers."""
    names = (name for line in lines for name in _NAME.findall(line) if len(name) >= 4)
    found = [name for name in dict.fromkeys(islice(names, 40)) if name not in told]
    kept: list[str] = []
    for name in sorted(found, key=lambda name: not _LEADS.search(name)):
        if cost(name) <= room:
            kept.append(name)
            room -= cost(name) + 2
    return [", ".join(kept)] if kept else []


def _ends(text: str) -> tuple[list[str], list[str]]:
    """The first lines and the last ones, long ones cut."""
    reach = _LINES * _WIDTH
    head, tail = text[:reach].splitlines(), text[-reach:].splitlines()
    return _short(head[:_LINES]), _short(tail[-_LINES:])


def _hint_lines(text: str) -> Iterator[str]:
    """Lines anywhere in a text whose ends are not all of it that may tell an error; of a long line, what is around."""
    if len(text) <= 2 * _LINES * _WIDTH and text.count("\n") < 2 * _LINES:
        return
    data = text[:_SEARCHED].encode("utf-8", "replace")
    for hint in islice(linear(_HINT).finditer(data), _HINTS):
        at, upto = hint.span()
        start = max(data.rfind(b"\n", 0, at) + 1, at - _WIDTH // 2)
        end = data.find(b"\n", upto, start + _WIDTH)
        yield from _short([data[start : end if end >= 0 else start + _WIDTH].decode("utf-8", "replace")])


def _short(lines: list[str]) -> list[str]:
    found = [short for line in lines if (short := _NUMBER.sub("", line[:_WIDTH], count=1).strip())]
    return [line for line in found if _SAYS.search(line)] or found


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


def within(text: str, most: int) -> str:
    """The same, at no more than so much cost."""
    line = short(text, most)
    while line and cost(line) > most:
        line = short(line, max(0, len(line) - 1 - (cost(line) - most) // 4))
    return line


def cost(text: str) -> int:
    """About four times its tokens: bytes, and digits twice, because tokens hold few of them."""
    return bytes_of(text) + sum(map(str.isdigit, text))
