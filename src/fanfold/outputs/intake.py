"""Taking in what a tool returns: any kind of stream becomes chunks, watched as they go by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.outputs.source import CHUNK, LineIndex, LineIndexer, decode, encode
from fanfold.text.cutting import cut_after
from fanfold.text.data import media_of

INLINE = 1 << 20
"""A text of up to this many bytes is recorded in its entry; a longer one as a blob."""
TAIL = 64 * 1024
SLACK = 64 * 1024
"""So many bytes more than the tail are kept, to find where it can begin."""
_KEPT = TAIL + SLACK


def pieces(output: Iterable[Any]) -> Iterator[bytes]:
    """Chunks of text or bytes as bytes of about a megabyte: many small ones are put together."""
    gathered: list[bytes] = []
    size = 0
    for chunk in output:
        if not isinstance(chunk, str | bytes | bytearray | memoryview):
            raise BadInput(f"A stream of output yields texts or bytes, not {type(chunk).__name__}.")
        data = encode(chunk) if isinstance(chunk, str) else bytes(chunk)
        gathered.append(data)
        size += len(data)
        if size >= CHUNK:
            data = gathered[0] if len(gathered) == 1 else b"".join(gathered)
            step = CHUNK if size > 4 * CHUNK else size
            yield from (data[at : at + step] for at in range(0, size, step))
            gathered, size = [], 0
    if size:
        yield b"".join(gathered)


def file_chunks(file: Any) -> Iterator[Any]:
    """What is in an open file, from where it stands."""
    while chunk := file.read(CHUNK):
        yield chunk


class OutputIntake:
    """Watches an output go by: its size, lines, kind, beginning and end."""

    def __init__(self, output: Iterable[Any]) -> None:
        self._pieces = pieces(output)
        self._indexing = LineIndexer()
        self._ahead: list[bytes] = []
        self._tail = b""
        size = 0
        while size <= INLINE and (piece := next(self._pieces, None)) is not None:
            self._ahead.append(piece)
            size += len(piece)
        self.short = size <= INLINE
        """Whether all of it is at hand, because it ended within the first megabyte."""
        self.head = b"".join(self._ahead)[:INLINE]

    def chunks(self) -> Iterator[bytes]:
        """All of it, once."""
        ahead, self._ahead = self._ahead, []
        for chunk in self._indexing.watch(chain(ahead, self._pieces)):
            self._tail = (self._tail + chunk if len(chunk) < _KEPT else chunk)[-_KEPT:]
            yield chunk

    @property
    def size(self) -> int:
        """Bytes that went by."""
        return self._indexing.size

    @property
    def lines(self) -> int:
        """Lines that went by."""
        return self._indexing.lines

    @property
    def tail(self) -> str:
        """Its last bytes as text, which begins with a whole character and outside of an escape sequence."""
        text = decode(self._tail)
        if self.size <= len(self._tail):
            return text
        return text[cut_after(text, len(decode(self._tail[:SLACK]))) :]

    @property
    def media(self) -> str:
        """What kind of data it is."""
        return media_of(self.head)

    def index(self) -> LineIndex:
        """Where its lines begin."""
        return self._indexing.index()
