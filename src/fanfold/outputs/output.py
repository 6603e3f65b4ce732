"""An output: a value that reads from wherever its bytes are kept, in memory that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import msgspec

from fanfold.core.errors import BadInput
from fanfold.outputs.grep import TIMEOUT, Hit, Patience, Pattern, Search
from fanfold.outputs.source import ByteSource, LineIndex, as_text, decode
from fanfold.text.data import is_text

WINDOW = 32 * 1024
AT_ONCE = 1 << 20
"""Up to this many bytes between two points of the index are read at once; only a gigantic line takes more."""
LONGEST = 1 << 20
"""A line is returned up to this many bytes; `grep` finds what lies behind."""


class Output(msgspec.Struct, frozen=True, eq=False, dict=True):
    """What a tool returned, or what an edit hides, by its reference."""

    ref: str
    size: int
    """Bytes."""
    line_count: int
    media: str
    source: ByteSource
    load: Callable[[], LineIndex | None] = lambda: None
    """Fetches the index of lines, for an output that has one."""

    def __str__(self) -> str:
        return f"{self.ref}: {bytes_in_words(self.size)}, {self.line_count:,} lines, {self.media}"

    def __repr__(self) -> str:
        return f"<Output {self}>"

    @property
    def is_text(self) -> bool:
        """Whether it can be read and searched as lines of text."""
        return is_text(self.media, self.size)

    @cached_property
    def index(self) -> LineIndex | None:
        """Where its lines begin."""
        return self.load()

    def chunks(self) -> Iterator[bytes]:
        """All its bytes, piece by piece."""
        return self.source.read(0, self.size)

    def bytes(self) -> bytes:
        """All its bytes at once."""
        return b"".join(self.chunks())

    def text(self) -> str:
        """All of it as text, at once; lone surrogates come back as they were."""
        return as_text(self.bytes())

    def lines(self, offset: int = 1, limit: int = 2_000, *, longest: int = LONGEST) -> list[str]:
        """The lines from number `offset` on (counted from 1), each cut at `longest` bytes."""
        if offset < 1 or limit < 0:
            raise BadInput(f"Lines are counted from 1: offset {offset} and limit {limit} lead nowhere.")
        found = _read_lines(self.source, self.index, offset - 1, limit, longest)
        return [decode(line).removesuffix("\r") for line in found]

    def grep(
        self,
        pattern: str,
        before: int = 0,
        after: int = 0,
        limit: int | None = None,
        ignore_case: bool = False,
        *,
        width: int | None = None,
        timeout: float | Patience | None = TIMEOUT,
    ) -> Iterator[Hit]:
        """The lines with a hit, with lines around them; `width` cuts long lines around their hit.

        After `timeout` seconds of searching it raises `TooSlow`; hits that were found before that were yielded.
        """
        if before < 0 or after < 0 or (limit is not None and limit < 0):
            raise BadInput("before, after and limit are numbers of lines; they cannot be negative.")
        patience = timeout if isinstance(timeout, Patience) else Patience(timeout)
        search = Search(Pattern(pattern, ignore_case=ignore_case), patience)
        return search.hits(self.source, self.index, (before, after), limit, width)


def bytes_in_words(size: int) -> str:
    """Bytes in words."""
    if size < 1024:
        return f"{size} bytes"
    for unit in ("KiB", "MiB"):
        size_in = size / 1024
        if size_in < 1024:
            return f"{size_in:,.1f} {unit}"
        size //= 1024
    return f"{size / 1024:,.1f} GiB"


def _read_lines(
    source: ByteSource, index: LineIndex | None, first: int, count: int, most: int = LONGEST
) -> Iterator[bytes]:
    """`count` lines from line `first` on (counted from 0), each cut at `most` bytes, without their newlines."""
    if count <= 0:
        return
    line, start = index.before(first) if index else (0, 0)
    stop = index.after(first + count, source.size) if index else start + WINDOW
    if index and stop - start <= AT_ONCE:
        data, skip = b"".join(source.read(start, stop)), first - line
        lines = data.removesuffix(b"\n").split(b"\n", skip + count)[skip : skip + count] if data else []
        yield from (one[:most] for one in lines)
        return
    for data in _lines(_windows(source, start, stop), most):
        if line >= first + count:
            return
        if line >= first:
            yield data
        line += 1


def _windows(source: ByteSource, start: int, stop: int) -> Iterator[bytes]:
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
