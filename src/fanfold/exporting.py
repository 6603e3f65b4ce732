"""A session as one file of JSON lines, with its blobs: for backups, for another store, for another machine.

A line that no JSON text can say exactly (lone surrogates, NaN, integers beyond 64 bits) is packed and in base64.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, BinaryIO

import msgspec

from fanfold.errors import BadInput, Gone, NotFound
from fanfold.ids import entry_echo, entry_id, packed, restored
from fanfold.log import Entry
from fanfold.record import Kept, Record
from fanfold.stores.opening import opened
from fanfold.stores.store import Batch, Store, name_of, summing

FORMAT = 1
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{32}")
_MANY = 200
"""So many entries are written at once."""
Line = dict[str, Any]


def export_session(store: Store | str, name: str, file: BinaryIO, *, tenant: str = "default") -> int:
    """Write a session to a file; gives back how many lines it took."""
    count = 0
    for line in exported(opened(store), name, tenant):
        file.write(line + b"\n")
        count += 1
    return count


def exported(store: Store, name: str, tenant: str) -> Iterator[bytes]:
    """The lines of a session: a head, then entries before the records that name them, blobs, and an end."""
    records = store.load(tenant, name).records
    if not records:
        raise NotFound(f"There is no session {name!r} here.")
    yield _line({"kind": "session", "format": FORMAT, "name": name})
    done: set[str] = set()
    named: set[str] = set()
    for record in records:
        plain = msgspec.to_builtins(record)
        for id in _ids(plain):
            for entry in _missing(store, tenant, id, done):
                named.update(_ids(msgspec.to_builtins(entry.message)))
                yield _line({"kind": "entry", "entry": msgspec.to_builtins(entry)})
        if not (isinstance(record, Kept) and record.gone):
            named.update(_ids(plain))
        yield _line({"kind": "record", "record": plain})
    for blob in (blob for blob in store.blobs(tenant) if blob.id in named):
        for chunk in store.get_blob(tenant, blob.id):
            yield _line({"kind": "blob", "id": blob.id, "data": b64encode(chunk).decode()})
    yield _line({"kind": "end", "records": len(records), "entries": len(done)})


def _missing(store: Store, tenant: str, id: str | None, done: set[str]) -> list[Entry]:
    """The entries from the first that was not written yet to this one."""
    chain: list[Entry] = []
    while id is not None and id not in done:
        entry = store.entry(tenant, id)
        if entry is None:
            break
        chain.append(entry)
        done.add(id)
        id = entry.parent
    return chain[::-1]


def _ids(value: Any) -> Iterator[str]:
    """Everything in a record that may be the id of an entry or of a blob."""
    if isinstance(value, str):
        yield from _ID.findall(value) if len(value) < 64 else ()
    elif isinstance(value, dict):
        for item in value.values():
            yield from _ids(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _ids(item)


def _line(line: Line) -> bytes:
    try:
        data = msgspec.json.encode(line)
        if packed(msgspec.json.decode(data)) == packed(line):
            return data
    except (UnicodeEncodeError, OverflowError):
        pass
    return msgspec.json.encode({"kind": line["kind"], "packed": b64encode(packed(line)).decode()})


def import_session(
    store: Store | str, file: Iterable[bytes], *, name: str | None = None, tenant: str = "default"
) -> str:
    """Read a session from a file, under its own or another name; it is there when all of it was read."""
    store, lines = opened(store), _lines(file)
    head = next(lines, {})
    if head.get("kind") != "session" or head.get("format") != FORMAT:
        raise BadInput("This is no session that fanfold exported, or one of a later release.")
    name = name or str(_field(head, "name"))
    if store.load(tenant, name).records:
        raise BadInput(f"There is a session {name!r} already; import it under another name.")
    records = _Import(store, tenant, name).take(lines)
    store.append(tenant, name, Batch(tuple(records)), expect=0)
    return name


class _Import:
    """What is read of a session so far. Entries and blobs are written at once, for nobody sees them yet."""

    def __init__(self, store: Store, tenant: str, name: str) -> None:
        self.store, self.tenant, self.name = store, tenant, name
        self.records: list[Record] = []
        self.entries: list[Entry] = []
        self.echoes: dict[str, str] = {}
        self.blobs: dict[str, str] = {}
        """What the blobs are called here, by their names in the file."""
        self.whole = False

    def take(self, lines: Iterable[Line]) -> list[Record]:
        """Read to the end; gives back the records."""
        for (kind, id), group in groupby(lines, lambda line: (line.get("kind"), line.get("id"))):
            if kind == "blob":
                self._take_blob(str(id), group)
            else:
                for line in group:
                    self._take(str(kind), line)
        self._write()
        if not self.whole:
            raise BadInput("This export is cut off: its end is missing. Export the session again.")
        return [self._named(record) for record in self.records]

    def _named(self, record: Record) -> Record:
        """A record with the names that its blobs have here."""
        if not isinstance(record, Kept):
            return record
        blob, index = (self.blobs.get(id, id) if id else id for id in (record.blob, record.index))
        return msgspec.structs.replace(record, blob=blob, index=index)

    def _take(self, kind: str, line: Line) -> None:
        match kind:
            case "entry":
                self._take_entry(_read(_field(line, "entry"), Entry))
            case "record":
                self.records.append(_read(_field(line, "record"), Record))
            case "end":
                counts = (_field(line, "records"), _field(line, "entries"))
                self.whole = counts == (len(self.records), len(self.echoes))
            case _:
                raise BadInput(f"An export has no lines of kind {kind!r}; was it made by a later release?")

    def _take_entry(self, entry: Entry) -> None:
        """Nobody's word is taken for an id: entries are shared."""
        if entry.erased is None:
            above = self.echoes.get(entry.parent) if entry.parent is not None else None
            ids = (entry_id(entry.parent, entry.message), entry_echo(above, entry.message))
            if ids != (entry.id, entry.echo):
                raise BadInput(
                    f"The entry {entry.id[:12]!r} is not what its id says. Export the session again."
                )
        self.echoes[entry.id] = entry.echo
        self.entries.append(entry)
        if len(self.entries) >= _MANY:
            self._write()

    def _write(self) -> None:
        entries, self.entries = tuple(self.entries), []
        while entries:
            try:
                self.store.append(self.tenant, self.name, Batch((), entries), expect=None)
                return
            except Gone as gone:  # what was erased here stays erased
                stubs = {stub.id for stub in gone.stubs if isinstance(stub, Entry)}
                entries = tuple(entry for entry in entries if entry.id not in stubs)

    def _take_blob(self, id: str, lines: Iterable[Line]) -> None:
        """An export of an earlier release may call a blob by another name than this one does."""
        total = summing(id)
        blob = self.store.put_blob(self.tenant, _summed(map(_data, lines), total))
        if name_of(total) != id:
            raise BadInput(f"The blob {id[:12]!r} is not what its id says. Export the session again.")
        self.blobs[id] = blob.id


def _field(line: Line, name: str) -> Any:
    if name not in line:
        raise BadInput(f"A line of this export says no {name!r}. Export the session again.")
    return line[name]


def _data(line: Line) -> bytes:
    try:
        return b64decode(_field(line, "data"))
    except (TypeError, ValueError) as error:
        raise BadInput(f"A blob of this export cannot be read: {error}. Export the session again.") from error


def _summed(chunks: Iterable[bytes], total: Any) -> Iterator[bytes]:
    for chunk in chunks:
        total.update(chunk)
        yield chunk


def _lines(file: Iterable[bytes]) -> Iterator[Line]:
    for number, data in enumerate(file, 1):
        try:
            line = msgspec.json.decode(data, type=Line)
            yield restored(b64decode(line["packed"])) if "packed" in line else line
        except (msgspec.DecodeError, ValueError, TypeError) as error:
            raise BadInput(f"Line {number} of this export cannot be read: {error}.") from error


def _read(value: Any, type: Any) -> Any:
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        raise BadInput(f"This export holds something that fanfold does not know: {error}.") from error
