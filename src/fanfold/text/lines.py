"""How a row of a view looks on paper: the golden-file format, and what a notebook shows. Also: so many things."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from unicodedata import combining, east_asian_width

_WIDTH, _LEAST = 48, 16
"""An excerpt has so many characters at most; on a narrow terminal, at least."""


class RowLine(NamedTuple):
    """A row in a few words: who speaks, its tokens, how it begins, and why it looks so."""

    sign: str
    role: str
    tokens: int
    excerpt: str
    reason: str

    def __str__(self) -> str:
        return f"{self.head}  {self.excerpt:<{_WIDTH}}  {self.reason}".rstrip()

    def within(self, excerpt: int, reason: int) -> str:
        """The same with at most so many columns of a terminal for what was said, and for why it looks so."""
        said = cut_to(self.excerpt, excerpt)
        return f"{self.head}  {padded(said, excerpt)}  {cut_to(self.reason, reason)}".rstrip()

    @property
    def head(self) -> str:
        """Its sign, who speaks, and its tokens."""
        return f"  {self.sign}  {self.role:<9} {self.tokens:>6,}"

    def marked(self, pinned: bool) -> RowLine:
        """The same row, said to have pinned lines in it if it has."""
        if not pinned:
            return self
        return self._replace(sign="▸", reason=" ".join(filter(None, ("pinned text", self.reason))))


def lines_within(lines: Sequence[RowLine], width: int) -> list[str]:
    """Rows as lines of at most so many columns: what was said is cut first, then why the rows look so."""
    room = width - max((len(line.head) for line in lines), default=0) - 4
    reason = min(max((columns_of(line.reason) for line in lines), default=0), room - _LEAST)
    excerpt = min(_WIDTH, room - reason)
    return [line.within(excerpt, reason) for line in lines]


def cut_to(text: str, room: int) -> str:
    """As much of a text as so many columns have room for."""
    if columns_of(text) <= room:
        return text
    ends = list(accumulate(columns_of(sign) for sign in text))
    return text[: bisect_right(ends, room - 2)] + " …"


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: Chinese and Japanese signs take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 1 + (east_asian_width(sign) in "WF") for sign in text)


def padded(text: str, width: int) -> str:
    """A text with as many spaces behind it as it takes to be so many columns wide."""
    return text + " " * (width - columns_of(text))


def excerpt_of(words: Sequence[str], calls: Sequence[str]) -> str:
    """The first words of a row, and what it calls."""
    said = "  ".join(filter(None, (one_line(text, _WIDTH) for text in words)))
    if not calls:
        return one_line(said or "(empty)", _WIDTH)
    more = f" +{len(calls) - 1}" if len(calls) > 1 else ""
    called = f"→ {one_line(calls[0], _WIDTH - 2 - len(more))}{more}"
    room = _WIDTH - len(called) - 2
    return f"{one_line(said, room)}  {called}" if said and room > 8 else called


def fill_of(tokens: int, room: int | None) -> str:
    """So many tokens, and how many there is room for where that is known."""
    return f"{tokens:,}{f' of {room:,}' if room is not None else ''} tokens"


def view_line(title: str, tip: str | None, fill: str, edits: int) -> str:
    """The line above the rows: whose view it is and at which entry, how full it is, and how many edits stand."""
    place = " ".join(filter(None, (title, f"@ {tip[:6]}" if tip else "@ start")))
    return f"{place}   {fill}   {edits} edit{'s' * (edits != 1)} stand{'s' * (edits == 1)}"


def one_line(text: str, room: int) -> str:
    """A text on one line of at most `room` characters."""
    flat = " ".join(text[:400].split()).encode("utf-8", "replace").decode()
    return flat if len(flat) <= room else flat[: max(room - 2, 0)] + " …"


def many(number: int, noun: str) -> str:
    """A number of things: `1 row`, `2 rows`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
