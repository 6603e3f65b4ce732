"""Reading lines of an output, in memory that depends on the lines asked for only."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.outputs.index import LineIndex
from fanfold.outputs.source import Source

WINDOW = 32 * 1024
AT_ONCE = 1 << 20
"""A range between two points of the index, unless a line in it is gigantic, is read at once."""
LONGEST = 1 << 20
"""A line is given up to this many bytes; what lies behind is found with grep."""


def lines_of(
    source: Source, index: LineIndex | None, first: int, count: int, most: int = LONGEST
) -> Iterator[bytes]:
    """`count` lines from line `first` on (counted from 0), each cut at `most` bytes, without their newlines."""
    if count <= 0:
        return
    line, start = index.before(first) if index else (0, 0)
    stop = index.after(first + count, source.size) if index else start + WINDOW
    if index and stop - start <= AT_ONCE:
        yield from _sliced(b"".join(source.read(start, stop)), first - line, count, most)
        return
    for data in _lines(_windows(source, start, stop), most):
        if line >= first + count:
            return
        if line >= first:
            yield data
        line += 1


def _sliced(data: bytes, skip: int, count: int, most: int) -> list[bytes]:
    """Some of the lines in a piece that ends with a line."""
    lines = data.removesuffix(b"\n").split(b"\n", skip + count)[skip : skip + count] if data else []
    return [line[:most] for line in lines] if len(data) > most else lines


def _windows(source: Source, start: int, stop: int) -> Iterator[bytes]:
    """The bytes from `start` on: what is likely enough first, then ever larger windows."""
    while start < source.size:
        stop = min(max(stop, start + WINDOW), source.size)
        yield from source.read(start, stop)
        start, stop = stop, stop + min(4 * (stop - start), 64 * WINDOW)


def _lines(chunks: Iterator[bytes], most: int) -> Iterator[bytes]:
    """The lines in some chunks; of a longer one, its first `most` bytes."""
    begun, opened = b"", False
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        if ended:
            yield (begun + ended[0][: most - len(begun)])[:most]
            yield from (line[:most] for line in ended[1:])
            begun, opened = b"", False
        begun = (begun + rest[:most])[:most]
        opened = opened or bool(rest)
    if opened:
        yield begun
