"""Where the bytes of an output come from, and a sparse index of its lines.

With the index, reading a few lines takes the same time wherever in the output they are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from sys import byteorder
from typing import Protocol

import msgspec

CHUNK = 1 << 20
STEP = 16 * 1024
"""At least this many bytes lie between two points of the index."""
MOST_POINTS = 1 << 17
"""Beyond this every other point goes: the index of any output stays within two megabytes."""


class ByteSource(Protocol):
    """Bytes that can be read in ranges."""

    @property
    def size(self) -> int:
        """How many bytes there are."""

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """A range, in chunks."""


class Held(msgspec.Struct, frozen=True):
    """An output at hand: part of an entry, or made from several."""

    data: bytes

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self.data)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """A range, in chunks."""
        return (self.data[at : min(at + CHUNK, stop)] for at in range(start, min(stop, self.size), CHUNK))


class BlobBytes(msgspec.Struct, frozen=True):
    """An output that a store keeps as a blob."""

    size: int
    fetch: Callable[[int, int], Iterator[bytes]]

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """A range, in chunks."""
        return self.fetch(start, stop)


def encode(text: str) -> bytes:
    """A text as it is kept; lone surrogates are kept too."""
    return text.encode("utf-8", "surrogatepass")


def as_text(data: bytes) -> str:
    """Kept bytes as the text that was given; if they are no text, as one that can be shown."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return decode(data)


def decode(data: bytes) -> str:
    """Kept bytes as text that can be shown."""
    return data.decode("utf-8", "replace")


class LineIndex(msgspec.Struct, frozen=True):
    """Where some of the lines begin: `lines[i]` (counted from 0) begins at byte `offsets[i]`."""

    lines: array[int]
    offsets: array[int]

    def before(self, line: int) -> tuple[int, int]:
        """The last point at or before a line: the line there, and its offset."""
        at = bisect_right(self.lines, line) - 1
        return self.lines[at], self.offsets[at]

    def at(self, offset: int) -> tuple[int, int]:
        """The last point at or before an offset: the line that begins there, and where."""
        at = bisect_right(self.offsets, offset) - 1
        return self.lines[at], self.offsets[at]

    def after(self, line: int, size: int) -> int:
        """An offset at which this line has begun, or the end."""
        at = bisect_left(self.lines, line)
        return self.offsets[at] if at < len(self.offsets) else size

    def packed(self) -> bytes:
        """The index as bytes, the same on every machine."""
        both = self.lines + self.offsets
        if byteorder == "big":
            both.byteswap()
        return both.tobytes()

    @classmethod
    def unpacked(cls, data: bytes) -> LineIndex:
        """The index from its bytes."""
        both = array("Q", data)
        if byteorder == "big":
            both.byteswap()
        half = len(both) // 2
        return cls(both[:half], both[half:])


class LineIndexer:
    """Makes the index while the bytes go by, and counts bytes and lines."""

    def __init__(self) -> None:
        self.size = 0
        self._newlines = 0
        self._ended = True
        self._lines = array("Q", [0])
        self._offsets = array("Q", [0])
        self._step = STEP

    @property
    def lines(self) -> int:
        """How many lines went by; the last one counts without its newline too."""
        return self._newlines + (not self._ended)

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same chunks, indexed as they pass."""
        for chunk in chunks:
            self.feed(chunk)
            yield chunk

    def feed(self, chunk: bytes) -> None:
        """Take in a chunk."""
        if not chunk:
            return
        counted = 0
        while True:
            due = self._offsets[-1] + self._step - self.size
            newline = chunk.find(b"\n", max(due, counted, 1) - 1)
            if newline < 0:
                break
            self._newlines += chunk.count(b"\n", counted, newline + 1)
            counted = newline + 1
            self._lines.append(self._newlines)
            self._offsets.append(self.size + counted)
            if len(self._lines) > MOST_POINTS:
                self._lines, self._offsets = self._lines[::2], self._offsets[::2]
                self._step *= 2
        self._newlines += chunk.count(b"\n", counted)
        self.size += len(chunk)
        self._ended = chunk.endswith(b"\n")

    def index(self) -> LineIndex:
        """The index of all that went by."""
        return LineIndex(self._lines, self._offsets)
