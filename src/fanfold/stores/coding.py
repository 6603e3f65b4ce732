"""Names, records, entries and checkpoints as bytes, and back.

Lone surrogates, integers beyond 64 bits, NaN and the order of keys survive. A message that came over the wire is
kept as it came; its parts are read again by that dialect's codec.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import msgspec

from fanfold.checkpoint import Checkpoint
from fanfold.codecs.codec import Codec
from fanfold.errors import Corrupt, FanfoldError, StoreFailed
from fanfold.ids import packed, read_extension, restored
from fanfold.message import Message, Wire
from fanfold.record import Record, Taught
from fanfold.stores.sealing import Seal, Unsealed
from fanfold.stores.store import Hold, Scrub
from fanfold.tree import Entry

T = TypeVar("T")
Codecs = Callable[[str], Codec]


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


def as_bytes(name: str) -> bytes:
    """A name or an id as it is kept: any text can be one, a lone surrogate or a NUL in it too."""
    return name.encode("utf-8", "surrogatepass")


def as_text(kept: bytes) -> str:
    """The name or id that was kept."""
    return kept.decode("utf-8", "surrogatepass")


def holds_on(blobs: Collection[str], rows: Iterable[tuple[bytes, bytes, float]]) -> list[Hold]:
    """Who holds some of these blobs, as the rows of a table say."""
    holds = (Hold(as_text(blob), as_text(holder), since) for blob, holder, since in rows)
    return sorted(hold for hold in holds if hold.blob in blobs)


def known_codecs(dialect: str) -> Codec:
    """The codec for a dialect, among those that fanfold knows."""
    from fanfold.registry import codec_named  # late: codecs are imported when first spoken

    return codec_named(dialect)


class Scrubbed(NamedTuple):
    """What is other in a session's log after an erasure."""

    changed: dict[int, bytes | None]
    """The records that change, by their numbers; None where there is none any more."""
    added: tuple[Record, ...]


class Coding:
    """Writes, seals and reads what a store keeps; each dialect's codec is looked up once."""

    def __init__(self, codecs: Codecs = known_codecs, seal: Seal | None = None) -> None:
        self.seal = seal or Unsealed()
        self._look_up = codecs
        self._codecs: dict[str, Codec | None] = {}

    def record(self, record: Record) -> bytes:
        """A record as bytes."""
        return self.seal.close("record", packed(record))

    def read_record(self, data: bytes) -> Record:
        """The record that these bytes stand for."""
        return read(self.seal.open("record", data), Record, _RECORDS)

    def scrubbed(self, session: str, rows: Sequence[tuple[int, bytes]], scrub: Scrub) -> Scrubbed:
        """What a scrub makes of a session's records, given by their numbers."""
        records = [self.read_record(data) for _, data in rows]
        found = scrub(session, records)
        if found is None:
            return Scrubbed({}, ())
        changed = {
            number: self.record(new) if new is not None else None
            for (number, _), old, new in zip(rows, records, found, strict=False)
            if new != old
        }
        return Scrubbed(changed, tuple(record for record in found[len(records) :] if record is not None))

    def checkpoint(self, checkpoint: Checkpoint) -> bytes:
        """A checkpoint as bytes."""
        return self.seal.close("checkpoint", packed(checkpoint))

    def read_checkpoint(self, data: bytes) -> Checkpoint:
        """The checkpoint that these bytes stand for."""
        return read(self.seal.open("checkpoint", data), Checkpoint)

    def read_taught(self, checkpoints: Iterable[bytes]) -> Iterator[Taught]:
        """What the sessions of some checkpoints had learned; one that cannot be read says nothing."""
        for data in checkpoints:
            with suppress(StoreFailed):
                taught = self.read_checkpoint(data).taught
                if taught is not None:
                    yield taught

    def entry(self, entry: Entry) -> bytes:
        """An entry as bytes, without its id and its parent's."""
        message, wire = entry.message, entry.message.wire
        kept = _Kept(entry.echo, entry.depth, entry.erased, message, echoes=entry.echoes)
        if wire is not None and self._says_it_all(message, wire):
            kept = msgspec.structs.replace(kept, message=None, dialect=wire.dialect, body=wire.body)
        return self.seal.close(f"entry {entry.id}", packed(kept))

    def read_entry(self, id: str, parent: str | None, data: bytes) -> Entry:
        """The entry that these bytes stand for; the text of a stub is made from its reason, whatever was kept."""
        kept = read(self.seal.open(f"entry {id}", data), _Kept, _ENTRIES)
        message = kept.message if kept.message is not None else self._read_again(kept)
        entry = Entry(id, kept.echo, parent, kept.depth, message, kept.erased, kept.echoes)
        return entry if entry.erased is None else entry.stubbed(entry.erased)

    def read_row(self, id: bytes, parent: bytes | None, data: bytes) -> Entry:
        """The entry in a row of a table."""
        return self.read_entry(as_text(id), as_text(parent) if parent is not None else None, data)

    def _says_it_all(self, message: Message, wire: Wire) -> bool:
        """Whether the codec reads just this message from its wire form."""
        codec = self._codec(wire.dialect)
        try:
            return codec is not None and codec.message(wire.body) == message
        except FanfoldError:
            return False

    def _read_again(self, kept: _Kept) -> Message:
        codec = self._codec(str(kept.dialect))
        if codec is None:
            raise Corrupt(
                f"A message was kept in the dialect {kept.dialect!r}, which this release does not know. "
                "Install the release or plug-in that wrote it."
            )
        return codec.message(kept.body)

    def _codec(self, dialect: str) -> Codec | None:
        if dialect not in self._codecs:
            try:
                self._codecs[dialect] = self._look_up(dialect)
            except FanfoldError:
                self._codecs[dialect] = None
        return self._codecs[dialect]


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
