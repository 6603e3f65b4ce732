"""A session that was exported, read into a store: whole or not at all, and nobody's word is taken for an id.

However long it is, only a few of its messages are in memory at a time, and the ids of all.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple, TypeVar

import msgspec

from fanfold.config.choice import is_named
from fanfold.core.edit import MOST_DIGITS, Edit, Elide, Fold, Pin, Repair, Undo, covers_of
from fanfold.core.errors import BadInput, Gone, Moved, StoreFailed
from fanfold.core.ids import entry_id, unpack
from fanfold.core.message import Message
from fanfold.core.record import (
    Edited,
    Inherited,
    Kept,
    Move,
    Opened,
    Record,
    Replaced,
    Told,
    blobs_of,
    entries_of,
)
from fanfold.core.tree import Entry
from fanfold.dialects.registry import DIALECTS, dialect_named
from fanfold.dialects.weigh import misread
from fanfold.session.beside import words_beside, words_id
from fanfold.stores.blobs import Spool
from fanfold.stores.coding import Coded, Coding
from fanfold.stores.echo import entry_echo, former_echo, is_former
from fanfold.stores.export import FORMAT, ID, Line
from fanfold.stores.opening import open_store
from fanfold.stores.prefix import Prefix, hash_number, resume
from fanfold.stores.store import SOME, Batch, Store, holder_name, name_of, summing

_LARGE = 1 << 20
"""So many bytes are held, and written at once."""
_REF = re.compile(rf"[a-z][0-9]{{1,{MOST_DIGITS}}}")
_PART = re.compile(rf"(?:{ID.pattern})#[0-9]{{1,{MOST_DIGITS}}}")
B = TypeVar("B", Kept, Told)


def import_session(
    store: Store | str, file: Iterable[bytes], *, name: str | None = None, tenant: str = "default"
) -> str:
    """Read a session from a file, under its own or another name; it is there when all of it was read."""
    place = open_store(store)
    reading = _Import(place, tenant, file)
    name = name or reading.name
    if place.load(tenant, name, most=1).records:
        raise _is_there(name)
    try:
        reading.take()
        reading.write(name)
    except Moved as moved:
        raise _is_there(name) from moved
    finally:
        reading.close()
    # What was erased here stays so, with everything that the imported session had made from it.
    if reading.erased_here:
        from fanfold.session.open import open_aside  # late: few imports need a session

        with open_aside(name, store=place, tenant=tenant, window=1 << 40, meter="characters/4") as chat:
            for id, reason in reading.erased_here.items():
                chat.erase(id, reason)
    return name


def _is_there(name: str) -> BadInput:
    return BadInput(f"There is a session {name!r} already; import it under another one: `name=`.")


class _Above(NamedTuple):
    """An entry, as the one after it needs to know it."""

    depth: int = -1
    said: str | None = None
    """Its echo as the file has it: 0.1 made others."""
    echo: str | None = None
    prefix: Prefix = Prefix()


def _echo_again(like: str, above: _Above, message: Message) -> str:
    """The echo of a message, made as one in the file was."""
    return (former_echo if is_former(like) else entry_echo)(above.said, message)


class _Import:
    """What is read of a session so far. Blobs are written at once, for nobody sees them yet; the rest at the end."""

    def __init__(self, store: Store, tenant: str, file: Iterable[bytes]) -> None:
        self.store, self.tenant = store, tenant
        self.lines = self._read_lines(file)
        self.number = 0
        """The line that was read last."""
        self.waiting = _Waiting(store.coding if isinstance(store, Coded) else Coding())
        self.records = 0
        """How many there are."""
        self.known: dict[str, _Above] = {}
        """What an entry needs to know of the one before it."""
        self.blobs: dict[str | None, str] = {}
        """What the blobs are called here, by their names in the file."""
        self.needed: dict[str, int] = {}
        """The blobs that records refer to, and in which line."""
        self.erased_there: list[Entry] = []
        """The entries that were erased where the session comes from; little is left of them."""
        self.erased_here: dict[str, str] = {}
        """The entries that were erased here, and why."""
        self.came_before: set[str] = set()
        """The entries that another export brought as stubs: they are nothing that was erased here."""
        self.edits: set[str] = set()
        """The edits so far."""
        self.holder = holder_name()
        self.whole = False
        head = next(self.lines, {})
        if head.get("kind") != "session" or head.get("format") != FORMAT:
            raise BadInput("This is no session that fanfold exported, or one of a later release.")
        self.name = str(self._field(head, "name"))

    def _read_lines(self, file: Iterable[bytes]) -> Iterator[Line]:
        for self.number, data in enumerate(file, 1):
            try:
                line = msgspec.json.decode(data, type=Line)
                line = unpack(b64decode(line["packed"])) if "packed" in line else line
            except RecursionError:
                raise self._wrong("it is nested too deeply") from None
            except (msgspec.DecodeError, ValueError, TypeError) as error:
                raise BadInput(f"Line {self.number} of this export cannot be read: {error}.") from error
            yield line

    def take(self) -> None:
        """Read to the end."""
        try:
            for (kind, id), lines in groupby(self.lines, lambda line: (line.get("kind"), line.get("id"))):
                if kind == "blob":
                    self._take_blob(str(id), lines)
                else:
                    for line in lines:
                        self._take(str(kind), line)
        except RecursionError:  # what could be read may still be too deep to be hashed
            raise self._wrong("it is nested too deeply") from None
        if not self.whole:
            raise BadInput("This export is cut off: its end is missing. Export the session again.")
        for blob, number in self.needed.items():
            if blob not in self.blobs:
                raise _wrong(number, f"the blob {blob[:12]!r} that it refers to is not in this file")

    def _take(self, kind: str, line: Line) -> None:
        match kind:
            case "entry":
                self._take_entry(self._read(line, "entry", Entry))
            case "record":
                self._take_record(self._read(line, "record", Record))
            case "end":
                counts = (self._field(line, "records"), self._field(line, "entries"))
                self.whole = counts == (self.records, len(self.known))
            case _:
                raise self._wrong(f"there are no lines of kind {kind!r}, unless a later release made it")

    def _take_entry(self, entry: Entry) -> None:
        """Nobody's word is taken for an id, nor for what a stub says: entries are shared."""
        above = self.known.get(entry.parent, _Above(depth=-9)) if entry.parent is not None else _Above()
        if entry.depth != above.depth + 1 or not ID.fullmatch(entry.id) or entry.id in self.known:
            raise self._wrong(f"the entry {entry.id[:12]!r} does not follow the one that it names")
        prefix = above.prefix.follow(entry.message)
        if entry.erased is not None:
            # Of its words only a hash is left. The file may have made it up, so what is known here counts.
            here = self.store.entry(self.tenant, entry.id)
            if here is not None and here.prefix and here.parent == entry.parent:
                prefix = resume(here.prefix, entry.message)
        echo = entry.echo if entry.erased is not None else entry_echo(above.echo, entry.message)
        self.known[entry.id] = _Above(entry.depth, entry.echo, echo, prefix)
        if entry.erased is not None:
            self._take_stub(msgspec.structs.replace(entry, prefix=prefix.hash), entry.erased, above)
            return
        wanted = (entry_id(entry.parent, entry.message), _echo_again(entry.echo, above, entry.message))
        if (entry.id, entry.echo) != wanted:
            raise self._wrong(f"the entry {entry.id[:12]!r} is not what its id says")
        entry = msgspec.structs.replace(entry, echo=echo, prefix=prefix.hash)
        self._check_words((entry.message,))
        # Its id says nothing of these fields, and by them it could be taken for other words.
        self.waiting.add(msgspec.structs.replace(entry, echoes=(), imported=False))

    def _take_stub(self, stub: Entry, reason: str, above: _Above) -> None:
        """Its content is gone, so its id proves nothing: only the reason is taken, and what is here must agree."""
        here = self.store.entry(self.tenant, stub.id)
        left = msgspec.structs.replace(stub.to_stub(reason), imported=True)
        if not reason.strip() or not all(map(ID.fullmatch, stub.destroyed)):
            raise self._wrong(
                f"the entry {stub.id[:12]!r} is said to be erased, and does not say why or what it was"
            )
        known = here.to_stub(reason) if here is not None else left
        proven = left.echo
        if here is not None and here.erased is None:
            proven = _echo_again(stub.echo, above, here.message)
        if (proven, known.parent, known.depth, known.message) != (
            left.echo, left.parent, left.depth, left.message,
        ):  # fmt: skip
            raise self._wrong(f"the entry {stub.id[:12]!r} is not what its id says")
        self.erased_there.append(left)

    def _check_words(self, messages: Iterable[Message]) -> None:
        """What people are shown is what models get: the wire form of a message says what its parts say."""
        for message in messages:
            wire = message.wire
            reason = misread(message, _dialect(wire.dialect)) if wire and wire.dialect in DIALECTS else None
            if reason is not None:
                raise self._wrong(f"a message in it cannot be sent as it says: {reason}")

    def _take_record(self, record: Record) -> None:
        for id in entries_of(record):
            if id not in self.known:
                raise self._wrong(f"the entry {id[:12]!r} that this record names is not in this file")
        self._check_edits(record)
        self._check_words(_messages_of(record))
        for id in map(words_id, words_beside(record)):
            stub = self.store.entry(self.tenant, id)
            if stub is not None and stub.erased is not None and not stub.imported:
                self.erased_here[id] = stub.erased
        if isinstance(record, Opened) and not all(map(is_named, record.strategy)):
            raise self._wrong("a strategy in it is neither a name nor a table with a name")
        for blob in blobs_of((record,)):
            self.needed.setdefault(blob, self.number)
        self.records += 1
        self.waiting.add(record)

    def _check_edits(self, record: Record) -> None:
        """Edits are numbered one by one, and name only what was there when they were made."""
        match record:
            case Edited(decisions=decisions):
                for decision in decisions:
                    if decision.id != f"e{len(self.edits) + 1}":
                        raise self._wrong(f"the edit {decision.id[:12]!r} is not the next one")
                    self._check_edit(decision.edit)
                    self.edits.add(decision.id)
            case Inherited(edits=edits):
                self._check_rows(edits, self.edits)
            case Kept(ref=ref) if not _REF.fullmatch(ref) or (
                record.is_part and not _is_part(record.address)
            ):
                raise self._wrong(f"the reference {ref[:12]!r} is none, or stands for nothing")

    def _check_edit(self, edit: Edit) -> None:
        match edit:
            case Undo(edit=undone):
                self._check_rows((undone,), self.edits)
            case Elide(address=address) if not _is_part(address):
                raise self._wrong(f"the part {address[:12]!r} is none")
            case Fold(shows=()):
                raise self._wrong("a summary in it shows nothing")
            case Pin(entry=entry):
                self._check_rows(() if entry is None else (entry,), self.known)
            case _:
                self._check_rows((id for id in covers_of(edit) if id not in self.known), self.edits)

    def _check_rows(self, named: Iterable[str], there: Container[str]) -> None:
        for id in named:
            if id not in there:
                raise self._wrong(f"an edit in it names {id[:12]!r}, which is not there before it")

    def _take_blob(self, id: str, lines: Iterable[Line]) -> None:
        """An export of an earlier release may call a blob by another name than this one does."""
        total = summing(id)

        def chunks() -> Iterator[bytes]:
            for line in lines:
                try:
                    chunk = b64decode(self._field(line, "data"))
                except (TypeError, ValueError) as error:
                    raise self._wrong(f"the blob cannot be read: {error}") from error
                total.update(chunk)
                yield chunk

        blob = self.store.put_blob(self.tenant, chunks(), holder=self.holder)
        if name_of(total) != id:
            raise self._wrong(f"the blob {id[:12]!r} is not what its id says")
        self.blobs[id] = blob.id

    def write(self, name: str) -> None:
        """Write everything but what was erased here."""
        while True:
            try:
                self.store.create(self.tenant, name, self._batches())
                return
            except Gone as gone:
                stubs = [stub for stub in gone.stubs if isinstance(stub, Entry)]
                if {stub.id for stub in stubs} <= {*self.erased_here, *self.came_before}:
                    raise
                self.came_before |= {stub.id for stub in stubs if stub.imported}
                self.erased_here |= {stub.id: stub.erased or "" for stub in stubs if not stub.imported}

    def _batches(self) -> Iterator[Batch]:
        """Stubs come first: a store lets nobody else write while it takes them in, and cannot wait for that later."""
        known = {*self.erased_here, *self.came_before}
        stubs = tuple(stub for stub in self.erased_there if stub.id not in known)
        if stubs:
            yield Batch((), stubs, passed=tuple(stub.id for stub in stubs))
        for some in self.waiting.some():
            whole = [one for one in some if isinstance(one, Entry)]
            entries = tuple(one for one in whole if one.id not in known)
            restored = tuple(one for one in whole if one.id in self.came_before)
            records = tuple(self._rename_blobs(one) for one in some if not isinstance(one, Entry))
            prefixes, passed = tuple(map(self._prefix, records)), tuple(one.id for one in whole)
            yield Batch(records, entries, restored, prefixes, passed=passed)

    def _prefix(self, record: Record) -> int | None:
        """Where a record moves the head to."""
        if not isinstance(record, Move):
            return None
        above = self.known[record.head] if record.head is not None else _Above()
        return hash_number(above.prefix.hash)

    def _rename_blobs(self, record: Record) -> Record:
        """A record with the names that its blobs have here."""

        def here(one: B) -> B:
            blob, index = self.blobs.get(one.blob, one.blob), self.blobs.get(one.index, one.index)
            return msgspec.structs.replace(one, blob=blob, index=index)

        if not isinstance(record, Kept):
            return record
        return msgspec.structs.replace(here(record), told=here(record.told) if record.told else None)

    def close(self) -> None:
        """Hold no blobs any more; they are recorded, or never will be."""
        self.waiting.close()
        with suppress(StoreFailed):
            self.store.let_go(self.tenant, self.holder)

    def _field(self, line: Line, name: str) -> Any:
        if name not in line:
            raise self._wrong(f"it says no {name!r}")
        return line[name]

    def _read(self, line: Line, name: str, type: Any) -> Any:
        try:
            return msgspec.convert(self._field(line, name), type)
        except msgspec.ValidationError as error:
            raise self._wrong(f"it holds something that fanfold does not know: {error}") from error

    def _wrong(self, what: str) -> BadInput:
        return _wrong(self.number, what)


def _wrong(number: int, what: str) -> BadInput:
    return BadInput(f"Line {number} of this export: {what}. Export the session again.")


def _is_part(address: str) -> bool:
    """Whether this is the address of a part that an entry may have."""
    return _PART.fullmatch(address) is not None


_dialect = cache(dialect_named)


def _messages_of(record: Record) -> Iterator[Message]:
    """The messages that a record brings along: the new body of an entry, and what folds and repairs show."""
    match record:
        case Replaced(message=message):
            yield message
        case Edited(decisions=decisions):
            for decision in decisions:
                if isinstance(decision.edit, Fold | Repair) and not isinstance(decision.edit.shows, str):
                    yield from decision.edit.shows


class _Waiting:
    """Entries and records that wait until all is read, in a temporary file where they are many.

    They wait as the store would keep them: sealed, where it is.
    """

    def __init__(self, coding: Coding) -> None:
        self._coding = coding
        self._file = SpooledTemporaryFile(_LARGE)  # noqa: SIM115  closed by whoever reads
        self.close = self._file.close

    def add(self, one: Entry | Record) -> None:
        """Let an entry or a record wait."""
        if isinstance(one, Entry):
            data = msgspec.msgpack.encode((one.id, one.parent, self._coding.entry(one)))
        else:
            data = msgspec.msgpack.encode((None, None, self._coding.record(one)))
        with Spool().named_failures():
            self._file.write(len(data).to_bytes(8, "big") + data)

    def some(self) -> Iterator[list[Entry | Record]]:
        """All of them in their order, some at a time."""
        some, size, coding = list[Entry | Record](), 0, self._coding
        self._file.seek(0)
        while head := self._file.read(8):
            data = self._file.read(int.from_bytes(head, "big"))
            id, parent, coded = msgspec.msgpack.decode(data)
            some.append(coding.read_record(coded) if id is None else coding.read_entry(id, parent, coded))
            size += len(data)
            if len(some) >= SOME or size >= _LARGE:
                yield some
                some, size = [], 0
        yield some
