"""Everything in this process, nothing on disk."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice

import msgspec

from fanfold.core.record import Opened, Record, versions
from fanfold.core.tree import Entry
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.locks import ThreadLock
from fanfold.stores.references import names_in
from fanfold.stores.store import (
    READ_AT_ONCE,
    TRACKS,
    Batch,
    Blob,
    Hold,
    Scrub,
    Stored,
    Tenants,
    Track,
    bounds,
    name_of,
    no_blob,
    referred_to,
    refuse_stubs,
    summing,
    written_first,
)
from fanfold.stores.summary import Summary


class Memory(Tenants):
    """A store in memory. Sessions opened on the same one share entries, and can be opened again."""

    resumes = False
    """Everything is at hand anyway."""

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[tuple[str, str], list[Record | None]] = {}
        """None where a record was erased."""
        self._versions: dict[tuple[str, str], tuple[int, int]] = {}
        """How many records change the view, among so many that were looked at."""
        self._entries: dict[tuple[str, str], Entry] = {}
        self._blobs: dict[tuple[str, str], bytes] = {}
        self._held: dict[tuple[str, str, str], float] = {}
        """Who holds which blob: tenant, holder and blob, and since when."""
        self._tracks: dict[tuple[str, int], dict[str, None]] = {}
        """The sessions that came by a prefix, the youngest last."""
        self._heads: dict[tuple[str, str], int] = {}
        """Where each session stands."""
        self._summaries: dict[tuple[str, str], Summary] = {}
        self._referring: dict[tuple[str, str], dict[str, None]] = {}
        """The sessions that name a message or a blob."""
        self._lock = ThreadLock()

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session."""
        with self._lock:
            lines = self._records.get((tenant, session), [])
            there = (at for at in range(after, len(lines)) if lines[at] is not None)
            found = list(islice(there, most))
            end = found[-1] + 1 if len(found) == most else len(lines)
            version = self._version((tenant, session))
            return Stored([record for at in found if (record := lines[at]) is not None], end, version)

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        with self._lock:
            return self._append(tenant, (tenant, session), batch, expect)

    def _append(self, tenant: str, key: tuple[str, str], batch: Batch, expect: int | None) -> Stored:
        """Entries come first: whatever breaks this off, no record names one that is not there."""
        version = self._version(key)
        if expect is not None and version != expect:
            raise written_first(key[1], version, expect)
        refuse_stubs([self._entries.get((tenant, entry.id)) for entry in batch.entries])
        for entry in batch.entries:
            self._entries.setdefault((tenant, entry.id), entry)
        for entry in batch.restored:
            self._entries[tenant, entry.id] = entry
        lines = self._records.setdefault(key, [])
        was = len(lines)
        lines.extend(batch.records)
        for prefix in batch.prefixes:
            if prefix is not None:
                self._tracks.setdefault((tenant, prefix), {})[key[1]] = None
                self._heads[key] = prefix
        for id in {*batch.passed, *chain.from_iterable(map(names_in, batch.records))}:
            self._referring.setdefault((tenant, id), {})[key[1]] = None
        if batch.summary is not None:
            self._summaries[key] = batch.summary
        version += versions(batch.records)
        self._versions[key] = (len(lines), version)
        return Stored((), len(lines), version, was)

    def _version(self, key: tuple[str, str]) -> int:
        """How many records of a session change the view; those that were erased since count, too."""
        lines = self._records.get(key, [])
        looked_at, count = self._versions.get(key, (0, 0))
        if looked_at < len(lines):
            count += versions(record for record in lines[looked_at:] if record is not None)
            self._versions[key] = (len(lines), count)
        return count

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """None: everything is at hand anyway."""
        return None

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """There is no need to; only how the session stands is kept."""
        with self._lock:
            if checkpoint.summary is not None and len(self._records.get((tenant, session), ())) == seq:
                self._summaries[tenant, session] = checkpoint.summary

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

    def tracks(self, tenant: str, prefixes: Sequence[int]) -> list[Track]:
        """The sessions that came by the first of some prefixes that any session came by."""
        with self._lock:
            first = next((one for one in prefixes if (tenant, one) in self._tracks), None)
            names = reversed(self._tracks[tenant, first]) if first is not None else ()
            found = [
                Track(first, name, self._heads[tenant, name] == first, self._summary(tenant, name))
                for name in names
                if first is not None
            ]
        return sorted(found, key=lambda track: not track.head)[:TRACKS]

    def summaries(self, tenant: str) -> list[Summary]:
        """All sessions of a tenant."""
        with self._lock:
            names = self.sessions(tenant)
            return [self._summary(tenant, name) or self.summarize(tenant, name) for name in names]

    def _summary(self, tenant: str, session: str) -> Summary | None:
        kept = self._summaries.get((tenant, session))
        return msgspec.structs.replace(kept, name=session) if kept is not None else None

    def referring(self, tenant: str, ids: Collection[str]) -> list[str]:
        """The sessions whose records name any of some entries or blobs."""
        with self._lock:
            found = (self._referring.get((tenant, id), {}) for id in ids)
            return sorted({session for sessions in found for session in sessions})

    def erase(self, tenant: str, stub: Entry, scrub: Scrub, *, also: str | None = None) -> None:
        """Put a stub in an entry's place, and scrub the sessions that name it."""
        with self._lock:
            named = {*self.referring(tenant, [stub.id]), *([] if also is None else [also])}
            scrubbed = {
                (tenant, session): lines
                for session in sorted(named)
                if (lines := self._scrubbed(tenant, session, scrub)) is not None
            }
            self._entries[(tenant, stub.id)] = stub
            for key, lines in scrubbed.items():
                before = self._records[key]
                if any(
                    isinstance(old, Opened) and old != new for old, new in zip(before, lines, strict=False)
                ):
                    self._summaries.pop(key, None)  # it repeats labels that are erased
            self._records.update(scrubbed)

    def _scrubbed(self, tenant: str, session: str, scrub: Scrub) -> list[Record | None] | None:
        """The records of a session without what was made from an erased entry; None where nothing was."""
        scrubbed = scrub(session, self.load(tenant, session).records)
        if scrubbed is None:
            return None
        lines = self._records[(tenant, session)].copy()
        there = [at for at, record in enumerate(lines) if record is not None]
        for at, record in zip(there, scrubbed, strict=False):
            lines[at] = record
        return [*lines, *(record for record in scrubbed[len(there) :] if record is not None)]

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""
        with self._lock:
            return sorted(name for owner, name in self._records if owner == tenant)

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole."""
        data = b"".join(chunks)
        total = summing()
        total.update(data)
        blob = Blob(name_of(total), len(data))
        with self._lock:
            self._blobs[(tenant, blob.id)] = data
            if holder:
                self._held[tenant, holder, blob.id] = time.time()
        return blob

    def let_go(self, tenant: str, holder: str) -> None:
        """Whoever put blobs under this name does not hold them any more."""
        with self._lock:
            held = self._held.items()
            self._held = {key: since for key, since in held if key[:2] != (tenant, holder)}

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it."""
        if (tenant, id) not in self._blobs:
            raise no_blob(id)
        start, stop = bounds(Blob(id, len(self._blobs[(tenant, id)])), start, stop)
        data = self._blobs[(tenant, id)][start:stop]
        return (data[at : at + READ_AT_ONCE] for at in range(0, len(data), READ_AT_ONCE))

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        with self._lock:
            return [Blob(id, len(data)) for (owner, id), data in self._blobs.items() if owner == tenant]

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that nobody needs."""
        with self._lock:
            doomed = set(ids).difference(referred_to(self, tenant, self.referring(tenant, ids)))
            held = [
                Hold(blob, holder, since)
                for (owner, holder, blob), since in self._held.items()
                if owner == tenant and blob in doomed
            ]
            for id in doomed.difference(hold.blob for hold in held):
                self._blobs.pop((tenant, id), None)
            return held

    def close(self) -> None:
        """There is nothing to let go of."""
