"""Names, records, entries and checkpoints as bytes, and back.

Lone surrogates, integers beyond 64 bits, NaN and the order of keys survive. A message that came over the wire is
kept as it came; its parts are read again by that dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from fanfold.core.checkpoint import Checkpoint
from fanfold.core.errors import Corrupt, FanfoldError, StoreFailed
from fanfold.core.ids import packed, read_extension, restored
from fanfold.core.message import Message, Wire
from fanfold.core.record import Record, Taught
from fanfold.core.tree import Entry, missing
from fanfold.dialects.dialect import Dialect
from fanfold.stores.places import checkpoint_place, entry_place
from fanfold.stores.sealing import Plain, Seal
from fanfold.stores.store import Hold, Scrub

T = TypeVar("T")
Dialects = Callable[[str], Dialect]


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """An entry beside its id and its parent's, which have columns of their own."""

    echo: str
    depth: int
    erased: str | None
    message: Message | None
    """None where the wire form says it all."""
    dialect: str | None = None
    body: Any = None
    echoes: tuple[str, ...] = ()


_RECORDS: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record, ext_hook=read_extension)
_ENTRIES = msgspec.msgpack.Decoder(_Kept, ext_hook=read_extension)


def as_text(kept: bytes) -> str:
    """The name or id that was kept."""
    try:
        return kept.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError) as error:
        raise Corrupt("A name or an id is damaged: it is no text. `fanfold.doctor` says which.") from error


def readable_name(kept: object) -> str:
    """A name or an id to show to people, whatever it is."""
    return kept.decode("utf-8", "replace") if isinstance(kept, bytes) else repr(kept)


def names_of(rows: Iterable[tuple[bytes]]) -> list[str]:
    """The names that can be read, in order: one that is damaged does not hide the others."""
    found = list[str]()
    for (name,) in rows:
        with suppress(Corrupt):
            found.append(as_text(name))
    return sorted(found)


def holds_on(blobs: Collection[str], rows: Iterable[tuple[bytes, bytes, float]]) -> list[Hold]:
    """Who holds some of these blobs, as the rows of a table say."""
    holds = (Hold(as_text(blob), as_text(holder), since) for blob, holder, since in rows)
    return sorted(hold for hold in holds if hold.blob in blobs)


def known_dialects(name: str) -> Dialect:
    """The dialect of this name, among those that fanfold knows."""
    from fanfold.dialects.registry import dialect_named  # late: dialects are imported when first spoken

    return dialect_named(name)


class Scrubbed(NamedTuple):
    """What is other in a session's log after an erasure."""

    changed: dict[int, Record | None]
    """The records that change, by their numbers; None where there is none any more."""
    added: tuple[Record, ...]


class Coding:
    """Writes, seals and reads what a store keeps; each dialect is looked up once."""

    def __init__(self, dialects: Dialects = known_dialects, seal: Seal | None = None) -> None:
        self.seal = seal or Plain()
        self._look_up = dialects
        self._dialects: dict[str, Dialect | None] = {}

    def record(self, record: Record | None, place: bytes = b"") -> bytes:
        """A record as bytes, for a place; None where there is none any more."""
        return self.seal.close(place, packed(record) if record is not None else b"")

    def read_record(self, data: bytes, place: bytes = b"") -> Record:
        """The record that these bytes stand for in this place."""
        return read(self._opened(data, place), Record, _RECORDS)

    def read_records(
        self, rows: Iterable[tuple[int, bytes]], session: str, place: Callable[[int], bytes]
    ) -> list[tuple[int, Record]]:
        """The records of a session, by their numbers; without those that there are no more."""
        found, number = list[tuple[int, Record]](), 0
        try:
            for number, data in rows:
                record = self.read_line(data, place(number))
                if record is not None:
                    found.append((number, record))
        except Corrupt as error:
            raise Corrupt(f"Record {number} of the session {session!r} is damaged: {error}") from error
        return found

    def read_line(self, data: bytes, place: bytes) -> Record | None:
        """The record that these bytes stand for in this place; None where there is none any more."""
        plain = self._opened(data, place)
        return read(plain, Record, _RECORDS) if plain else None

    def _opened(self, data: bytes, place: bytes) -> bytes:
        if not isinstance(data, bytes):
            raise Corrupt("What was kept here is gone.")
        return self.seal.open(place, data)

    def scrubbed(self, session: str, rows: Sequence[tuple[int, Record]], scrub: Scrub) -> Scrubbed:
        """What a scrub makes of a session's records, given by their numbers."""
        records = [record for _, record in rows]
        found = scrub(session, records)
        if found is None:
            return Scrubbed({}, ())
        changed = {
            number: new for (number, old), new in zip(rows, found, strict=False) if new is None or new != old
        }
        return Scrubbed(changed, tuple(record for record in found[len(records) :] if record is not None))

    def checkpoint(self, checkpoint: Checkpoint, place: bytes = b"") -> bytes:
        """A checkpoint as bytes."""
        return self.seal.close(place, packed(checkpoint))

    def read_checkpoint(self, data: bytes, place: bytes = b"") -> Checkpoint:
        """The checkpoint that these bytes stand for."""
        return read(self._opened(data, place), Checkpoint)

    def read_taught(self, tenant: str, checkpoints: Iterable[tuple[Any, ...]]) -> Iterator[Taught]:
        """What sessions had learned, given their checkpoints, names and numbers; a damaged one says nothing."""
        for data, session, seq in checkpoints:
            with suppress(StoreFailed):
                place = checkpoint_place(tenant, as_text(session), seq)
                taught = self.read_checkpoint(data, place).taught
                if taught is not None:
                    yield taught

    def entry(self, entry: Entry, tenant: str = "") -> bytes:
        """An entry as bytes, without its id and its parent's."""
        message, wire = entry.message, entry.message.wire
        kept = _Kept(entry.echo, entry.depth, entry.erased, message, echoes=entry.echoes)
        if wire is not None and self._says_it_all(message, wire):
            kept = msgspec.structs.replace(kept, message=None, dialect=wire.dialect, body=wire.body)
        return self.seal.close(entry_place(tenant, entry.id, entry.parent), packed(kept))

    def read_entry(self, id: str, parent: str | None, data: bytes, tenant: str = "") -> Entry:
        """The entry that these bytes stand for."""
        try:
            return self.unpacked(id, parent, self._opened(data, entry_place(tenant, id, parent)))
        except Corrupt as error:
            raise Corrupt(f"The message {id[:12]} is damaged: {error}") from error

    def unpacked(self, id: str, parent: str | None, data: bytes) -> Entry:
        """The entry in bytes without a seal; the text of a stub is made from its reason, whatever was kept."""
        kept = read(data, _Kept, _ENTRIES)
        message = kept.message if kept.message is not None else self._read_again(kept)
        entry = Entry(id, kept.echo, parent, kept.depth, message, kept.erased, kept.echoes)
        return entry if entry.erased is None else entry.stubbed(entry.erased)

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

    def _says_it_all(self, message: Message, wire: Wire) -> bool:
        """Whether the dialect reads just this message from its wire form."""
        dialect = self._dialect(wire.dialect)
        try:
            return dialect is not None and dialect.message(wire.body) == message
        except FanfoldError:
            return False

    def _read_again(self, kept: _Kept) -> Message:
        dialect = self._dialect(str(kept.dialect))
        if dialect is None:
            raise Corrupt(
                f"A message was kept in the dialect {kept.dialect!r}, which this release does not know. "
                "Install the release or plug-in that wrote it."
            )
        return dialect.message(kept.body)

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
        return msgspec.convert(restored(data), type)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, TypeError, RecursionError) as error:
        raise Corrupt(
            f"What was kept cannot be read: {error}. `fanfold.doctor` says what is damaged, and mends what it can."
        ) from error
