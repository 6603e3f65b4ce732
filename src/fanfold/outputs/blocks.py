"""Blocks: an output piece by piece, as it is searched: whole lines, or pieces of a very long one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from fanfold.outputs.index import LineIndex
from fanfold.outputs.source import Source

BLOCK = 1 << 20
LONG = 8 << 20
"""A longer line is searched in pieces of this size: a match in it is found if it is not longer than their overlap.

For patterns of many instructions both are smaller."""
OVERLAP = 64 * 1024
_LEAST = 4 * 1024
_SHORT = 64
"""Patterns of so many instructions are quick whatever they are: less than 3 s for the longest block."""
_WORK = 1 << 26
"""Bytes of a block times instructions of any other pattern. At worst the library takes 10 ns for each, that is 0.7 s
for a block, and it cannot be interrupted."""


class Block(NamedTuple):
    """Some whole lines, or a piece of a very long one."""

    first: Callable[[], int]
    """The number of its first line, counted from 1; it is counted only where something is found."""
    data: bytes
    start: int
    """Where it begins. What stands before and behind is looked at to tell where a line, or a word, begins and ends."""
    end: int
    """Where its last line ends; what is behind comes again with the next block."""
    goes_on: bool = False
    """Whether it is a piece of a line that goes on in the next block."""

    @property
    def whole(self) -> bytes:
        """Its lines."""
        return self.data[self.start : self.end]

    @property
    def rest(self) -> Block:
        """The same without its first line."""
        newline = self.data.find(b"\n", self.start, self.end)
        return self._replace(first=lambda: self.first() + 1, start=newline + 1 or self.end)


def blocks(source: Source, index: LineIndex | None = None, *, program: int = 1) -> Iterator[Block]:
    """The source in blocks of whole lines; a line that is too long for one comes in pieces that overlap.

    `program` is the number of instructions of the pattern: the more there are, the smaller are the blocks.
    """
    at, line, start = 0, 1, 0
    longest = LONG if program <= _SHORT else min(LONG, max(_LEAST, _WORK // program))
    overlap = min(OVERLAP, longest // 2)
    while at + start < source.size:
        data = _lines_from(source, at, longest)
        last = at + len(data) >= source.size or len(data) <= start
        end = len(data) if last else data.rfind(b"\n") + 1
        goes_on = end == 0
        end = end or len(data) - 1
        first = partial(_line_at, source, index, at) if index else partial(int, line)
        yield Block(first, data, start, end, goes_on)
        if last:
            return
        line += 0 if index else data.count(b"\n", start, end)
        at, start = (at + end - overlap - 1, 1) if goes_on else (at + end, 0)


def _lines_from(source: Source, at: int, longest: int) -> bytes:
    """The bytes from a place on: with a whole line in them, if it is not too long."""
    data, size = b"", min(BLOCK, longest)
    while True:
        stop = min(at + size, source.size)
        got = b"".join(source.read(at + len(data), stop))
        data += got
        if stop == source.size or size >= longest or not got or b"\n" in got:
            return data
        size = min(2 * size, longest)


def _line_at(source: Source, index: LineIndex, offset: int) -> int:
    """The number of the line that an offset lies in, counted from the last point before it."""
    line, start = index.at(offset)
    return line + 1 + sum(chunk.count(b"\n") for chunk in source.read(start, offset))
