"""The blobs of an SQLite store: small ones in the file, large ones beside it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial

from fanfold.core.errors import Corrupt, StoreFailed
from fanfold.stores.blobs import BlobPlace, Intake, proof_of, range_of
from fanfold.stores.coding import as_text, holds_on
from fanfold.stores.database import Database
from fanfold.stores.places import as_bytes, name_sum, proof_place
from fanfold.stores.sealing import Fetch, Seal
from fanfold.stores.store import ABANDONED, Blob, Hold, Store, no_blob, referred_to


class SQLiteBlobs(ABC):
    """Verbs of a store that are about blobs."""

    database: Database
    seal: Seal
    files: BlobPlace

    @abstractmethod
    def _number(self, tenant: str) -> int | None:
        """The number of a tenant in the file, if it is there."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[None]:
        """One transaction that writes."""

    def _all_sessions(self, tenant: str) -> list[str]:
        """The names of all sessions of a tenant; `Corrupt` if one is damaged, for then nobody knows what it needs."""
        owner = self._number(tenant)
        found = self.database.rows("session_sums", owner)
        names = [as_text(name) for name, _ in found]
        sums = [name_sum(tenant, name) for name in names]
        if [sum for _, sum in found] != sums or len(names) != len(self.database.rows("sessions", owner)):
            raise Corrupt("The name of a session is damaged. `fanfold.doctor` says more.")
        return names

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole: in the file up to 1 MiB, above that beside it."""
        intake = Intake(self.files, self.seal)
        try:
            blob = intake.take(chunks)
            if intake.path is not None:
                self.files.bring(intake.path, tenant, blob.id)
            with self._writing():
                self.database.do("add_tenant", (as_bytes(tenant), name_sum(tenant)))
                self._put(intake, tenant, blob)
                if holder:
                    values = (self._number(tenant), as_bytes(holder), as_bytes(blob.id), time.time())
                    self.database.do("add_hold", values)
        finally:
            intake.forget()
        return blob

    def _put(self, intake: Intake, tenant: str, blob: Blob) -> None:
        owner, id = self._number(tenant), as_bytes(blob.id)
        listed = bool(self.database.rows("blob", owner, id))
        proof = self.seal.close(proof_place(tenant, blob.id, blob.size), intake.proof)
        if intake.path is not None and intake.settle(self.files, tenant, blob, listed=listed) and listed:
            self.database.do("keep_proof", (proof, owner, id))
        self.database.do("add_blob", (owner, id, blob.size, intake.data, proof))

    def let_go(self, tenant: str, holder: str) -> None:
        """Whoever put blobs under this name does not hold them any more."""
        self.database.do("let_go", (self._number(tenant), as_bytes(holder)))

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""
        found = self.database.rows("blob", self._number(tenant), as_bytes(id))
        if not found:
            raise no_blob(id)
        size, in_file, proof = found[0]
        if not isinstance(size, int) or size < 0:
            raise Corrupt(f"The size of blob {id} is damaged. Bring back a copy of it.")
        fetch = self.fetching(tenant, id, size, in_file=in_file)
        return range_of(
            self.seal, Blob(id, size), fetch, self._proof(tenant, id, size, proof, fetch), start, stop
        )

    def fetching(self, tenant: str, id: str, size: int, *, in_file: bool) -> Fetch:
        """What reads ranges of a blob as it is kept."""
        if in_file:
            return partial(self.files.read, tenant, Blob(id, self.seal.size(size)))
        return partial(self._range, tenant, id)

    def _proof(self, tenant: str, id: str, size: int, kept: bytes | None, fetch: Fetch) -> bytes:
        """By what ranges of a blob are checked; of one from before there was a proof, it is made and kept."""
        place = proof_place(tenant, id, size)
        if isinstance(kept, bytes):
            with suppress(Corrupt):
                return self.seal.open(place, kept)
        made = proof_of(self.seal, Blob(id, size), fetch)
        if not self.database.look_only:
            with suppress(StoreFailed):
                values = (self.seal.close(place, made), self._number(tenant), as_bytes(id))
                self.database.do("keep_proof", values)
        return made

    def _range(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        if start < stop:
            found = self.database.rows(
                "blob_range", start + 1, stop - start, self._number(tenant), as_bytes(id)
            )
            yield from (bytes(data) for (data,) in found if isinstance(data, bytes))

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        return [Blob(as_text(id), size) for id, size in self.database.rows("blobs", self._number(tenant))]

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that nobody needs, and every trace of them."""
        with self.database.lock, self.database.overwriting():
            with self._writing():
                owner = self._number(tenant)
                self.database.do("forget_holds", (time.time() - ABANDONED,))
                doomed = set(ids).difference(referred_to(self._as_store, tenant, self._all_sessions(tenant)))
                held = holds_on(doomed, self.database.rows("held", owner))
                gone = doomed.difference(hold.blob for hold in held)
                for id in gone:
                    self.database.do("drop_blob", (owner, as_bytes(id)))
            self._drop_files(tenant, gone)
            self.database.empty_journal()
        return held

    @property
    def _as_store(self) -> Store:
        return self  # type: ignore[return-value]

    def _drop_files(self, tenant: str, ids: Iterable[str]) -> None:
        """Delete the files of blobs that are not listed any more: a listed blob always has its file."""
        with self.database.writing():
            for id in ids:
                if not self.database.rows("blob", self._number(tenant), as_bytes(id)):
                    self.files.drop(tenant, id)
