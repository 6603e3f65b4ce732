"""Everything that a store keeps in another form: with a checksum or a seal for its place, or under another key.

What is damaged already stays as it is: it had no checksum, or does not open, and so it is noticed whenever it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fanfold.core.errors import Corrupt, Sealed
from fanfold.core.ids import entry_id
from fanfold.core.record import Record
from fanfold.stores.coding import Coding, read
from fanfold.stores.places import entry_place
from fanfold.stores.sealing import Fetch, Key, Seal

FORMAT = 2
"""What a store keeps is bound to its place."""


class Change(Protocol):
    """What becomes of each thing that is kept; None where nothing was."""

    seal: Seal
    """What seals it from now on."""

    def record(self, place: bytes, data: bytes | None) -> bytes | None:
        """A record."""

    def entry(self, tenant: str, id: str, parent: str | None, data: bytes) -> bytes:
        """An entry."""

    def checkpoint(self, place: bytes, data: bytes) -> bytes:
        """A checkpoint."""

    def proof(self, place: bytes, data: bytes | None, fetch: Fetch) -> bytes | None:
        """What a blob is read and checked by."""


class Upgrading:
    """What an earlier release kept, which had no checksum, or a seal that said nothing of its place."""

    def __init__(self, coding: Coding) -> None:
        self.seal = coding.seal
        self._coding = coding

    def record(self, place: bytes, data: bytes | None) -> bytes | None:
        """A record that can be read; an empty one where there was none."""
        if not data:
            return self.seal.close(place, b"")
        return self._bound(place, "record", data, lambda plain: read(plain, Record))

    def entry(self, tenant: str, id: str, parent: str | None, data: bytes) -> bytes:
        """An entry that is what its id says."""

        def check(plain: bytes) -> None:
            entry = self._coding.unpacked(id, parent, plain)
            if entry.erased is None and entry_id(parent, entry.message) != id:
                raise Corrupt("The message is not what its id says.")

        return self._bound(entry_place(tenant, id, parent), f"entry {id}", data, check)

    def checkpoint(self, place: bytes, data: bytes) -> bytes:
        """A checkpoint."""
        return self._bound(place, "checkpoint", data, lambda plain: None)

    def proof(self, place: bytes, data: bytes | None, fetch: Fetch) -> bytes | None:
        """The key of a sealed blob, bound to its place; of one that is not sealed, it is made when it is read."""
        try:
            found = self.seal.former_proof(fetch)
        except Corrupt:
            return None
        return self.seal.close(place, found) if found is not None else None

    def _bound(self, place: bytes, kind: str, data: bytes, check: Callable[[bytes], object]) -> bytes:
        try:
            plain = self.seal.former(kind, data)
            check(plain)
        except Corrupt:
            return data
        return self.seal.close(place, plain)


class Rekeying:
    """What is sealed with one key, sealed with another."""

    def __init__(self, old: Seal, new: Seal) -> None:
        self._old = old
        self.seal = new

    def record(self, place: bytes, data: bytes | None) -> bytes | None:
        """A record."""
        return self._sealed(place, data) if data is not None else None

    def entry(self, tenant: str, id: str, parent: str | None, data: bytes) -> bytes:
        """An entry."""
        return self._sealed(entry_place(tenant, id, parent), data)

    def checkpoint(self, place: bytes, data: bytes) -> bytes:
        """A checkpoint."""
        return self._sealed(place, data)

    def proof(self, place: bytes, data: bytes | None, fetch: Fetch) -> bytes | None:
        """The key of a blob; the blob itself stays as it is."""
        return self._sealed(place, data) if data is not None else None

    def _sealed(self, place: bytes, data: bytes) -> bytes:
        try:
            return self.seal.close(place, self._old.open(place, data))
        except Corrupt:
            return data


def new_key(old: Seal, key: bytes | str, place: object) -> Key:
    """What seals with another key, for a store that is sealed."""
    new = Key(key)
    if not isinstance(old, Key):
        raise Sealed(
            f"{place} is not sealed, so there is no key to change. "
            "To seal it, export its sessions, and import them into a new store with a key."
        )
    return new


def changed_key(place: object) -> Sealed:
    """What to say to somebody who had a store open when its key was changed."""
    return Sealed(f"The key of {place} was changed meanwhile: open it anew with the new one.")
