"""Packed bodies: unpacked here to be read, and never more of them than there is room for.

A few kilobytes may stand for gigabytes, in a request and in a reply.
"""

from __future__ import annotations

import zlib
from typing import Any, Protocol

from fanfold.gateway.safety import Refused, too_large

_SLICE = 1 << 10
"""zstd makes 32 MiB of so many bytes at the most, and cannot be told to stop earlier."""
_WIDEST = 1 << 27
_KNOWN = ("gzip", "x-gzip", "deflate", "zstd")


class TooMuch(ValueError):
    """More comes out of a packed body than is taken."""


class Unpacking(Protocol):
    """Something that unpacks pieces, as they come."""

    @property
    def is_whole(self) -> bool:
        """Whether the end has come, and nothing behind it."""

    def decompress(self, data: bytes, /) -> bytes:
        """What comes of the next piece; `ValueError` where it cannot be read, or is too much in all."""


class _Inflating:
    def __init__(self, bits: int, most: int) -> None:
        self._inside, self._left = zlib.decompressobj(bits), most

    @property
    def is_whole(self) -> bool:
        return self._inside.eof and not self._inside.unused_data

    def decompress(self, data: bytes, /) -> bytes:
        try:
            made = self._inside.decompress(data, self._left + 1)
        except zlib.error as error:
            raise ValueError("These bytes are not packed so.") from error
        self._left -= len(made)
        if self._left < 0:
            raise TooMuch
        return made


class _ReadingZstd:
    def __init__(self, most: int) -> None:
        import zstandard  # late: few clients pack so

        self._inside: Any = zstandard.ZstdDecompressor(max_window_size=_WIDEST).decompressobj()
        self._error, self._left, self._goes_on = zstandard.ZstdError, most, False

    @property
    def is_whole(self) -> bool:
        return bool(self._inside.eof) and not self._goes_on and not self._inside.unused_data

    def decompress(self, data: bytes, /) -> bytes:
        made: list[bytes] = []
        for at in range(0, len(data), _SLICE):
            if self._inside.eof:
                self._goes_on = True
                break
            try:
                made.append(self._inside.decompress(data[at : at + _SLICE]))
            except self._error as error:
                raise ValueError("These bytes are not packed so.") from error
            self._left -= len(made[-1])
            if self._left < 0:
                raise TooMuch
        return b"".join(made)


def unpacking(coding: str | None, most: int) -> Unpacking | None:
    """What unpacks this content coding, up to so many bytes; None where nothing is packed, or nobody here knows how."""
    match (coding or "").strip().lower():
        case "gzip" | "x-gzip":
            return _Inflating(31, most)
        case "deflate":
            return _Inflating(15, most)
        case "zstd":
            return _ReadingZstd(most)
    return None


def is_packed(coding: str | None) -> bool:
    """Whether a body is packed in any way."""
    return (coding or "identity").strip().lower() not in ("identity", "")


def is_readable(coding: str | None) -> bool:
    """Whether a body of this content coding can be read here."""
    return coding is None or not is_packed(coding) or coding.strip().lower() in _KNOWN


def unpack(body: bytes, coding: str | None, most: int) -> bytes:
    """A body as it was before it was packed; never more than `most` bytes of it are taken."""
    if not is_packed(coding):
        return body
    reader = unpacking(coding, most)
    if reader is None:
        raise Refused(
            415, f"The body is packed with {str(coding)[:40]!r}: gzip, deflate and zstd are known here."
        )
    try:
        data = reader.decompress(body)
    except TooMuch:
        raise too_large(most) from None
    except ValueError:
        raise Refused(400, "The packed body cannot be read.") from None
    if not reader.is_whole:
        raise Refused(400, "The packed body ends in the middle, or something follows its end.")
    return data
