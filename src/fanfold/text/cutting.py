"""Cutting text where a reader would not notice: never inside a character, a cluster or an escape sequence."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from math import inf
from typing import TypeVar

from fanfold.text.patterns import pattern

_One = TypeVar("_One")
_ANSI = pattern(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-OQ-WYZ\\`-~])"
)
_BEGUN = pattern(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z")
"""A sequence of which the end is missing, at the end of a text."""
CUT_TO_FIT = "[… {count:,} characters cut to fit the context window{where} …]"
"""What stands in the place of what was cut, and where the rest is."""
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"


def bytes_of(text: str) -> int:
    """How many bytes a text has in UTF-8, lone surrogates included."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def cut(text: str, at: int) -> int:
    """The last place at or before `at` where the text can be cut."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    at = _before_escape(text, at)
    lowest = max(0, at - 64)
    while at > lowest and _clings(text, at):
        at -= 1
    return at


def cut_after(text: str, at: int) -> int:
    """The first place at or after `at` where the text can be cut."""
    if at <= 0 or at >= len(text):
        return max(0, min(at, len(text)))
    start = _before_escape(text, at)
    if start < at:
        found = _ANSI.match(text, start)
        at = found.end() if found else at
    while at < len(text) and _clings(text, at):
        at += 1
    return at


def clip_text(text: str, keep: int, where: str = "") -> str:
    """About `keep` characters of a text, two thirds of them from its head, with a note of what was cut.

    The note says `where` the rest is.
    """
    if len(text) <= keep:
        return text
    head = cut(text, keep * 2 // 3)
    tail = cut_after(text, len(text) - (keep - keep * 2 // 3))
    note = CUT_TO_FIT.format(count=tail - head, where=where)
    return f"{text[:head]}\n{note}\n{text[tail:]}"


def short(text: str, most: int) -> str:
    """A text on one line, cut."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most else line[: cut(line, max(0, most - 1))] + "…"


def both_ends(text: str, most: int, end: int) -> str:
    """A text on one line of which the middle is cut: so many characters of its `end` tell it from others."""
    line = " ".join(text[: most * 4].split())
    if len(line) <= most and len(text) <= most * 4:
        return line
    tail = " ".join(text[-end * 4 :].split())
    return f"{line[: cut(line, most - end - 1)]}…{tail[cut_after(tail, len(tail) - end) :]}"


def fitting(lines: Iterable[_One], room: float, measure: Callable[[_One], float]) -> list[_One]:
    """The first lines, or whatever else takes up room, that fit."""
    chosen = []
    for line in lines:
        room -= measure(line)
        if room < 0:
            break
        chosen.append(line)
    return chosen


def even_level(sizes: Iterable[int], room: float) -> float:
    """The size to which the largest are cut so that all fit, as glasses are filled evenly; infinite if they do fit."""
    ordered = sorted(sizes)
    for at, size in enumerate(ordered):
        share = room / (len(ordered) - at)
        if size > share:
            return share
        room -= size
    return inf


def _before_escape(text: str, at: int) -> int:
    """Where an escape sequence around `at` begins, else `at`. One that ends in an escape character has two of them."""
    last = text.rfind("\x1b", 0, at)
    for escape in (text.rfind("\x1b", 0, max(0, last)), last):
        if escape < 0:
            continue
        found = _ANSI.match(text, escape)
        if (found and found.end() > at) or _BEGUN.match(text, escape):
            return escape
    return at


def _clings(text: str, at: int) -> bool:
    """Whether the character at a place belongs to the one before it."""
    here, before = text[at], text[at - 1]
    if here in _JOINERS or before == "\u200d" or unicodedata.combining(here):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or ("\U000e0020" <= here <= "\U000e007f"):
        return True
    if "\udc00" <= here <= "\udfff" and "\ud800" <= before <= "\udbff":
        return True
    return _is_flag(here) and _is_flag(before) and _flags_before(text, at) % 2 == 1


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_flag(text[at - 1 - count]):
        count += 1
    return count
