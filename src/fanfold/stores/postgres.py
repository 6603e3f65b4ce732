"""A PostgreSQL server, for many writers on many machines: `store="postgresql://…"`.

An append is one round trip. Every append that returned is as durable as the server's own commits. If the connection
is lost on the way, it is asked for once more, and written once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.core.checkpoint import Checkpoint
from fanfold.core.errors import Corrupt
from fanfold.core.record import Record, Taught, versions
from fanfold.core.tree import Entry
from fanfold.stores.coding import Coding, Dialects, as_text, known_dialects, names_of
from fanfold.stores.objects import blob_place
from fanfold.stores.places import as_bytes, checkpoint_place, numbered, session_place
from fanfold.stores.postgres_blobs import PostgresBlobs
from fanfold.stores.postgres_renewing import renew
from fanfold.stores.renewing import FORMAT, Rekeying, Upgrading, changed_key, new_key
from fanfold.stores.sealing import check_mark, seal_with
from fanfold.stores.server import Server, Work
from fanfold.stores.store import Batch, Scrub, Stored, Tenants, refuse_stubs, written_first

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class Postgres(PostgresBlobs, Tenants):
    """A store on a PostgreSQL server, in a schema of its own. Threads, processes and machines may share it."""

    remote = True

    def __init__(
        self,
        url: str,
        *,
        schema: str = "fanfold",
        connections: int = 8,
        timeout: float = 30.0,
        key: bytes | str | None = None,
        blobs: str | Path | ObjectStore | None = None,
        dialects: Dialects = known_dialects,
    ) -> None:
        super().__init__()
        self.server = Server(url, schema, connections, timeout)
        self.seal = seal_with(key)
        self.coding = Coding(dialects, self.seal)
        self._dialects = dialects
        self._ends: dict[tuple[str, str], int] = {}
        """Where sessions' logs ended when last seen."""
        own, format = self._check_seal()
        self.files = blob_place(blobs, own) if blobs is not None else None
        if format != FORMAT:
            self._upgrade()

    def _check_seal(self) -> tuple[str, int]:
        """Whoever comes first says with which key the schema is sealed, if any. Gives back its own name and format."""
        found = self.server.rows("seal")
        if not found:
            self.server.rows("add_seal", mark=self.seal.mark())
            found = self.server.rows("seal")
        self._mark, own, format = found[0]
        check_mark(self.seal, self._mark, self.server.place)
        return str(own), format

    def _upgrade(self) -> None:
        """Give everything a checksum or a seal that binds it to its place; whoever comes second finds it done."""
        with self.server.writing() as work:
            self._mark, format = work.rows("lock_seal")[0]
            if format != FORMAT:
                work.rows("fill_gaps")
                self._mark = renew(self, work, Upgrading(self.coding))

    def rekey(self, key: bytes | str) -> None:
        """Seal everything with another key, as one; whoever has the store open otherwise has to open it anew.

        The server's own log and its backups keep what was sealed with the former key until they are recycled.
        """
        new = new_key(self.seal, key, self.server.place)
        with self.server.writing() as work:
            if work.rows("lock_seal")[0][0] != self._mark:
                raise changed_key(self.server.place)
            work.rows("lock_tenants")
            work.rows("lock_appends")
            mark = renew(self, work, Rekeying(self.seal, new))
        self.seal, self.coding, self._mark = new, Coding(self._dialects, new), mark
        self.server.alone("rewrite")

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session."""
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        while found := self.server.rows("load", **place, after=after, most=most):
            seq, version, first, _ = found[0]
            rows = [(number, body) for _, _, number, body in found] if first is not None else []
            self._ends[tenant, session] = seq
            records = self._read(
                tenant, session, rows, after, seq if most is None else min(seq, after + most)
            )
            after += len(rows)
            if records or after >= seq:  # else all of these were erased: look further
                return Stored([record for _, record in records], after if rows else seq, version)
        return Stored((), 0, 0)

    def _read(
        self, tenant: str, session: str, rows: Sequence[tuple[int, bytes]], after: int, last: int
    ) -> list[tuple[int, Record]]:
        """The records in some rows; none up to the last may be missing."""
        if [number for number, _ in rows] != list(range(after + 1, last + 1)):
            raise Corrupt(
                f"Records of the session {session!r} after record {after} are missing. Bring back a copy."
            )
        place = partial(numbered, session_place(tenant, session))
        return self.coding.read_records(rows, session, place)

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        if batch.stubs:
            with self.server.writing() as work:
                return self._append_in(work, tenant, session, batch, expect)
        return self._append(self.server.rows_once, tenant, session, batch, expect)[0]

    def _append_in(self, work: Work, tenant: str, session: str, batch: Batch, expect: int | None) -> Stored:
        """Write a batch as a part of more. Its stubs are marked, and nobody appends the same words meanwhile."""
        ask = partial(work.rows, asked=False)
        if not batch.stubs:
            return self._append(ask, tenant, session, batch, expect)[0]
        work.rows("lock_owner", tenant=as_bytes(tenant))
        stored, values = self._append(ask, tenant, session, batch, expect)
        erased = [entry.erased is not None for entry in batch.entries]
        work.rows(
            "mark_stubs",
            tenant=as_bytes(tenant),
            ids=list(compress(values["ids"], erased)),
            bodies=list(compress(values["bodies"], erased)),
        )
        return stored

    def _append(
        self,
        ask: Callable[..., list[tuple[Any, ...]]],
        tenant: str,
        session: str,
        batch: Batch,
        expect: int | None,
    ) -> tuple[Stored, dict[str, Any]]:
        """Write a batch for the place where the log ends, and give back what was written.

        It is written anew for another place if somebody wrote beside since the end was last seen.
        """
        while True:
            begins = self._ends.get((tenant, session), 0)
            values = self._values(tenant, session, batch, expect, begins)
            done, seq, version, was, stubs, fits = ask("append", **values)[0]
            if not fits:
                raise changed_key(self.server.place)
            if stubs:
                refuse_stubs(self.entry(tenant, as_text(id)) for id in stubs)
                continue
            self._ends[tenant, session] = seq
            if done:
                return Stored((), seq, version, was), values
            if expect is not None and version != expect:
                raise written_first(session, version, expect)

    def _values(
        self, tenant: str, session: str, batch: Batch, expect: int | None, begins: int
    ) -> dict[str, Any]:
        """A batch as the statement takes it; by its token it is recognised if it comes twice."""
        place = session_place(tenant, session)
        return {
            "tenant": as_bytes(tenant),
            "session": as_bytes(session),
            "expected": expect,
            "token": secrets.token_bytes(8),
            "changes": versions(batch.records),
            "records": [
                self.coding.record(record, numbered(place, seq))
                for seq, record in enumerate(batch.records, begins + 1)
            ],
            "ids": [as_bytes(entry.id) for entry in batch.entries],
            "parents": [as_bytes(entry.parent or "") for entry in batch.entries],
            "bodies": [self.coding.entry(entry, tenant) for entry in batch.entries],
            "again": [as_bytes(entry.id) for entry in batch.restored],
            "contents": [self.coding.entry(entry, tenant) for entry in batch.restored],
            "begins": begins,
            "mark": self._mark,
        }

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, batch after batch in one transaction."""
        stored = Stored((), 0, 0)
        with self.server.writing() as work:
            for batch in batches:
                later = self._append_in(work, tenant, session, batch, stored.version)
                if later.was != stored.seq:
                    raise written_first(session, later.version, 0)
                stored = later
        return stored

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session; none where it is damaged, for it only saves time."""
        found = self.server.rows("checkpoint", tenant=as_bytes(tenant), session=as_bytes(session))
        if not found:
            return None
        seq, body, end = found[0]
        try:
            kept = self.coding.read_checkpoint(body, checkpoint_place(tenant, session, seq))
        except Corrupt:
            return None
        if seq > end:
            raise Corrupt(f"The session {session!r} had {seq} records and has {end}. Bring back a copy.")
        return (seq, kept)

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        body = self.coding.checkpoint(checkpoint, checkpoint_place(tenant, session, seq))
        self.server.rows(
            "keep_checkpoint", tenant=as_bytes(tenant), session=as_bytes(session), seq=seq, body=body
        )

    def taught(self, tenant: str) -> Iterator[Taught]:
        """What a few of the tenant's sessions learned, the youngest first."""
        found = self.server.rows("newest_checkpoints", tenant=as_bytes(tenant))
        return self.coding.read_taught(tenant, found)

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        end = as_bytes(stop) if stop is not None else None
        found = self.server.rows("path", tenant=as_bytes(tenant), tip=as_bytes(tip), stop=end)
        return self.coding.read_path(found, tenant, tip, stop)

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        found = self.server.rows("entry", tenant=as_bytes(tenant), id=as_bytes(id))
        return self.coding.read_row(tenant, *found[0]) if found else None

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so."""
        first = as_bytes(beginning)
        found = self.server.rows("find", tenant=as_bytes(tenant), first=first, last=first + b"\xff")
        return [as_text(id) for (id,) in found]

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""
        return names_of(self.server.rows("sessions", tenant=as_bytes(tenant)))

    def erase(self, tenant: str, stub: Entry, scrub: Scrub) -> None:
        """Put a stub in an entry's place, and scrub all sessions; the tables are written anew.

        The server's own log and its backups keep the content until they are recycled.
        """
        owner = as_bytes(tenant)
        with self.server.writing() as work:
            work.rows("lock_tenant", tenant=owner)
            if work.rows("seal")[0][0] != self._mark:
                raise changed_key(self.server.place)
            names = [as_text(name) for (name,) in work.rows("lock_sessions", tenant=owner)]
            work.rows("erase_entry", tenant=owner, id=as_bytes(stub.id), body=self.coding.entry(stub, tenant))
            work.rows("forget_checkpoints", tenant=owner)
            for session in names:
                self._scrub(work, tenant, session, scrub)
        self.server.alone("rewrite")

    def _scrub(self, work: Work, tenant: str, session: str, scrub: Scrub) -> None:
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        rows = work.rows("records", **place)
        records = self._read(tenant, session, rows, 0, len(rows))
        changed, added = self.coding.scrubbed(session, records, scrub)
        for seq, record in changed.items():
            body = self.coding.record(record, numbered(session_place(tenant, session), seq))
            work.rows("change_record", **place, seq=seq, body=body)
        if added:
            self._append(partial(work.rows, asked=False), tenant, session, Batch(added), None)

    def close(self) -> None:
        """Let go of all connections; whoever uses the store again connects again."""
        self.server.close()
