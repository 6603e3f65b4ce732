"""Taking in what a tool gives back: any kind of stream becomes chunks, watched as they pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.outputs.index import Indexing, LineIndex
from fanfold.outputs.source import CHUNK, decoded, encoded
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
        data = _as_bytes(chunk)
        gathered.append(data)
        size += len(data)
        if size >= CHUNK:
            yield from _sliced(gathered[0] if len(gathered) == 1 else b"".join(gathered))
            gathered, size = [], 0
    if size:
        yield b"".join(gathered)


def _as_bytes(chunk: Any) -> bytes:
    if isinstance(chunk, str):
        return encoded(chunk)
    if isinstance(chunk, bytes):
        return chunk
    if isinstance(chunk, bytearray | memoryview):
        return bytes(chunk)
    raise BadInput(f"A stream of output yields texts or bytes, not {type(chunk).__name__}.")


def _sliced(data: bytes) -> Iterator[bytes]:
    if len(data) <= 4 * CHUNK:
        yield data
        return
    for at in range(0, len(data), CHUNK):
        yield data[at : at + CHUNK]


def file_chunks(file: Any) -> Iterator[Any]:
    """What is in an open file, from where it stands."""
    while chunk := file.read(CHUNK):
        yield chunk


class Intake:
    """Watches an output go by: its size, lines, kind, beginning and end."""

    def __init__(self, output: Iterable[Any]) -> None:
        self._pieces = pieces(output)
        self._indexing = Indexing()
        self._ahead: list[bytes] = []
        self._tail = b""
        self.short = self._look_ahead()
        """Whether all of it is at hand, because it ended within the first megabyte."""
        self.head = b"".join(self._ahead) if self.short else b"".join(self._ahead)[:INLINE]

    def _look_ahead(self) -> bool:
        size = 0
        for piece in self._pieces:
            self._ahead.append(piece)
            size += len(piece)
            if size > INLINE:
                return False
        return True

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
        text = decoded(self._tail)
        if self.size <= len(self._tail):
            return text
        return text[cut_after(text, len(decoded(self._tail[:SLACK]))) :]

    @property
    def media(self) -> str:
        """What kind of data it is."""
        return media_of(self.head)

    def index(self) -> LineIndex:
        """Where its lines begin."""
        return self._indexing.index()
