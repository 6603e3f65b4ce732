"""Everything in this process, nothing on disk."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from fanfold.checkpoint import Checkpoint
from fanfold.log import Entry
from fanfold.record import Record, versions
from fanfold.stores.store import (
    CHUNK,
    Batch,
    Blob,
    Scrub,
    Stored,
    Tenants,
    bounds,
    name_of,
    no_blob,
    refuse_stubs,
    summing,
    written_first,
)


class Memory(Tenants):
    """A store in memory. Sessions opened on the same one share entries, and can be opened again."""

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[tuple[str, str], list[Record]] = {}
        self._versions: dict[tuple[str, str], int] = {}
        self._entries: dict[tuple[str, str], Entry] = {}
        self._blobs: dict[tuple[str, str], bytes] = {}
        self._lock = threading.RLock()

    def load(self, tenant: str, session: str, *, after: int = 0) -> Stored:
        """The records of a session."""
        with self._lock:
            records = self._records.get((tenant, session), [])
            return Stored(records[after:], len(records), self._versions.get((tenant, session), 0))

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        with self._lock:
            return self._append(tenant, (tenant, session), batch, expect)

    def _append(self, tenant: str, key: tuple[str, str], batch: Batch, expect: int | None) -> Stored:
        version = self._versions.get(key, 0)
        if expect is not None and version != expect:
            raise written_first(key[1], version, expect)
        refuse_stubs(self._entries.get((tenant, entry.id)) for entry in batch.entries)
        records = self._records.setdefault(key, [])
        was = len(records)
        records.extend(batch.records)
        version += versions(batch.records)
        self._versions[key] = version
        for entry in batch.entries:
            self._entries.setdefault((tenant, entry.id), entry)
        for entry in batch.restored:
            self._entries[(tenant, entry.id)] = entry
        return Stored((), len(records), version, was)

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """None: everything is at hand anyway."""
        return None

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """There is no need to."""

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        id: str | None = tip
        while id is not None and id != stop:
            entry = self._entries[(tenant, id)]
            yield entry
            id = entry.parent

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        return self._entries.get((tenant, id))

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so."""
        with self._lock:
            return [id for owner, id in self._entries if owner == tenant and id.startswith(beginning)][:3]

    def erase(self, tenant: str, stub: Entry, scrub: Scrub) -> None:
        """Put a stub in an entry's place, and scrub all sessions."""
        with self._lock:
            self._entries[(tenant, stub.id)] = stub
            for session in self.sessions(tenant):
                key = (tenant, session)
                scrubbed = scrub(session, self._records[key])
                if scrubbed is not None:
                    self._records[key] = [record for record in scrubbed if record is not None]
                    self._versions[key] = versions(self._records[key])

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""
        with self._lock:
            return sorted(name for owner, name in self._records if owner == tenant)

    def put_blob(self, tenant: str, chunks: Iterable[bytes]) -> Blob:
        """Keep a blob whole."""
        data = b"".join(chunks)
        total = summing()
        total.update(data)
        blob = Blob(name_of(total), len(data))
        with self._lock:
            self._blobs[(tenant, blob.id)] = data
        return blob

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it."""
        if (tenant, id) not in self._blobs:
            raise no_blob(id)
        start, stop = bounds(Blob(id, len(self._blobs[(tenant, id)])), start, stop)
        data = self._blobs[(tenant, id)][start:stop]
        return (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        with self._lock:
            return [Blob(id, len(data)) for (owner, id), data in self._blobs.items() if owner == tenant]

    def drop_blob(self, tenant: str, id: str) -> None:
        """Delete a blob."""
        with self._lock:
            self._blobs.pop((tenant, id), None)

    def close(self) -> None:
        """There is nothing to let go of."""
