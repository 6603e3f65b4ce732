"""Clip: long outputs are cut, and the end says how to see the rest (systems.md A4).

A long line alone is no reason to cut an output that is small as a whole: lines are cut in outputs that are too long, or
everywhere for those who say at how many characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any, Literal, get_args

import msgspec
from msgspec.structs import replace

from fanfold.core.edit import REF
from fanfold.core.errors import BadSetting
from fanfold.outputs.notices import (
    AROUND,
    CLIPPED,
    LINE_CUT,
    LINES_CUT,
    LINES_LEFT_OUT,
    NAMES,
    READS_ON,
    SEARCHES,
)
from fanfold.text.cutting import bytes_of, cut, cut_after
from fanfold.text.identifiers import BETWEEN, unseen

LINE = 2_000
SIZE = 50 * 1024
_NOTE = 400
"""Bytes kept free for the note at the end."""
SMALLEST, _BYTES, _FIFTH = 4_096, 4, 5
"""No output is clipped below so many bytes; bytes of a token; the share of the window for one output."""
_TOGETHER = 0.6
"""The share of the room for outputs that arrive together, whatever stands beside them."""
_PARALLEL, _THRIFTY, _LEAST = 16, 0.5, 1 / 16
"""The part of its share in which an output among others lists names; above so much thrift less is shown of a long
output, with all of it this share of the limit."""
_NAMES, _MOST_NAMES = 32, 1_000
"""The part of the window, and the most tokens, that names from what is not shown may take."""

Keep = Literal["head", "both"]
Unit = Literal["bytes", "characters"]


def clip(
    *,
    line: int | None = None,
    size: int = SIZE,
    keep: Keep = "both",
    shown: int | None = None,
    unit: Unit = "bytes",
    sparing: Iterable[str] = (),
    names: int = 0,
) -> Clip:
    """Cut an output at `size` bytes, or characters if that is the `unit`, and every line at `line` characters.

    Without `line`, only outputs that are too long as a whole have their lines cut, at 2,000 characters.
    `keep="head"` shows the beginning, `keep="both"` the beginning and a third as much of the end. An output that is
    longer than `size` is shown in `shown` of them, if that is given. What the tools in `sparing` return is left as
    it is. Of the identifiers that are cut away, so many tokens are listed as `names` says.
    """
    spared = frozenset(sparing)
    return Clip(line=line, size=size, keep=keep, shown=shown, unit=unit, sparing=spared, names=names)


def clip_within(room: int, *, thrift: float = 0.0) -> Clip:
    """The clip for a window with so much room.

    Of an output of more than a fifth of it, at four bytes a token, as much is shown as that; where requests are to be
    cheap, with a `thrift` of more than a half, down to a sixteenth of it. Outputs that arrive together share three
    fifths of the room.
    """
    size = min(SIZE, max(SMALLEST, room * _BYTES // _FIFTH))
    shown = (
        max(3 * _NOTE, int(size * _LEAST ** (thrift / _THRIFTY - 1)))
        if thrift > _THRIFTY and size < SIZE
        else None
    )
    return replace(clip(size=size, shown=shown, names=min(_MOST_NAMES, room // _NAMES)), together=_TOGETHER)


class Clip(msgspec.Struct, frozen=True):
    """A filter that clips; it can also show an output of which only the beginning and the end are at hand."""

    line: int | None = None
    """Characters at which lines are cut in every output; None: at 2,000, in those that are too long as a whole."""
    size: int = SIZE
    keep: Keep = "both"
    shown: int | None = None
    unit: Unit = "bytes"
    sparing: frozenset[str] = frozenset()
    names: int = 0
    """Tokens of names that are listed of what is cut away."""
    refers: bool = True
    """Whether the note names the tools with which a model reads on."""
    together: float = 0.0
    """The share of the room that outputs which arrive together may take; 0: each of them is clipped alone."""

    @property
    def name(self) -> str:
        """How it is called in reasons."""
        return "clip"

    @property
    def shortens(self) -> bool:
        """What it leaves out can be looked up."""
        return True

    def __post_init__(self) -> None:
        least = self.size if self.shown is None else min(self.size, self.shown)
        if (self.line is not None and self.line < 40) or least < 2 * _NOTE:
            raise BadSetting(
                f"clip cuts lines at 40 characters or more, outputs at {2 * _NOTE} bytes or more."
            )
        if self.keep not in get_args(Keep) or self.unit not in get_args(Unit):
            raise BadSetting('clip keeps "head" or "both", and counts "bytes" or "characters".')

    def within(self, tokens: float, density: float, *, least: int = SMALLEST) -> Clip:
        """The same for an output that may take so many tokens, where a token has `density` bytes, and no fewer bytes
        than `least`."""
        names = min(self.names, int(tokens / _PARALLEL))
        size = max(least, int((tokens - names) * density))
        return replace(self, size=min(self.size, size), shown=None, names=names)

    def __call__(self, text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """The clipped text, or None if it is within the limits."""
        if tool in self.sparing or _fits(text, self.line, self._bytes(self.size, text)):
            return None
        total = text.count("\n") + (not text.endswith("\n"))
        shown = self.ends(text, text, total, bytes_of(text))
        names = unseen(text, shown, self.names)
        return f"{shown}\n{NAMES.format(names=BETWEEN.join(names))}" if names else shown

    def ends(self, head: str, tail: str, lines: int, size: int) -> str:
        """The view of an output of which the beginning and the end are at hand; they may be the same text."""
        whole = head is tail
        room = self._bytes(self.size - _NOTE, head)
        if whole and self.line is None and _fits(head, None, self._bytes(self.size, head)):
            return head
        if whole and _fits(head, None, room):
            shown = "\n".join(self._narrow(line) for line in head.split("\n"))
            if shown == head:
                return head
            if bytes_of(shown) <= room:
                around = AROUND.format(ref=REF) if self.refers else ""
                return f"{shown}\n{LINES_CUT.format(width=self._width, ref=REF, rest=around)}"
        if not whole:  # leave out the lines that are cut in two, unless there is no other line
            tail = tail[tail.find("\n", 0, len(tail) - 1) + 1 :]
            head = head[: head.rfind("\n") + 1] or head
        room = room if self.shown is None else self._bytes(self.shown - _NOTE, head)
        first = self._from_head(head, room * 3 // 4 if self.keep == "both" else room)
        last = self._from_tail(tail, room // 4) if self.keep == "both" else []
        if len(first) + len(last) > lines:
            last = last[len(first) + len(last) - lines :]
        hidden = lines - len(first) - len(last)
        gap = [LINES_LEFT_OUT.format(count=hidden)] if last and hidden > 0 else []
        count = len(first) + len(last)
        reads = READS_ON.format(ref=REF, line=len(first) + 1) if hidden > 0 else ""
        rest = SEARCHES.format(reads=reads, ref=REF) if self.refers else ""
        note = CLIPPED.format(count=count, lines=lines, size=size, ref=REF, rest=rest)
        return "\n".join([*first, *gap, *last, note])

    @property
    def _width(self) -> int:
        return LINE if self.line is None else self.line

    def _bytes(self, size: int, text: str) -> int:
        """A size in bytes: what a character takes differs from script to script."""
        return size if self.unit == "bytes" or not text else ceil(size * bytes_of(text) / len(text))

    def _from_head(self, text: str, room: int) -> list[str]:
        """The first lines, as many as there is room for; of a first line that is too long, its beginning."""
        shown: list[str] = []
        at = 0
        while at < len(text) and room > 0:
            newline = text.find("\n", at)
            end = newline if newline >= 0 else len(text)
            line = self._narrow(text[at:end])
            room -= bytes_of(line) + 1
            if room < 0 and shown:
                break
            shown.append(line if room >= 0 else line[: cut(line, (room + bytes_of(line)) // 4)])
            at = end + 1
        return shown

    def _from_tail(self, text: str, room: int) -> list[str]:
        """The last lines, as many as there is room for; of a last line that is too long, its end."""
        shown: list[str] = []
        end = len(text) - text.endswith("\n")
        while end > 0:
            start = text.rfind("\n", 0, end) + 1
            line = self._narrow(text[start:end])
            room -= bytes_of(line) + 1
            if room < 0:
                if not shown:
                    shown.append(line[cut_after(line, len(line) - (room + bytes_of(line)) // 4) :])
                break
            shown.append(line)
            end = start - 1
        return shown[::-1]

    def _narrow(self, line: str) -> str:
        if len(line) <= self._width:
            return line
        return line[: cut(line, self._width - len(LINE_CUT))] + LINE_CUT


def _fits(text: str, line: int | None, size: int) -> bool:
    """Whether a text has at most this many bytes, and no longer line."""
    if len(text) > size or (len(text) * 4 > size and bytes_of(text) > size):
        return False
    at = 0
    while line is not None and len(text) - at > line:
        at = text.rfind("\n", at, at + line + 1) + 1
        if not at:
            return False
    return True
