"""Where the bytes of an output come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

CHUNK = 1 << 20


class Source(Protocol):
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


class Stored(msgspec.Struct, frozen=True):
    """An output that a store keeps as a blob."""

    size: int
    fetch: Callable[[int, int], Iterator[bytes]]

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        """A range, in chunks."""
        return self.fetch(start, stop)


def encoded(text: str) -> bytes:
    """A text as it is kept; lone surrogates are kept too."""
    return text.encode("utf-8", "surrogatepass")


def as_text(data: bytes) -> str:
    """Kept bytes as the text that was given; as one that can be shown, where they are no text."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return decoded(data)


def decoded(data: bytes) -> str:
    """Kept bytes as text that can be shown."""
    return data.decode("utf-8", "replace")
