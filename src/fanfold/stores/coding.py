"""Names, records, entries and checkpoints as bytes, and back; and all of them in another form.

Lone surrogates, integers beyond 64 bits, NaN and the order of keys survive. A message that came over the wire is
kept as it came, and its dialect reads its parts again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from fanfold.core.errors import Corrupt, FanfoldError, Sealed
from fanfold.core.ids import entry_id, pack, read_extension, unpack
from fanfold.core.message import Message, Wire
from fanfold.core.record import Opened, Record
from fanfold.core.tree import Entry, missing
from fanfold.dialects.dialect import Dialect
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.sealing import (
    Fetch,
    Key,
    Plain,
    Seal,
    entry_place,
    place_at,
    session_place,
    summary_place,
)
from fanfold.stores.store import Scrub
from fanfold.stores.summary import Summary

T = TypeVar("T")
Dialects = Callable[[str], Dialect]
BOUND = 2
"""The format since which everything is bound to its place."""
ECHOED = 3
"""The format since which every entry has the present echo, and a prefix."""
FORMAT = 4
"""The format in which sessions are found by what they name."""


class _KeptEntry(msgspec.Struct, frozen=True, array_like=True):
    """An entry beside its id and its parent's, which have columns of their own."""

    echo: str
    depth: int
    erased: str | None
    message: Message | None
    """None where the wire form says it all."""
    dialect: str | None = None
    body: Any = None
    echoes: tuple[str, ...] = ()
    prefix: str = ""
    imported: bool = False


_RECORDS: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record, ext_hook=read_extension)
_ENTRIES = msgspec.msgpack.Decoder(_KeptEntry, ext_hook=read_extension)


def as_text(kept: bytes) -> str:
    """The name or id that was kept."""
    try:
        return kept.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError) as error:
        raise Corrupt("A name or an id is damaged: it is no text. `fanfold doctor` says which.") from error


def readable_name(kept: object) -> str:
    """A name or an id to show to people, whatever it is."""
    return kept.decode("utf-8", "replace") if isinstance(kept, bytes) else repr(kept)


def known_dialects(name: str) -> Dialect:
    """The dialect of this name, among those that fanfold knows."""
    from fanfold.dialects.registry import dialect_named  # late: dialects are imported when first spoken

    return dialect_named(name)


def is_relabelled(rows: Iterable[tuple[int, Record]], changed: Container[int]) -> bool:
    """Whether a scrub changed the labels of a session: its summary repeats them, and is made anew then."""
    return any(isinstance(record, Opened) and number in changed for number, record in rows)


class Coding:
    """Writes, seals and reads what a store keeps; each dialect is looked up once."""

    def __init__(self, dialects: Dialects = known_dialects, seal: Seal | None = None) -> None:
        self.seal = seal or Plain()
        self._look_up = dialects
        self._dialects: dict[str, Dialect | None] = {}

    def record(self, record: Record | None, place: bytes = b"") -> bytes:
        """A record as bytes, for a place; None where there is none any more."""
        return self.seal.close(place, pack(record) if record is not None else b"")

    def read_record(self, data: bytes, place: bytes = b"") -> Record:
        """The record that these bytes stand for in this place."""
        return read(self._open(data, place), Record, _RECORDS)

    def read_records(
        self, tenant: str, session: str, rows: Iterable[tuple[int, bytes]]
    ) -> list[tuple[int, Record]]:
        """The records of a session with their numbers, without those that were erased."""
        place = session_place(tenant, session)
        found, number = list[tuple[int, Record]](), 0
        try:
            for number, data in rows:
                record = self.read_line(data, place_at(place, number))
                if record is not None:
                    found.append((number, record))
        except Corrupt as error:
            raise Corrupt(f"Line {number} of the session {session!r} is damaged: {error}") from error
        return found

    def read_line(self, data: bytes, place: bytes) -> Record | None:
        """The record that these bytes stand for in this place; None where there is none any more."""
        plain = self._open(data, place)
        return read(plain, Record, _RECORDS) if plain else None

    def _open(self, data: bytes, place: bytes) -> bytes:
        if not isinstance(data, bytes):
            raise Corrupt("What was kept here is gone.")
        return self.seal.open(place, data)

    def scrub(
        self, tenant: str, session: str, rows: Sequence[tuple[int, Record]], scrub: Scrub
    ) -> tuple[dict[int, bytes], tuple[Record, ...]]:
        """What a scrub makes of a session's records: those that change as bytes, by their numbers, and new ones."""
        found = scrub(session, [record for _, record in rows])
        if found is None:
            return {}, ()
        place = session_place(tenant, session)
        changed = {
            number: self.record(new, place_at(place, number))
            for (number, old), new in zip(rows, found, strict=False)
            if new is None or new != old
        }
        return changed, tuple(record for record in found[len(rows) :] if record is not None)

    def checkpoint(self, checkpoint: Checkpoint, place: bytes = b"") -> bytes:
        """A checkpoint as bytes."""
        return self.seal.close(place, pack(checkpoint))

    def read_checkpoint(self, data: bytes, place: bytes = b"") -> Checkpoint:
        """The checkpoint that these bytes stand for."""
        return read(self._open(data, place), Checkpoint)

    def summary(self, summary: Summary | None, tenant: str, session: str) -> bytes | None:
        """A summary as bytes; None where there is none to keep."""
        return None if summary is None else self.seal.close(summary_place(tenant, session), pack(summary))

    def read_summary(self, data: bytes | None, tenant: str, session: str) -> Summary | None:
        """The summary that these bytes stand for; None where there is none, or it is damaged: it only saves time."""
        if data is None:
            return None
        try:
            kept: Summary = read(self._open(data, summary_place(tenant, session)), Summary)
        except Corrupt:
            return None
        return msgspec.structs.replace(kept, name=session)

    def entry(self, entry: Entry, tenant: str = "") -> bytes:
        """An entry as bytes, without its id and its parent's."""
        message, wire = entry.message, entry.message.wire
        if wire is not None and not self._reads(message, wire):
            wire = None
        kept = _KeptEntry(
            echo=entry.echo,
            depth=entry.depth,
            erased=entry.erased,
            message=message if wire is None else None,
            dialect=wire.dialect if wire is not None else None,
            body=wire.body if wire is not None else None,
            echoes=entry.echoes,
            imported=entry.imported,
            prefix=entry.prefix,
        )
        return self.seal.close(entry_place(tenant, entry.id, entry.parent), pack(kept))

    def read_entry(self, id: str, parent: str | None, data: bytes, tenant: str = "") -> Entry:
        """The entry that these bytes stand for."""
        try:
            return self.unpack(id, parent, self._open(data, entry_place(tenant, id, parent)))
        except Corrupt as error:
            raise DamagedMessage(f"The message {id[:12]} is damaged: {error}", parent) from error

    def unpack(self, id: str, parent: str | None, data: bytes) -> Entry:
        """The entry in bytes without a seal; the text of a stub is made from its reason, whatever was kept."""
        kept = read(data, _KeptEntry, _ENTRIES)
        message = kept.message
        if message is None:
            dialect = self._dialect(str(kept.dialect))
            if dialect is None:
                raise Corrupt(
                    f"A message was kept in the dialect {kept.dialect!r}, which this release does not know. "
                    "Install the release or plug-in that wrote it."
                )
            message = dialect.message(kept.body)
        entry = Entry(
            id=id,
            echo=kept.echo,
            parent=parent,
            depth=kept.depth,
            message=message,
            erased=kept.erased,
            echoes=kept.echoes,
            prefix=kept.prefix,
            imported=kept.imported,
        )
        return entry if entry.erased is None else entry.to_stub(entry.erased)

    def read_row(self, tenant: str, id: bytes, parent: bytes | None, data: bytes) -> Entry:
        """The entry in a row of a table."""
        return self.read_entry(as_text(id), as_text(parent) if parent is not None else None, data, tenant)

    def read_path(
        self, rows: Iterable[tuple[Any, ...]], tenant: str, tip: str, stop: str | None
    ) -> Iterator[Entry]:
        """The entries of a path in the rows of a table: each is the one before the last, and none is missing."""
        wanted: str | None = tip
        for row in rows:
            entry = self.read_row(tenant, *row)
            if entry.id != wanted:
                break
            yield entry
            wanted = entry.parent
        if wanted is not None and wanted not in (stop, tip):
            raise missing(wanted)

    def _reads(self, message: Message, wire: Wire) -> bool:
        """Whether the dialect reads just this message from its wire form."""
        dialect = self._dialect(wire.dialect)
        try:
            return dialect is not None and dialect.message(wire.body) == message
        except FanfoldError:
            return False

    def _dialect(self, dialect: str) -> Dialect | None:
        if dialect not in self._dialects:
            try:
                self._dialects[dialect] = self._look_up(dialect)
            except FanfoldError:
                self._dialects[dialect] = None
        return self._dialects[dialect]


@runtime_checkable
class Coded(Protocol):
    """A store that keeps bytes, and says how."""

    coding: Coding


def read(data: bytes, type: Any, decoder: msgspec.msgpack.Decoder[T] | None = None) -> T:
    """A value of this type from bytes; the short way first, which odd text in a typed field cannot go."""
    try:
        if decoder is not None:
            return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        return msgspec.convert(unpack(data), type)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        raise Corrupt(
            f"What was kept cannot be read: {error}. `fanfold doctor` says what is damaged, and repairs what it can."
        ) from error


class DamagedMessage(Corrupt):
    """The content of this message is damaged; which one was before it is known."""

    def __init__(self, message: str, parent: str | None) -> None:
        super().__init__(message)
        self.parent = parent


class Renewal(ABC):
    """Puts everything that a store keeps into another form.

    What is damaged already stays as it is. Its old form has no checksum, or does not open, so whoever reads it notices.
    """

    def __init__(self, coding: Coding, seal: Seal) -> None:
        self.coding = coding
        """What reads the old form."""
        self.seal = seal
        """What seals everything from now on."""

    def record(self, place: bytes, data: bytes | None) -> bytes | None:
        """A record; an empty one where it was erased."""
        return self._renew(place, "record", data, lambda plain: plain and read(plain, Record))

    def entry(self, tenant: str, id: str, parent: str | None, data: bytes | None) -> bytes | None:
        """An entry, if it is what its id says."""

        def check(plain: bytes) -> None:
            entry = self.coding.unpack(id, parent, plain)
            if entry.erased is None and entry_id(parent, entry.message) != id:
                raise Corrupt("The message is not what its id says.")

        return self._renew(entry_place(tenant, id, parent), f"entry {id}", data, check)

    def checkpoint(self, place: bytes, data: bytes) -> bytes | None:
        """A checkpoint."""
        return self._renew(place, "checkpoint", data, lambda plain: None)

    def summary(self, place: bytes, data: bytes) -> bytes | None:
        """A summary."""
        return self._renew(place, "summary", data, lambda plain: None)

    @abstractmethod
    def proof(self, place: bytes, data: bytes | None, fetch: Fetch) -> bytes | None:
        """The proof of a blob; the blob itself stays as it is."""

    @abstractmethod
    def _renew(
        self, place: bytes, kind: str, data: bytes | None, check: Callable[[bytes], object]
    ) -> bytes | None:
        """Data of a kind in its new form."""


class Upgrading(Renewal):
    """From what an earlier release kept: it had no checksum, or a seal that did not cover its place."""

    def proof(self, place: bytes, data: bytes | None, fetch: Fetch) -> bytes | None:
        """The key of a sealed blob, bound to its place; the proof of any other is made when it is read."""
        try:
            found = self.seal.former_proof(fetch)
        except Corrupt:
            return None
        return self.seal.close(place, found) if found is not None else None

    def _renew(
        self, place: bytes, kind: str, data: bytes | None, check: Callable[[bytes], object]
    ) -> bytes | None:
        # A new checksum would vouch for what is damaged, so whatever can be checked is checked first.
        try:
            plain = self.seal.former(kind, data) if data else b""
            check(plain)
        except Corrupt:
            return data
        return self.seal.close(place, plain)


class Rekeying(Renewal):
    """From one key to another."""

    def proof(self, place: bytes, data: bytes | None, fetch: Fetch) -> bytes | None:
        """The key of a blob."""
        return self._renew(place, "proof", data, lambda plain: None)

    def _renew(
        self, place: bytes, kind: str, data: bytes | None, check: Callable[[bytes], object]
    ) -> bytes | None:
        try:
            return None if data is None else self.seal.close(place, self.coding.seal.open(place, data))
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
