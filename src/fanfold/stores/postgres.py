"""A PostgreSQL server, for many writers on many machines: `store="postgresql://…"`.

An append is one round trip. Every append that returned is as durable as the server's own commits. If the connection
is lost on the way, it is asked for once more, and written once.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fanfold.checkpoint import Checkpoint
from fanfold.errors import Corrupt, Moved, NotFound, StoreFailed
from fanfold.log import Entry
from fanfold.record import Record, Taught, Visible
from fanfold.stores.blobs import Intake, Place, Spool, checked
from fanfold.stores.coding import Codecs, Coding, known_codecs
from fanfold.stores.objects import place_of
from fanfold.stores.sealing import check_mark, seal_with
from fanfold.stores.server import Server, Work
from fanfold.stores.store import CHUNK, Batch, Blob, Scrub, Stored, Tenants, bounds, refuse_stubs

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_VISIBLE = get_args(Visible)


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
        self.files = place_of(blobs, own) if blobs is not None else None

    def _check_seal(self) -> str:
        """Whoever comes first says with which key the schema is sealed, if any. Gives back the store's own name."""
        found = self.server.rows("seal")
        if not found:
            self.server.rows("add_seal", mark=self.seal.mark())
            found = self.server.rows("seal")
        check_mark(self.seal, found[0][0], self.server.place)
        return str(found[0][1])

    def load(self, tenant: str, session: str, *, after: int = 0) -> Stored:
        """The records of a session."""
        found = self.server.rows("load", tenant=_bytes(tenant), session=_bytes(session), after=after)
        if not found:
            return Stored((), 0, 0)
        records = [self.coding.read_record(body) for _, _, body in found if body is not None]
        return Stored(records, found[0][0], found[0][1])

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        return self._appended(
            tenant, session, self.server.rows("append", **self._values(tenant, session, batch, expect))
        )

    def _values(self, tenant: str, session: str, batch: Batch, expect: int | None) -> dict[str, Any]:
        """A batch as the statement takes it; by its token it is recognised if it comes twice."""
        return {
            "tenant": _bytes(tenant),
            "session": _bytes(session),
            "expected": expect,
            "token": secrets.token_bytes(8),
            "changes": sum(isinstance(record, _VISIBLE) for record in batch.records),
            "records": [self.coding.record(record) for record in batch.records],
            "ids": [_bytes(entry.id) for entry in batch.entries],
            "parents": [_bytes(entry.parent or "") for entry in batch.entries],
            "bodies": [self.coding.entry(entry) for entry in batch.entries],
            "again": [_bytes(entry.id) for entry in batch.restored],
            "contents": [self.coding.entry(entry) for entry in batch.restored],
        }

    def _appended(self, tenant: str, session: str, answer: Sequence[tuple[Any, ...]]) -> Stored:
        done, seq, version, was, stubs = answer[0]
        if stubs:
            refuse_stubs(self.entry(tenant, _text(id)) for id in stubs)
        if not done:
            raise Moved(f"The session {session!r} is at version {version}: somebody wrote first.")
        return Stored((), seq, version, was)

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session."""
        found = self.server.rows("checkpoint", tenant=_bytes(tenant), session=_bytes(session))
        return (found[0][0], self.coding.read_checkpoint(found[0][1])) if found else None

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        body = self.coding.checkpoint(checkpoint)
        self.server.rows(
            "keep_checkpoint", tenant=_bytes(tenant), session=_bytes(session), seq=seq, body=body
        )

    def taught(self, tenant: str) -> Iterator[Taught]:
        """What a few of the tenant's sessions learned, the youngest first."""
        found = self.server.rows("newest_checkpoints", tenant=_bytes(tenant))
        return self.coding.read_taught(body for (body,) in found)

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        end = _bytes(stop) if stop is not None else None
        for row in self.server.rows("path", tenant=_bytes(tenant), tip=_bytes(tip), stop=end):
            yield self._read_entry(row)

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        found = self.server.rows("entry", tenant=_bytes(tenant), id=_bytes(id))
        return self._read_entry(found[0]) if found else None

    def _read_entry(self, row: tuple[Any, ...]) -> Entry:
        id, parent, body = row
        return self.coding.read_entry(_text(id), _text(parent) if parent is not None else None, body)

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so."""
        first = _bytes(beginning)
        found = self.server.rows("find", tenant=_bytes(tenant), first=first, last=first + b"\xff")
        return [_text(id) for (id,) in found]

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""
        return sorted(_text(name) for (name,) in self.server.rows("sessions", tenant=_bytes(tenant)))

    def erase(self, tenant: str, stub: Entry, scrub: Scrub) -> None:
        """Put a stub in an entry's place, and scrub all sessions; the tables are written anew.

        The server's own log and its backups keep the content until they are recycled.
        """
        owner = _bytes(tenant)
        with self.server.writing() as work:
            work.rows("lock_tenant", tenant=owner)
            names = [_text(name) for (name,) in work.rows("lock_sessions", tenant=owner)]
            work.rows("erase_entry", tenant=owner, id=_bytes(stub.id), body=self.coding.entry(stub))
            work.rows("forget_checkpoints", tenant=owner)
            for session in names:
                self._scrub(work, tenant, session, scrub)
        self.server.once("rewrite")

    def _scrub(self, work: Work, tenant: str, session: str, scrub: Scrub) -> None:
        place = {"tenant": _bytes(tenant), "session": _bytes(session)}
        found = work.rows("records", **place)
        records = [self.coding.read_record(body) for _, body in found]
        scrubbed = scrub(session, records)
        if scrubbed is None:
            return
        for (seq, _), old, new in zip(found, records, scrubbed, strict=False):
            if new is None:
                work.rows("drop_record", **place, seq=seq)
            elif new != old:
                work.rows("change_record", **place, seq=seq, body=self.coding.record(new))
        self._add(work, tenant, session, scrubbed[len(records) :])

    def _add(self, work: Work, tenant: str, session: str, records: Sequence[Record | None]) -> None:
        batch = Batch(tuple(record for record in records if record is not None))
        if batch.records:
            self._appended(tenant, session, work.rows("append", **self._values(tenant, session, batch, None)))

    def put_blob(self, tenant: str, chunks: Iterable[bytes]) -> Blob:
        """Keep a blob whole: in pieces of 1 MiB, or above that size where `blobs` says."""
        intake = Intake(self.files or Spool(), self.seal)
        try:
            blob = intake.take(chunks)
            if self.files is not None and intake.path is not None:
                self._put_outside(self.files, intake.path, tenant, blob)
            else:
                self._put_pieces(intake, tenant, blob)
        finally:
            intake.forget()
        return blob

    def _put_pieces(self, intake: Intake, tenant: str, blob: Blob) -> None:
        place = {"tenant": _bytes(tenant), "id": _bytes(blob.id)}
        with self.server.writing() as work:
            if work.rows("add_blob", **place, size=blob.size, outside=False):
                for number, data in enumerate(_pieces(intake)):
                    work.rows("add_piece", **place, number=number, data=data)

    def _put_outside(self, files: Place, path: Path, tenant: str, blob: Blob) -> None:
        place = {"tenant": _bytes(tenant), "id": _bytes(blob.id)}
        files.bring(path, tenant, blob.id)
        with self.server.writing() as work:
            work.rows("lock_blob", **place)
            files.finish(path, tenant, blob.id)
            work.rows("add_blob", **place, size=blob.size, outside=True)

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""
        found = self.server.rows("blob", tenant=_bytes(tenant), id=_bytes(id))
        if not found:
            raise NotFound(f"There is no blob {id!r} here.")
        size, outside = found[0]
        blob = Blob(id, size)
        start, stop = bounds(blob, start, stop)
        kept = Blob(id, self.seal.size(size))
        fetch = partial(self._outside().read, tenant, kept) if outside else partial(self._range, tenant, id)
        chunks = self.seal.range(fetch, size, start, stop)
        return checked(chunks, blob) if (start, stop) == (0, size) else chunks

    def _outside(self) -> Place:
        if self.files is None:
            raise StoreFailed(
                "This blob lies outside the database: open the store with the `blobs` it was put with."
            )
        return self.files

    def _range(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            number, first = divmod(start, CHUNK)
            count = min(CHUNK - first, stop - start)
            place = {"tenant": _bytes(tenant), "id": _bytes(id), "number": number}
            found = self.server.rows("piece", **place, start=first + 1, count=count)
            if not found or len(found[0][0]) != count:
                raise Corrupt(f"A piece of blob {id} is missing. Bring back a copy of it.")
            yield found[0][0]
            start += count

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        return [Blob(_text(id), size) for id, size in self.server.rows("blobs", tenant=_bytes(tenant))]

    def drop_blob(self, tenant: str, id: str) -> None:
        """Delete a blob; the table is written anew."""
        place = {"tenant": _bytes(tenant), "id": _bytes(id)}
        with self.server.writing() as work:
            work.rows("lock_blob", **place)
            dropped = work.rows("drop_blob", **place)
            if dropped and dropped[0][0]:
                self._outside().drop(tenant, id)
        if dropped and not dropped[0][0]:
            self.server.once("rewrite_blobs")

    def close(self) -> None:
        """Let go of all connections; whoever uses the store again connects again."""
        self.server.close()


def _pieces(intake: Intake) -> Iterator[bytes]:
    """What was taken in, in pieces of one size."""
    if intake.path is None:
        data = intake.data or b""
        yield from (data[at : at + CHUNK] for at in range(0, len(data), CHUNK))
        return
    with Path(intake.path).open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece


def _bytes(text: str) -> bytes:
    """A name as it is kept: any text can be one, a lone surrogate or a NUL in it too."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
