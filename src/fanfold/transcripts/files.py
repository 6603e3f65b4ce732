"""Where bytes come from: files, folders, standard input, gzip and zstandard."""

from __future__ import annotations

import gzip
import importlib
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from fanfold.core.errors import BadInput, MissingExtra
from fanfold.transcripts.recording import Recording

GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
BUFFER = 1 << 18
ZSTD_STEP = 1024
"""Compressed bytes at a time: they can become 32 MiB, the most that hostile data can demand at once."""
DEEPEST_PACKING = 4
"""Layers of compression that are taken off before it counts as a trap."""

EVENT = re.compile(r"(event-)?\d+(-.*)?\.json")
"""How OpenHands names the file of an event."""

Origin = str | os.PathLike[str] | IO[bytes] | IO[str]


class _Pulled(io.RawIOBase):
    """Anything with `read(n)`, bytes or text, as a raw stream."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner, self.name, self._rest = inner, name, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            got = self._pull(len(buffer))
            self._rest = got.encode("utf-8", "surrogatepass") if isinstance(got, str) else bytes(got or b"")
        piece, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(piece)] = piece
        return len(piece)

    def _pull(self, size: int) -> Any:
        return self._inner.read(size)


class _Unpacked(_Pulled):
    """A decompressed stream whose damage is a `BadInput` that names the file."""

    def __init__(self, inner: Any, name: str, kind: str, damage: tuple[type[Exception], ...]) -> None:
        super().__init__(inner, name)
        self._kind, self._damage = kind, damage

    def _pull(self, size: int) -> Any:
        try:
            return super()._pull(size)
        except EOFError:
            raise BadInput(f"{self.name}: the {self._kind} data ends early; the file is cut off.") from None
        except self._damage as error:
            raise BadInput(f"{self.name}: the {self._kind} data is damaged ({error}).") from None


class _Frames:
    """Zstandard frames through the `zstandard` package, whose own reader keeps silent about a cut end."""

    def __init__(self, module: Any, stream: io.BufferedReader) -> None:
        self._module, self._stream = module, stream
        self._frame = module.ZstdDecompressor().decompressobj()
        self._rest = b""

    def read(self, size: int) -> bytes:
        while not self._rest and (packed := self._next_bytes()):
            self._rest = self._frame.decompress(packed)
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def _next_bytes(self) -> bytes:
        """The next compressed bytes, of the next frame if one has ended."""
        if not self._frame.eof:
            packed = self._stream.read(ZSTD_STEP)
            if not packed:
                raise EOFError
            return packed
        packed = self._frame.unused_data or self._stream.read(ZSTD_STEP)
        self._frame = self._module.ZstdDecompressor().decompressobj() if packed else self._frame
        return packed


class _Rejoined:
    """A stream, and before it what was already read of it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def read(self, size: int) -> bytes:
        return self._head.read(size) or self._rest.read(size)


def name_of(origin: Origin) -> str:
    """What to call this file in errors and in `Conversation.source`."""
    if isinstance(origin, str | os.PathLike):
        return os.fspath(origin)
    name = getattr(origin, "name", None)
    return name if isinstance(name, str) else "-"


def open_path(origin: Origin, name: str) -> io.BufferedReader:
    """The bytes of a file, of standard input (`-`) or of an open file, not yet decompressed."""
    if origin == "-":
        return buffer(sys.stdin.buffer)
    if not isinstance(origin, str | os.PathLike):
        return buffer(cast("BinaryIO", origin))
    try:
        return buffer(open(origin, "rb", buffering=BUFFER))
    except (OSError, ValueError) as error:
        raise BadInput(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def buffer(stream: BinaryIO) -> io.BufferedReader:
    """The stream with a buffer one can peek into."""
    if isinstance(stream, io.BufferedReader):
        return cast("io.BufferedReader", stream)
    return io.BufferedReader(_Pulled(stream, name_of(stream)), BUFFER)


def load(path: Path) -> Any:
    """The one JSON value of a small file."""
    with open_path(path, str(path)) as stream:
        return next(Recording(stream, str(path)).rows()).value


def rejoin(head: bytes, rest: BinaryIO, name: str) -> io.BufferedReader:
    """The stream as it was before its head was read."""
    return io.BufferedReader(_Pulled(_Rejoined(head, rest), name), BUFFER)


def unpack(stream: io.BufferedReader, name: str) -> io.BufferedReader:
    """The stream without its gzip or zstandard wrapping, judged by its first bytes."""
    for _ in range(DEEPEST_PACKING):
        head = peek_at(stream, name)
        if head.startswith(GZIP):
            raw = _Unpacked(gzip.GzipFile(fileobj=stream), name, "gzip", (OSError, zlib.error))
        elif head.startswith(ZSTD):
            raw = _zstd(stream, name)
        else:
            return stream
        stream = io.BufferedReader(raw, BUFFER)
    raise BadInput(f"{name}: compressed more than {DEEPEST_PACKING} times over.")


def peek_at(stream: io.BufferedReader, name: str) -> bytes:
    """The first bytes, without taking them."""
    try:
        return stream.peek(len(ZIP))[: len(ZIP)]
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror or error}.") from None


def _zstd(stream: io.BufferedReader, name: str) -> _Unpacked:
    try:
        module = importlib.import_module("compression.zstd")  # Python 3.14
        return _Unpacked(module.ZstdFile(stream), name, "zstandard", (OSError, module.ZstdError))
    except ImportError:
        pass
    try:
        module = importlib.import_module("zstandard")
    except ImportError:
        raise MissingExtra(f"{name} is zstandard data. To read it, run: pip install 'fanfold[zst]'") from None
    return _Unpacked(_Frames(module, stream), name, "zstandard", (OSError, module.ZstdError))


def walk(folder: Path) -> Iterator[Path]:
    """Every plain file below a folder, sorted; what begins with a dot is left out.

    A folder that holds conversations only as a whole is given as one path and not entered.
    """
    for here, folders, names in os.walk(folder):
        if is_store(Path(here)) or is_event_folder(Path(here)):
            folders.clear()
            yield Path(here)
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(here, name) for name in sorted(names) if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def is_store(folder: Path) -> bool:
    """Is this OpenCode's storage folder?"""
    return (folder / "message").is_dir() and ((folder / "session").is_dir() or (folder / "info").is_dir())


def is_event_folder(folder: Path) -> bool:
    """Is this the folder in which OpenHands keeps a conversation, a file for each event?"""
    return folder.name == "events" and any(EVENT.fullmatch(path.name) for path in folder.glob("*.json"))
