"""A session as one file of JSON lines, with its blobs: for backups, for another store, for another machine.

A line that no JSON text can say exactly (lone surrogates, NaN, integers beyond 64 bits) is packed and in base64.
However long the session, only a few of its messages are in memory at a time, and the ids of all.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from fanfold.core.errors import Corrupt, NotFound
from fanfold.core.ids import pack
from fanfold.core.record import Kept, Record, blobs_of, entries_of
from fanfold.core.tree import Entry
from fanfold.stores.opening import open_store
from fanfold.stores.store import Store, records_of

FORMAT = 1
Line = dict[str, Any]
ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{32}")
_AT_HAND = 16
"""So many entries are not read twice."""


def export_session(store: Store | str, name: str, file: BinaryIO, *, tenant: str = "default") -> int:
    """Write a session to a file; returns how many lines it took."""
    count = 0
    for line in export_lines(open_store(store), name, tenant=tenant):
        file.write(line)
        count += 1
    return count


def export_lines(store: Store, name: str, *, tenant: str = "default") -> Iterator[bytes]:
    """The lines of the file, each with its end."""
    return (line + b"\n" for line in _Export(store, name, tenant).lines())


class _Export:
    """What was written of a session so far."""

    def __init__(self, store: Store, name: str, tenant: str) -> None:
        self.store, self.name, self.tenant = store, name, tenant
        self.records = 0
        self.done: set[str] = set()
        """The entries that were written."""
        self.needed: dict[str, str] = {}
        """The blobs of outputs, and the reference of each."""

    def lines(self) -> Iterator[bytes]:
        """A head, then the entries before the records that name them, the blobs, and an end."""
        for record in records_of(self.store, self.tenant, self.name):
            if not self.records:
                yield _line({"kind": "session", "format": FORMAT, "name": self.name})
            self.records += 1
            yield from self._record(record)
        if not self.records:
            raise NotFound(f"There is no session {self.name!r} here.")
        yield from self._blobs()
        yield _line({"kind": "end", "records": self.records, "entries": len(self.done)})

    def _record(self, record: Record) -> Iterator[bytes]:
        """A record, after the entries that it names."""
        for id in entries_of(record):
            for entry in self._path(id):
                told = msgspec.structs.replace(entry, imported=False)  # to whoever reads it, every stub is
                yield _line({"kind": "entry", "entry": msgspec.to_builtins(told)})
            if id not in self.done:
                raise Corrupt(
                    f"The message {id[:12]} is missing. `fanfold doctor` says what else is, if anything."
                )
        if isinstance(record, Kept):
            self.needed |= dict.fromkeys(blobs_of((record,)), record.ref)
        yield _line({"kind": "record", "record": msgspec.to_builtins(record)})

    def _path(self, tip: str) -> Iterator[Entry]:
        """The entries from the first that was not written yet to this one; only the ids and a few are held."""
        ids, held = list[str](), dict[str, Entry]()
        id: str | None = tip
        while id is not None and id not in self.done and (entry := self.store.entry(self.tenant, id)):
            ids.append(id)
            held[id] = entry
            if len(held) > _AT_HAND:
                del held[next(iter(held))]
            self.done.add(id)
            id = entry.parent
        for id in reversed(ids):
            found = held.pop(id, None) or self.store.entry(self.tenant, id)
            assert found is not None, "an entry never leaves its tenant"
            yield found

    def _blobs(self) -> Iterator[bytes]:
        there = [blob.id for blob in self.store.blobs(self.tenant)]
        gone = sorted({self.needed[id] for id in self.needed.keys() - set(there)})
        if gone:
            raise Corrupt(
                f"The content of the output {', '.join(gone)} is gone. Bring back a copy, or erase that output first."
            )
        for id in (id for id in there if id in self.needed):
            for chunk in self.store.get_blob(self.tenant, id):
                yield msgspec.json.encode({"kind": "blob", "id": id, "data": b64encode(chunk).decode()})


def _line(line: Line) -> bytes:
    try:
        data = msgspec.json.encode(line)
        if pack(msgspec.json.decode(data)) == pack(line):
            return data
    except (UnicodeEncodeError, OverflowError):
        pass
    return msgspec.json.encode({"kind": line["kind"], "packed": b64encode(pack(line)).decode()})
