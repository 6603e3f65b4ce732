"""The blobs of a store on a PostgreSQL server: in pieces in a table, or large ones elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from fanfold.core.errors import Corrupt, StoreFailed
from fanfold.stores.blobs import BlobPlace, Intake, Spool, proof_of, range_of
from fanfold.stores.coding import as_text, holds_on
from fanfold.stores.places import as_bytes, proof_place
from fanfold.stores.renewing import changed_key
from fanfold.stores.sealing import Fetch, Seal
from fanfold.stores.server import Server, Work
from fanfold.stores.store import ABANDONED, Blob, Hold, Store, no_blob, referred_to

PIECE = 1 << 20
"""A blob lies in the database in pieces of so many bytes; what is stored depends on it."""


class PostgresBlobs:
    """Verbs of a store that are about blobs."""

    server: Server
    seal: Seal
    files: BlobPlace | None
    _mark: bytes

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
                self._put_outside(self.files, intake, intake.path, tenant, blob)
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
        with self._writing() as work:
            proof = self._sealed_proof(intake, tenant, blob)
            if work.rows("add_blob", **place, size=blob.size, outside=False, proof=proof):
                for number, data in enumerate(_pieces(intake)):
                    work.rows("add_piece", **place, number=number, data=data)

    def _put_outside(self, files: BlobPlace, intake: Intake, path: Path, tenant: str, blob: Blob) -> None:
        place = {"tenant": as_bytes(tenant), "id": as_bytes(blob.id)}
        files.bring(path, tenant, blob.id)
        with self._writing() as work:
            work.rows("lock_blob", **place)
            listed = bool(work.rows("blob", **place))
            proof = self._sealed_proof(intake, tenant, blob)
            if intake.settle(files, tenant, blob, listed=listed) and listed:
                work.rows("keep_proof", **place, proof=proof)
            work.rows("add_blob", **place, size=blob.size, outside=True, proof=proof)

    def _sealed_proof(self, intake: Intake, tenant: str, blob: Blob) -> bytes:
        return self.seal.close(proof_place(tenant, blob.id, blob.size), intake.proof)

    @contextmanager
    def _writing(self) -> Iterator[Work]:
        """A transaction during which nobody changes the key."""
        with self.server.writing() as work:
            if self._mark and work.rows("hold_seal")[0][0] != self._mark:
                raise changed_key(self.server.place)
            yield work

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""
        found = self.server.rows("blob", tenant=as_bytes(tenant), id=as_bytes(id))
        if not found:
            raise no_blob(id)
        size, outside, proof = found[0]
        fetch = self.fetching(tenant, id, size, outside=outside)
        return range_of(
            self.seal, Blob(id, size), fetch, self._proof(tenant, id, size, proof, fetch), start, stop
        )

    def fetching(self, tenant: str, id: str, size: int, *, outside: bool) -> Fetch:
        """What reads ranges of a blob as it is kept."""
        if outside:
            return partial(self._outside().read, tenant, Blob(id, self.seal.size(size)))
        return partial(self._range, tenant, id)

    def _proof(self, tenant: str, id: str, size: int, kept: bytes | None, fetch: Fetch) -> bytes:
        """By what ranges of a blob are checked; of one from before there was a proof, it is made and kept."""
        place = proof_place(tenant, id, size)
        if kept is not None:
            with suppress(Corrupt):
                return self.seal.open(place, kept)
        made = proof_of(self.seal, Blob(id, size), fetch)
        with suppress(StoreFailed):
            proof = self.seal.close(place, made)
            self.server.rows("keep_proof", tenant=as_bytes(tenant), id=as_bytes(id), proof=proof)
        return made

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
            names = [as_text(name) for (name,) in self.server.rows("sessions", tenant=owner)]
            doomed = set(ids).difference(referred_to(self._as_store, tenant, names))
            held = holds_on(doomed, work.rows("held", tenant=owner))
            gone = sorted(doomed.difference(hold.blob for hold in held))
            inside = [id for id in gone if not self._drop(work, tenant, id)]
        if self.files is not None:
            self._drop_files(self.files, tenant, gone)
        if inside:
            self.server.alone("rewrite_blobs")
        return held

    @property
    def _as_store(self) -> Store:
        return self  # type: ignore[return-value]

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


def _pieces(intake: Intake) -> Iterator[bytes]:
    """What was taken in, in pieces of one size."""
    if intake.path is None:
        data = intake.data or b""
        yield from (data[at : at + PIECE] for at in range(0, len(data), PIECE))
        return
    with Path(intake.path).open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
