"""Encryption at rest: what is sealed can be read with the key only, and tells when it was changed.

Everything is sealed with AES-256-GCM under a key of its own, made from the store's key and 16 random bytes, so that
no number of records wears the store's key out. A blob is sealed in chunks, each bound to its place, so that a range of
it can be read alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Protocol

from fanfold.errors import BadSetting, Corrupt, MissingExtra, Sealed

SEALED_AT_ONCE = 1 << 16
"""So many bytes of a blob are sealed together; what is stored depends on it."""
_FORMAT = b"\x01"
_SALT, _TAG = 16, 16
_HEAD = len(_FORMAT) + _SALT
_MARK = b"fanfold"
Fetch = Callable[[int, int], Iterable[bytes]]
"""Reads a range of a blob as it is kept."""


class Seal(Protocol):
    """What stands between a store and what it keeps."""

    def close(self, kind: str, data: bytes) -> bytes:
        """Data as it is kept."""

    def open(self, kind: str, data: bytes) -> bytes:
        """The data that was kept."""

    def mark(self) -> bytes:
        """What a new store keeps, to recognise its key by."""

    def fits(self, mark: bytes) -> bool:
        """Whether a store that keeps this mark was sealed so."""

    def size(self, size: int) -> int:
        """How many bytes are kept of a blob of this size."""

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """A blob as it is kept."""

    def range(self, fetch: Fetch, size: int, start: int, stop: int) -> Iterator[bytes]:
        """A range of a blob of this size that was kept."""


class Unsealed:
    """Everything is kept as it is."""

    def close(self, kind: str, data: bytes) -> bytes:
        """The same."""
        return data

    def open(self, kind: str, data: bytes) -> bytes:
        """The same."""
        return data

    def mark(self) -> bytes:
        """Nothing."""
        return b""

    def fits(self, mark: bytes) -> bool:
        """Whether a store is not sealed."""
        return not mark

    def size(self, size: int) -> int:
        """The same."""
        return size

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same."""
        return iter(chunks)

    def range(self, fetch: Fetch, size: int, start: int, stop: int) -> Iterator[bytes]:
        """The same."""
        return iter(fetch(start, stop))


class Key:
    """A key of 32 bytes, or of 64 hexadecimal digits: `secrets.token_hex(32)` makes one."""

    def __init__(self, key: bytes | str) -> None:
        self._key = _key(key)
        self._cipher, self._wrong = _library()

    def close(self, kind: str, data: bytes) -> bytes:
        """Data, sealed; it opens as this kind only."""
        salt = os.urandom(_SALT)
        return _FORMAT + salt + self._under(salt).encrypt(bytes(12), data, kind.encode())  # type: ignore[no-any-return]

    def open(self, kind: str, data: bytes) -> bytes:
        """The data that was sealed."""
        return self._opened(data[:_HEAD], bytes(12), data[_HEAD:], kind.encode())

    def mark(self) -> bytes:
        """A word that is known, sealed."""
        return self.close("mark", _MARK)

    def fits(self, mark: bytes) -> bool:
        """Whether the mark opens with this key."""
        try:
            return self.open("mark", mark) == _MARK
        except Corrupt:
            return False

    def size(self, size: int) -> int:
        """A head, and a tag to every chunk; an empty blob has one chunk too."""
        return _HEAD + size + _TAG * (_last(size) + 1)

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """A blob, sealed chunk by chunk. The last chunk says so, hence none can be missing at the end."""
        salt = os.urandom(_SALT)
        cipher = self._under(salt)
        yield _FORMAT + salt
        even = _even(chunks)
        number, held = 0, next(even, b"")
        for number, later in enumerate(even, 1):
            yield cipher.encrypt(_nonce(number - 1), held, b"chunk")
            held = later
        yield cipher.encrypt(_nonce(number), held, b"last chunk")

    def range(self, fetch: Fetch, size: int, start: int, stop: int) -> Iterator[bytes]:
        """The chunks that hold a range, opened, and cut to it."""
        if start >= stop:
            return
        head = b"".join(fetch(0, _HEAD))
        first, last = start // SEALED_AT_ONCE, (stop - 1) // SEALED_AT_ONCE
        kept = fetch(
            _HEAD + first * (SEALED_AT_ONCE + _TAG),
            min(_HEAD + (last + 1) * (SEALED_AT_ONCE + _TAG), self.size(size)),
        )
        for number, data in enumerate(_even(kept, SEALED_AT_ONCE + _TAG), first):
            what = b"last chunk" if number == _last(size) else b"chunk"
            chunk = self._opened(head, _nonce(number), data, what)
            yield chunk[max(0, start - number * SEALED_AT_ONCE) : stop - number * SEALED_AT_ONCE]

    def _under(self, salt: bytes) -> Any:
        """The cipher under the key that belongs to a salt."""
        return self._cipher(blake2b(salt, key=self._key, digest_size=32, person=_MARK).digest())

    def _opened(self, head: bytes, nonce: bytes, data: bytes, what: bytes) -> bytes:
        try:
            return bytes(self._under(head[len(_FORMAT) :]).decrypt(nonce, data, what))
        except (self._wrong, ValueError) as error:
            raise Corrupt("What was sealed was changed, or sealed with another key.") from error


def _key(key: bytes | str) -> bytes:
    try:
        data = bytes.fromhex(key) if isinstance(key, str) else bytes(key)
    except ValueError:
        data = b""
    if len(data) != 32:
        raise BadSetting("A key is 32 bytes, or 64 hexadecimal digits: `secrets.token_hex(32)` makes one.")
    return data


def _library() -> tuple[Any, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingExtra("Install `fanfold[encryption]` to keep a store under a key.") from None
    return AESGCM, InvalidTag


def _last(size: int) -> int:
    """The number of a blob's last chunk."""
    return max(0, size - 1) // SEALED_AT_ONCE


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _even(chunks: Iterable[bytes], size: int = SEALED_AT_ONCE) -> Iterator[bytes]:
    """The same bytes in chunks of one size; only the last may be shorter, none is empty."""
    held = bytearray()
    for chunk in chunks:
        held += chunk
        at = 0
        while len(held) - at >= size:
            yield bytes(held[at : at + size])
            at += size
        del held[:at]
    if held:
        yield bytes(held)


def seal_with(key: bytes | str | None) -> Seal:
    """What seals with this key; nothing is sealed without one."""
    return Key(key) if key is not None else Unsealed()


def check_mark(seal: Seal, mark: bytes, place: object) -> None:
    """Refuse a store that is sealed otherwise."""
    if seal.fits(mark):
        return
    if not mark:
        raise Sealed(
            f"{place} is not sealed, so it takes no key, of FANFOLD_KEY neither. "
            "Export its sessions, and import them into a new one."
        )
    if isinstance(seal, Unsealed):
        raise Sealed(f"{place} is sealed: give its `key`, or put it into FANFOLD_KEY.")
    raise Sealed(f"{place} is sealed with another key than this one. Without that key nobody can read it.")
