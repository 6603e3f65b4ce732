"""A PostgreSQL server, for many writers on many machines: `store="postgresql://…"`.

An append is one round trip. Every append that returned is as durable as the server's own commits. If the connection
is lost on the way, it is asked for once more, and written once.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.checkpoint import Checkpoint
from fanfold.errors import Corrupt, StoreFailed
from fanfold.record import Taught, versions
from fanfold.stores.blobs import BlobPlace, Intake, Spool, range_of
from fanfold.stores.coding import Codecs, Coding, as_bytes, as_text, holds_on, known_codecs
from fanfold.stores.objects import blob_place
from fanfold.stores.sealing import check_mark, seal_with
from fanfold.stores.server import Server, Work
from fanfold.stores.store import (
    ABANDONED,
    Batch,
    Blob,
    Hold,
    Scrub,
    Stored,
    Tenants,
    no_blob,
    referred_to,
    refuse_stubs,
    written_first,
)
from fanfold.tree import Entry

if TYPE_CHECKING:
    from obstore.store import ObjectStore


PIECE = 1 << 20
"""A blob lies in the database in pieces of so many bytes; what is stored depends on it."""


class Postgres(Tenants):
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
        codecs: Codecs = known_codecs,
    ) -> None:
        super().__init__()
        self.server = Server(url, schema, connections, timeout)
        self.seal = seal_with(key)
        self.coding = Coding(codecs, self.seal)
        own = self._check_seal()
        self.files = blob_place(blobs, own) if blobs is not None else None

    def _check_seal(self) -> str:
        """Whoever comes first says with which key the schema is sealed, if any. Gives back the store's own name."""
        found = self.server.rows("seal")
        if not found:
            self.server.rows("add_seal", mark=self.seal.mark())
            found = self.server.rows("seal")
        check_mark(self.seal, found[0][0], self.server.place)
        return str(found[0][1])

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session."""
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        found = self.server.rows("load", **place, after=after, most=most)
        if not found:
            return Stored((), 0, 0)
        records = [self.coding.read_record(body) for _, _, _, body in found if body is not None]
        seq, version, last, _ = found[-1]
        return Stored(records, last if len(records) == most else seq, version)

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        if batch.stubs:
            with self.server.writing() as work:
                return self._append(work, tenant, session, batch, expect)
        answer = self.server.rows_once("append", **self._values(tenant, session, batch, expect))
        return self._appended(tenant, session, answer, expect)

    def _append(self, work: Work, tenant: str, session: str, batch: Batch, expect: int | None) -> Stored:
        """Write a batch as a part of more. Its stubs are marked, and nobody appends the same words meanwhile."""
        if batch.stubs:
            work.rows("lock_owner", tenant=as_bytes(tenant))
        values = self._values(tenant, session, batch, expect)
        stored = self._appended(tenant, session, work.rows("append", **values, asked=False), expect)
        if batch.stubs:
            erased = [entry.erased is not None for entry in batch.entries]
            work.rows(
                "mark_stubs",
                tenant=as_bytes(tenant),
                ids=list(compress(values["ids"], erased)),
                bodies=list(compress(values["bodies"], erased)),
            )
        return stored

    def _values(self, tenant: str, session: str, batch: Batch, expect: int | None) -> dict[str, Any]:
        """A batch as the statement takes it; by its token it is recognised if it comes twice."""
        return {
            "tenant": as_bytes(tenant),
            "session": as_bytes(session),
            "expected": expect,
            "token": secrets.token_bytes(8),
            "changes": versions(batch.records),
            "records": [self.coding.record(record) for record in batch.records],
            "ids": [as_bytes(entry.id) for entry in batch.entries],
            "parents": [as_bytes(entry.parent or "") for entry in batch.entries],
            "bodies": [self.coding.entry(entry) for entry in batch.entries],
            "again": [as_bytes(entry.id) for entry in batch.restored],
            "contents": [self.coding.entry(entry) for entry in batch.restored],
        }

    def _appended(
        self, tenant: str, session: str, answer: Sequence[tuple[Any, ...]], expect: int | None = None
    ) -> Stored:
        done, seq, version, was, stubs = answer[0]
        if stubs:
            refuse_stubs(self.entry(tenant, as_text(id)) for id in stubs)
        if not done:
            raise written_first(session, version, expect)
        return Stored((), seq, version, was)

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, batch after batch in one transaction."""
        stored = Stored((), 0, 0)
        with self.server.writing() as work:
            for batch in batches:
                later = self._append(work, tenant, session, batch, stored.version)
                if later.was != stored.seq:
                    raise written_first(session, later.version, 0)
                stored = later
        return stored

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session."""
        found = self.server.rows("checkpoint", tenant=as_bytes(tenant), session=as_bytes(session))
        return (found[0][0], self.coding.read_checkpoint(found[0][1])) if found else None

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        body = self.coding.checkpoint(checkpoint)
        self.server.rows(
            "keep_checkpoint", tenant=as_bytes(tenant), session=as_bytes(session), seq=seq, body=body
        )

    def taught(self, tenant: str) -> Iterator[Taught]:
        """What a few of the tenant's sessions learned, the youngest first."""
        found = self.server.rows("newest_checkpoints", tenant=as_bytes(tenant))
        return self.coding.read_taught(body for (body,) in found)

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        end = as_bytes(stop) if stop is not None else None
        for row in self.server.rows("path", tenant=as_bytes(tenant), tip=as_bytes(tip), stop=end):
            yield self.coding.read_row(*row)

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        found = self.server.rows("entry", tenant=as_bytes(tenant), id=as_bytes(id))
        return self.coding.read_row(*found[0]) if found else None

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so."""
        first = as_bytes(beginning)
        found = self.server.rows("find", tenant=as_bytes(tenant), first=first, last=first + b"\xff")
        return [as_text(id) for (id,) in found]

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""
        return sorted(as_text(name) for (name,) in self.server.rows("sessions", tenant=as_bytes(tenant)))

    def erase(self, tenant: str, stub: Entry, scrub: Scrub) -> None:
        """Put a stub in an entry's place, and scrub all sessions; the tables are written anew.

        The server's own log and its backups keep the content until they are recycled.
        """
        owner = as_bytes(tenant)
        with self.server.writing() as work:
            work.rows("lock_tenant", tenant=owner)
            names = [as_text(name) for (name,) in work.rows("lock_sessions", tenant=owner)]
            work.rows("erase_entry", tenant=owner, id=as_bytes(stub.id), body=self.coding.entry(stub))
            work.rows("forget_checkpoints", tenant=owner)
            for session in names:
                self._scrub(work, tenant, session, scrub)
        self.server.alone("rewrite")

    def _scrub(self, work: Work, tenant: str, session: str, scrub: Scrub) -> None:
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        changed, added = self.coding.scrubbed(session, work.rows("records", **place), scrub)
        for seq, body in changed.items():
            if body is None:
                work.rows("drop_record", **place, seq=seq)
            else:
                work.rows("change_record", **place, seq=seq, body=body)
        if added:
            values = self._values(tenant, session, Batch(added), None)
            self._appended(tenant, session, work.rows("append", **values, asked=False))

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole: in pieces of 1 MiB, or above that size where `blobs` says."""
        intake = Intake(self.files or Spool(), self.seal)
        try:
            blob = intake.take(chunks)
            if holder:  # before it is looked for: it may be about to be dropped
                self.server.rows(
                    "add_hold", tenant=as_bytes(tenant), holder=as_bytes(holder), id=as_bytes(blob.id)
                )
            if self.files is not None and intake.path is not None:
                self._put_outside(self.files, intake.path, tenant, blob)
            else:
                self._put_pieces(intake, tenant, blob)
        finally:
            intake.forget()
        return blob

    def let_go(self, tenant: str, holder: str) -> None:
        """Whoever put blobs under this name does not hold them any more."""
        self.server.rows("let_go", tenant=as_bytes(tenant), holder=as_bytes(holder))

    def _put_pieces(self, intake: Intake, tenant: str, blob: Blob) -> None:
        place = {"tenant": as_bytes(tenant), "id": as_bytes(blob.id)}
        with self.server.writing() as work:
            if work.rows("add_blob", **place, size=blob.size, outside=False):
                for number, data in enumerate(_pieces(intake)):
                    work.rows("add_piece", **place, number=number, data=data)

    def _put_outside(self, files: BlobPlace, path: Path, tenant: str, blob: Blob) -> None:
        place = {"tenant": as_bytes(tenant), "id": as_bytes(blob.id)}
        files.bring(path, tenant, blob.id)
        with self.server.writing() as work:
            work.rows("lock_blob", **place)
            files.finish(path, tenant, blob.id)
            work.rows("add_blob", **place, size=blob.size, outside=True)

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""
        found = self.server.rows("blob", tenant=as_bytes(tenant), id=as_bytes(id))
        if not found:
            raise no_blob(id)
        size, outside = found[0]
        kept = Blob(id, self.seal.size(size))
        fetch = partial(self._outside().read, tenant, kept) if outside else partial(self._range, tenant, id)
        return range_of(self.seal, Blob(id, size), fetch, start, stop)

    def _outside(self) -> BlobPlace:
        if self.files is None:
            raise StoreFailed(
                "This blob lies outside the database: open the store with the `blobs` it was put with."
            )
        return self.files

    def _range(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            number, first = divmod(start, PIECE)
            count = min(PIECE - first, stop - start)
            place = {"tenant": as_bytes(tenant), "id": as_bytes(id), "number": number}
            found = self.server.rows("piece", **place, start=first + 1, count=count)
            if not found or len(found[0][0]) != count:
                raise Corrupt(f"A piece of blob {id} is missing. Bring back a copy of it.")
            yield found[0][0]
            start += count

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        return [Blob(as_text(id), size) for id, size in self.server.rows("blobs", tenant=as_bytes(tenant))]

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that nobody needs; the table is written anew."""
        owner = as_bytes(tenant)
        with self.server.writing() as work:
            work.rows("lock_tenant", tenant=owner)
            work.rows("forget_holds", age=ABANDONED)
            doomed = set(ids).difference(referred_to(self, tenant))
            held = holds_on(doomed, work.rows("held", tenant=owner))
            gone = sorted(doomed.difference(hold.blob for hold in held))
            inside = [id for id in gone if not self._drop(work, tenant, id)]
        if self.files is not None:
            self._drop_files(self.files, tenant, gone)
        if inside:
            self.server.alone("rewrite_blobs")
        return held

    def _drop(self, work: Work, tenant: str, id: str) -> bool:
        """Delete a blob's rows; says whether it lay outside the database. If it was not there, nobody knows."""
        place = {"tenant": as_bytes(tenant), "id": as_bytes(id)}
        work.rows("lock_blob", **place)
        dropped = work.rows("drop_blob", **place)
        return bool(dropped and dropped[0][0] and self._outside())

    def _drop_files(self, files: BlobPlace, tenant: str, ids: Iterable[str]) -> None:
        """Delete the files of blobs that are not listed any more: a listed blob always has its file."""
        with self.server.writing() as work:
            for id in ids:
                place = {"tenant": as_bytes(tenant), "id": as_bytes(id)}
                work.rows("lock_blob", **place)
                if not work.rows("blob", **place):
                    files.drop(tenant, id)

    def close(self) -> None:
        """Let go of all connections; whoever uses the store again connects again."""
        self.server.close()


def _pieces(intake: Intake) -> Iterator[bytes]:
    """What was taken in, in pieces of one size."""
    if intake.path is None:
        data = intake.data or b""
        yield from (data[at : at + PIECE] for at in range(0, len(data), PIECE))
        return
    with Path(intake.path).open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
