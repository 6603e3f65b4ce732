"""What stands between a store and its rows: checksums, or, where there is a key, encryption at rest.

Everything belongs to a place: a tenant, a kind, and an id or a number. A checksum or a seal covers the place too, so a
row that is damaged, or that was moved to another place, is never taken for what was kept there.

With a key, everything is sealed with AES-256-GCM under a key of its own, made from the store's key and 16 random bytes,
so that no number of records wears the store's key out. A blob is sealed in chunks, each bound to its number, so that a
range of it can be read alone. The key of a blob is kept beside it as its proof, sealed and bound to its place: that is
why a new key for the store does not change the blobs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import Any
from zlib import crc32

from fanfold.core.errors import BadSetting, Corrupt, MissingExtra, Sealed

CHUNK = 1 << 16
"""So many bytes of a blob are sealed or summed together; what is stored depends on it."""
_FORMER, _FORMAT = b"\x01", b"\x02"
"""How what was sealed begins: without a place, as earlier releases did and blobs do, and bound to one."""
_SALT, _TAG, _SUM, _CHUNK_SUM = 16, 16, 8, 4
HEAD = len(_FORMAT) + _SALT
"""So many bytes stand before the chunks of a sealed blob."""
_MARK = b"fanfold"
_MARK_PLACE = b"mark"
Fetch = Callable[[int, int], Iterable[bytes]]
"""Reads a range of a blob as it is kept."""


LINES = 1 << 32
"""So many lines a session may have in an SQLite file; a line's key is the session's number times this, plus its own."""


def as_bytes(name: str) -> bytes:
    """A name or an id as it is kept: any text can be one, even with a lone surrogate or a NUL in it."""
    return name.encode("utf-8", "surrogatepass")


def _place(kind: str, *names: str) -> bytes:
    """A place; no two have the same bytes, whatever the names are."""
    kept = [as_bytes(name) for name in (kind, *names)]
    return repr([len(name) for name in kept]).encode() + b"".join(kept)


@lru_cache(64)
def _tenant_place(tenant: str) -> bytes:
    return _place("entry", tenant)


def entry_place(tenant: str, id: str, parent: str | None) -> bytes:
    """Where an entry belongs. Ids hold no line break, so no two entries share a place."""
    return _tenant_place(tenant) + as_bytes(f"{id}\n{parent or ''}")


@lru_cache(256)
def session_place(tenant: str, session: str) -> bytes:
    """Where the records of a session belong; `place_at` gives each its own."""
    return _place("record", tenant, session)


def place_at(place: bytes, number: int) -> bytes:
    """The place with this number within another: that of one record of a session."""
    return place + number.to_bytes(8, "big")


def checkpoint_place(tenant: str, session: str, seq: int) -> bytes:
    """Where a checkpoint belongs."""
    return place_at(_place("checkpoint", tenant, session), seq)


@lru_cache(256)
def summary_place(tenant: str, session: str) -> bytes:
    """Where the summaries of a session belong."""
    return _place("summary", tenant, session)


def signature_place(tenant: str, session: str, block: int) -> bytes:
    """Where the signature of a block belongs."""
    return place_at(_place("signature", tenant, session), block)


def proof_place(tenant: str, id: str, size: int) -> bytes:
    """Where the proof of a blob belongs."""
    return place_at(_place("blob", tenant, id), size)


def name_sum(*names: str) -> bytes:
    """A short hash of names; it finds a tenant or a session whose name is damaged."""
    return sha256(_place("name", *names)).digest()[:8]


class Unsealed:
    """Without a key everything is kept as it is, with a checksum of itself and its place."""

    def close(self, place: bytes, data: bytes) -> bytes:
        """Data as it is kept in a place: with its checksum."""
        return data + _sum(place, data)

    def open(self, place: bytes, data: bytes) -> bytes:
        """The data that was kept in this place, if its checksum is right."""
        kept, check = data[:-_SUM], data[-_SUM:]
        if _sum(place, kept) != check:
            raise Corrupt("What was kept here was changed, so it cannot be read.")
        return kept

    def former(self, kind: str, data: bytes) -> bytes:
        """The data that an earlier release kept, which did not say in which place: it had no checksum."""
        return data

    def mark(self) -> bytes:
        """What a new store keeps to recognise its key by: nothing."""
        return b""

    def fits(self, mark: bytes) -> bool:
        """Whether a store that keeps this mark was closed so."""
        return not mark

    def size(self, size: int) -> int:
        """How many bytes are kept of a blob of this size."""
        return size

    def wrap(self) -> Wrap:
        """What takes one blob in: it sums the chunks."""
        return _Sums()

    def range(self, fetch: Fetch, proof: bytes, size: int, start: int, stop: int) -> Iterator[bytes]:
        """A range of a blob of this size: the chunks that hold it, each compared with its checksum, and cut."""
        if start >= stop:
            return
        first, last = start // CHUNK, (stop - 1) // CHUNK
        number = first - 1
        for number, data in enumerate(_even(fetch(first * CHUNK, min((last + 1) * CHUNK, size))), first):
            if _chunk_sum(data) != proof[number * _CHUNK_SUM : (number + 1) * _CHUNK_SUM]:
                break
            yield data[max(0, start - number * CHUNK) : stop - number * CHUNK]
        else:
            number += 1
        if number <= last:
            raise Corrupt("What was kept here was changed, so it cannot be read.")

    def former_proof(self, fetch: Fetch) -> bytes | None:
        """The proof of a blob that an earlier release kept; None, because all of it has to be summed."""
        return None


class Plain(Unsealed):
    """Everything is kept as it is: for what is not kept for long, and for stores that look after damage themselves."""

    def close(self, place: bytes, data: bytes) -> bytes:
        """The same."""
        return data

    def open(self, place: bytes, data: bytes) -> bytes:
        """The same."""
        return data


class _Sums:
    """A blob that is kept as it is, and the checksums of its chunks."""

    head = b""

    def __init__(self) -> None:
        self._sums: list[bytes] = []

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same, in chunks of one size."""
        for chunk in _even(chunks):
            self._sums.append(_chunk_sum(chunk))
            yield chunk

    @property
    def proof(self) -> bytes:
        """The checksums, one after the other."""
        return b"".join(self._sums)


class Key:
    """A key of 32 bytes, or of 64 hexadecimal digits: `secrets.token_hex(32)` makes one."""

    def __init__(self, key: bytes | str) -> None:
        try:
            self._key = bytes.fromhex(key) if isinstance(key, str) else bytes(key)
        except ValueError:
            self._key = b""
        if len(self._key) != 32:
            raise BadSetting(
                "A key is 32 bytes, or 64 hexadecimal digits: `secrets.token_hex(32)` makes one."
            )
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise MissingExtra(
                "To keep a store under a key, run: pip install 'fanfold[encryption]'"
            ) from None
        self._cipher: Any = AESGCM
        self._wrong = InvalidTag

    def close(self, place: bytes, data: bytes) -> bytes:
        """Data, sealed; it opens in this place only."""
        salt = os.urandom(_SALT)
        sealed = self._cipher(self._derive(salt)).encrypt(bytes(12), data, place)
        return _FORMAT + salt + sealed  # type: ignore[no-any-return]

    def open(self, place: bytes, data: bytes) -> bytes:
        """The data that was sealed."""
        return self._open(_FORMAT, place, data)

    def former(self, kind: str, data: bytes) -> bytes:
        """The data that was sealed as this kind."""
        return self._open(_FORMER, kind.encode(), data)

    def mark(self) -> bytes:
        """A word that is known, sealed."""
        return self.close(_MARK_PLACE, _MARK)

    def fits(self, mark: bytes) -> bool:
        """Whether the mark opens with this key."""
        for format in (_FORMAT, _FORMER):
            with suppress(Corrupt):
                return self._open(format, _MARK_PLACE, mark) == _MARK
        return False

    def size(self, size: int) -> int:
        """A head, and a tag to every chunk; an empty blob has one chunk too."""
        return HEAD + size + _TAG * (_last(size) + 1)

    def wrap(self) -> Wrap:
        """What seals a blob, under a key of its own."""
        salt = os.urandom(_SALT)
        return _Sealing(_FORMER + salt, self._derive(salt), self._cipher)

    def range(self, fetch: Fetch, proof: bytes, size: int, start: int, stop: int) -> Iterator[bytes]:
        """The chunks that hold a range, opened, and cut to it."""
        if start >= stop:
            return
        cipher = self._cipher(proof)
        first, last = start // CHUNK, (stop - 1) // CHUNK
        kept = fetch(HEAD + first * (CHUNK + _TAG), min(HEAD + (last + 1) * (CHUNK + _TAG), self.size(size)))
        number = first - 1
        for number, data in enumerate(_even(kept, CHUNK + _TAG), first):
            what = b"last chunk" if number == _last(size) else b"chunk"
            chunk = self._decrypt(cipher, _nonce(number), data, what)
            yield chunk[max(0, start - number * CHUNK) : stop - number * CHUNK]
        if number < last:
            raise Corrupt("What was sealed was cut off.")

    def former_proof(self, fetch: Fetch) -> bytes | None:
        """The key that belongs to the salt before its chunks."""
        return self._derive(b"".join(fetch(0, HEAD))[len(_FORMER) :])

    def _derive(self, salt: bytes) -> bytes:
        return blake2b(salt, key=self._key, digest_size=32, person=_MARK).digest()

    def _open(self, format: bytes, place: bytes, data: bytes) -> bytes:
        if not data.startswith(format):
            raise Corrupt("What was sealed was changed, or is not sealed.")
        cipher = self._cipher(self._derive(data[len(format) : HEAD]))
        return self._decrypt(cipher, bytes(12), data[HEAD:], place)

    def _decrypt(self, cipher: Any, nonce: bytes, data: bytes, what: bytes) -> bytes:
        try:
            return bytes(cipher.decrypt(nonce, data, what))
        except (self._wrong, ValueError) as error:
            raise Corrupt(
                "What was sealed was changed or moved here, or was sealed with another key."
            ) from error


class _Sealing:
    """A blob that is being sealed chunk by chunk. The last chunk says so, hence none can be missing at the end."""

    def __init__(self, head: bytes, key: bytes, cipher: Any) -> None:
        self.head = head
        self.proof = key
        self._cipher = cipher(key)

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """A head, and then the chunks, sealed."""
        yield self.head
        even = _even(chunks)
        number, held = 0, next(even, b"")
        for number, later in enumerate(even, 1):
            yield self._cipher.encrypt(_nonce(number - 1), held, b"chunk")
            held = later
        yield self._cipher.encrypt(_nonce(number), held, b"last chunk")


def _sum(place: bytes, data: bytes) -> bytes:
    """The checksum of data in its place: 8 bytes of SHA-256, which machines compute fastest."""
    total = sha256(place)
    total.update(data)
    return total.digest()[:_SUM]


def _chunk_sum(data: bytes) -> bytes:
    """A faster one for chunks: the doctor also compares a whole blob with the hash in its name."""
    return crc32(data).to_bytes(_CHUNK_SUM, "big")


def _last(size: int) -> int:
    """The number of a blob's last chunk."""
    return max(0, size - 1) // CHUNK


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _even(chunks: Iterable[bytes], size: int = CHUNK) -> Iterator[bytes]:
    """The same bytes in chunks of equal size; only the last may be shorter, none is empty."""
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


Wrap = _Sums | _Sealing
"""One blob on its way in. Its `proof`, known at its end, reads and checks ranges of it; a `head` makes it unique."""
Seal = Unsealed | Key
"""What stands between a store and what it keeps."""


def seal_with(key: bytes | str | None) -> Seal:
    """What seals with this key; without one, there are checksums."""
    return Key(key) if key is not None else Unsealed()


def check_mark(seal: Seal, mark: bytes, place: object) -> None:
    """Refuse a store that is sealed otherwise."""
    if not isinstance(mark, bytes):
        raise Corrupt(f"{place} is damaged where it says how it is sealed. Bring back a copy of it.")
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
