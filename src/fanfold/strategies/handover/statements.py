"""Statements: what the agent said in pieces that stand by themselves, each with what it is worth to whoever goes on.

A piece is a sentence, or a row of a table. What only leads to the next, such as a heading, is told with it; code is
left out. A reason or a result is worth more than a remark, and words to the person more than words between two calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Literal

import msgspec

from fanfold.strategies.handover.saying import (
    announces,
    intends,
    is_bare,
    is_exact,
    is_hollow,
    is_word,
    limits,
    reasons,
    reports,
    tells,
)
from fanfold.text.cutting import short
from fanfold.text.patterns import pattern

_READ = 12_000
"""Characters of a message that are read."""
_MOST, _LEAD = 320, 90
"""Characters of a piece, of a longer one its beginning is told; and up to which one is told with the next."""
_TO_PERSON = 1.0
"""How much more a piece is worth that is said to the person."""
_FENCE = pattern(r"```[^\n]*\n.*?(?:```|\Z)", 16)
"""Code, as somebody shows it in a message."""
_MARK = pattern(r"```\w*")
_BETWEEN = pattern(r"(?<=[.!?])\s+(?=\S)|(?<=[.!?][*_`\"')])\s+(?=\S)|(?<=[。！？])")
"""Between two sentences of a line."""
_HEADING = pattern(r"\s*(?:#{1,6}\s|(?:\d+[.)]\s*)?\*\*[^*]+\*\*[:：]?\s*\Z)")
_RULER = pattern(r"[\s|:=_*-]*\Z")
"""A line without words: a ruler, or what stands below the head of a table."""
_NUMBER = pattern(r"\(?\d{1,2}[.)]\Z")


class Statement(msgspec.Struct, frozen=True, gc=False):
    """A piece of what the agent said."""

    text: str
    worth: float
    """From 0, where it only announces something, to 5; below 0 where it is no more than a word."""


Manner = Literal["passing", "waiting", "report", "letter"]
"""How something is said: between two calls, while something runs, to the person, or in a text such as the message of a
commit, in which "fix the parser" says what was done."""


def statements(text: str, manner: Manner) -> tuple[Statement, ...]:
    """What a message says, piece by piece."""
    pieces = list(_joined(_pieces(text[:_READ]))) or [_MARK.sub("", text).strip()]
    return tuple(
        Statement(short(piece, _MOST), _worth(piece, manner, first=at == 0))
        for at, piece in enumerate(pieces)
    )


def _pieces(text: str) -> Iterator[str]:
    """Headings, each with a colon behind it, rows of tables, and sentences."""
    plain = _FENCE.sub("\n", text) if "```" in text else text
    lines = [line for line in plain.splitlines() if line.strip()]
    for line, following in pairwise([*lines, ""]):
        if _RULER.match(line) or (line.lstrip().startswith("|") and _is_ruler(following)):
            continue
        if line.lstrip().startswith("|"):
            yield " | ".join(filter(None, (_bare(cell) for cell in line.split("|"))))
        elif _HEADING.match(line):
            yield f"{_bare(line).rstrip(':：. ')}:"
        else:
            yield from filter(None, map(_bare, _BETWEEN.split(line)))


def _is_ruler(line: str) -> bool:
    return "|" in line and _RULER.match(line) is not None


def _bare(piece: str) -> str:
    """A piece without the marks of lists, headings and bold letters."""
    return piece.replace("**", "").strip(" \t*#>-•")


def _joined(pieces: Iterable[str]) -> Iterator[str]:
    """Pieces; what only leads to the next with that, and a first one that says nothing by itself."""
    lead, first = "", True
    for piece in pieces:
        if first and lead and not _opens(lead) and (announces(piece) or _opens(piece)):
            yield lead
            lead, first = "", False
        joined = f"{lead} {piece}" if lead else piece
        lead = joined if len(joined) < _LEAD and (_opens(piece) or (first and _is_empty(joined))) else ""
        if not lead:
            first = False
            yield joined
    if lead:
        yield lead


def _opens(piece: str) -> bool:
    """Whether a piece leads to the next: a heading, or the number of an item."""
    return piece.endswith((":", "：")) or _NUMBER.match(piece) is not None


def _is_empty(piece: str) -> bool:
    """Whether a piece says nothing by itself; what is announced needs nothing, and adds nothing."""
    return is_word(piece) or (is_hollow(piece) and not announces(piece) and not tells(piece))


def _worth(piece: str, manner: Manner, *, first: bool) -> float:
    if is_bare(piece):
        return -1.0
    if manner != "letter" and (announces(piece) or (first and _is_word(piece, manner))):
        return 0.0
    to_person = manner in ("report", "letter")
    worth = (
        4.0 if first and to_person
        else 2.5 if intends(piece)
        else 4.0 if reasons(piece)
        else 3.5 if limits(piece)
        else 3.0 if tells(piece)
        else 2.5 if first
        else 1.0 if is_hollow(piece)
        else 2.0 if is_exact(piece)
        else 1.5
    )  # fmt: skip
    return worth + (_TO_PERSON if to_person else 0.0)


def _is_word(piece: str, manner: Manner) -> bool:
    """Whether it is no more than a word, or no more is known than that something runs on."""
    return (manner == "waiting" or is_word(piece)) and not reports(piece)
