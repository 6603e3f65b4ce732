"""What the two stores in a database, SQLite and PostgreSQL, do alike.

They differ in how a statement runs (`rows`), in how statements name a tenant (`owner`), and in how writers wait for
each other; each keeps these parts in its own file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from fanfold.core.errors import Corrupt, Sealed, StoreFailed
from fanfold.core.record import Record, Taught
from fanfold.core.tree import Entry
from fanfold.stores.blobs import BlobIntake, BlobPlace, proof_of, range_of
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.coding import Coding, Dialects, Renewal, as_text
from fanfold.stores.scrubbing import Scrubbed
from fanfold.stores.sealing import (
    Fetch,
    Seal,
    as_bytes,
    check_mark,
    checkpoint_place,
    proof_place,
    seal_with,
    signature_place,
)
from fanfold.stores.search import BlockBits
from fanfold.stores.store import TRACKS, Blob, Hold, Scrub, Stored, Tenants, Track, no_blob, referred_to
from fanfold.stores.summary import Summary
from fanfold.text.lines import many

V = TypeVar("V")
_SESSIONS = 10_000
Row = tuple[Any, ...]
Part = tuple[list[tuple[int, bytes]], int, int]
"""Records as bytes with their numbers, where the log ends, and the session's version."""


class Recent(dict[tuple[str, str], V]):
    """What was last seen of sessions, of a few thousand at most: a store serves more in its time than it has room."""

    def __setitem__(self, session: tuple[str, str], seen: V) -> None:
        super().__setitem__(session, seen)
        if len(self) > _SESSIONS:
            with suppress(RuntimeError):  # another thread does it
                self.pop(next(iter(self)), None)


class SQLStore(Tenants):
    """A store in a database."""

    files: BlobPlace | None
    """Where large blobs lie, if not in the database."""

    def __init__(self, place: object, key: bytes | str | None, dialects: Dialects) -> None:
        super().__init__()
        self.place = place
        """What the store is called in messages."""
        self._dialects = dialects
        self._mark = b""
        self._use(seal_with(key))

    def _use(self, seal: Seal) -> None:
        self.seal, self.coding = seal, Coding(self._dialects, seal)

    @abstractmethod
    def rows(self, statement: str, **values: Any) -> list[Row]:
        """What a statement finds."""

    @abstractmethod
    def owner(self, tenant: str) -> object:
        """How statements name a tenant; None if nothing was written for it."""

    @abstractmethod
    def _some_records(self, tenant: str, session: str, after: int, most: int | None) -> Part | None:
        """Some records of a session as bytes, and where its log ends; None if there is no such session."""

    @abstractmethod
    def _last_checkpoint(self, tenant: str, session: str) -> list[Row]:
        """The number of records that a checkpoint stands for, the checkpoint, and where the log ends."""

    @abstractmethod
    def _read_inside(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        """A range of a blob that lies in the database."""

    def _check_seal(self) -> tuple[str, int]:
        """The store's own name and its format. Whoever comes first decides whether it is sealed, and with which key."""
        found = self.rows("seal")
        if not found:
            self.rows("add_seal", mark=self.seal.mark())
            found = self.rows("seal")
        self._mark, own, format = found[0]
        check_mark(self.seal, self._mark, self.place)
        return str(own), format

    def _check_mark(self, mark: bytes) -> None:
        """Refuse to write where somebody changed the key since the store was opened."""
        if mark != self._mark:
            raise changed_key(self.place)

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session."""
        while (part := self._some_records(tenant, session, after, most)) is not None:
            rows, seq, version = part
            records = self._read(
                tenant, session, rows, after, seq if most is None else min(seq, after + most)
            )
            after += len(rows)
            if records or after >= seq or not rows:  # else all of these were erased: look further
                return Stored([record for _, record in records], after if rows else seq, version)
        return Stored((), 0, 0)

    def _read(
        self, tenant: str, session: str, rows: list[tuple[int, bytes]], after: int, last: int
    ) -> list[tuple[int, Record]]:
        """The records in some rows; none up to the last may be missing."""
        if [number for number, _ in rows] != list(range(after + 1, last + 1)):
            raise Corrupt(
                f"Records of the session {session!r} after record {after} are missing. "
                f"Bring back a copy of {self.place}."
            )
        return self.coding.read_records(tenant, session, rows)

    def _scrub_ahead(self, tenant: str, sessions: Iterable[str], scrub: Scrub) -> dict[str, Scrubbed | None]:
        """What an erasure will make of some sessions, if nobody writes to them until then."""
        return {session: self._scrubbed(tenant, session, scrub, None) for session in sessions}

    def _scrubbed(self, tenant: str, session: str, scrub: Scrub, ahead: Scrubbed | None) -> Scrubbed | None:
        """What an erasure makes of a session now; None if there is no such session."""
        if ahead is not None:
            since = self._some_records(tenant, session, ahead.seq, 1)
            if since is not None and since[1] == ahead.seq:
                return ahead
        part = self._some_records(tenant, session, 0, None)
        if part is None:
            return None
        rows, seq, _ = part
        records = self._read(tenant, session, rows, 0, seq)
        return Scrubbed.of(self.coding, (tenant, session), seq, records, scrub)

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session; none where it is damaged, because it only saves time."""
        for seq, body, end in self._last_checkpoint(tenant, session):
            try:
                kept = self.coding.read_checkpoint(body, checkpoint_place(tenant, session, seq))
            except (Corrupt, OverflowError, AttributeError):
                return None
            if seq > end:
                raise Corrupt(
                    f"The session {session!r} had {many(seq, 'record')} and has {end:,}. "
                    f"Bring back a copy of {self.place}."
                )
            return seq, kept
        return None

    def taught(self, tenant: str) -> Iterator[Taught]:
        """What a few of the tenant's sessions learned, the youngest first."""
        for data, session, seq in self.rows("newest_checkpoints", tenant=self.owner(tenant)):
            with suppress(StoreFailed):  # a damaged one says nothing
                place = checkpoint_place(tenant, as_text(session), seq)
                taught = self.coding.read_checkpoint(data, place).taught
                if taught is not None:
                    yield taught

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        end = as_bytes(stop) if stop is not None else None
        found = self._look_up("path", tenant=self.owner(tenant), tip=as_bytes(tip), stop=end)
        return self.coding.read_path(found, tenant, tip, stop)

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so."""
        first = as_bytes(beginning)
        found = self._look_up("find", tenant=self.owner(tenant), first=first, last=first + b"\xff")
        return [as_text(id) for (id,) in found]

    def _look_up(self, statement: str, **values: Any) -> list[Row]:
        """What a statement finds that looks for entries by their ids."""
        return self.rows(statement, **values)

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions: one that is damaged does not hide the others."""
        found = list[str]()
        for (name,) in self.rows("sessions", tenant=self.owner(tenant)):
            with suppress(Corrupt):
                found.append(as_text(name))
        return sorted(found)

    def log_ends(self, tenant: str) -> list[tuple[str, int]]:
        """The sessions and the numbers of their last records, the youngest first."""
        return list(self._with_names(self.rows("log_ends", tenant=self.owner(tenant)), at=0))

    def signatures(self, tenant: str, sessions: Sequence[str], first: int, last: int) -> list[BlockBits]:
        """The signatures of some sessions' blocks; a damaged one is made again."""
        found = list[BlockBits]()
        for name, block, upto, bits in self._kept_signatures(tenant, sessions, first, last):
            with suppress(Corrupt):
                plain = self.seal.open(signature_place(tenant, name, block), bits)
                found.append(BlockBits(name, block, upto, plain))
        return found

    @abstractmethod
    def _kept_signatures(self, tenant: str, sessions: Sequence[str], first: int, last: int) -> Iterator[Row]:
        """Names of sessions, numbers of blocks, the last record in each, and signatures as they are kept."""

    def tracks(self, tenant: str, prefixes: Sequence[int]) -> list[Track]:
        """The sessions that came by the first of some prefixes that any session came by."""
        found = self._look_up(
            "tracks", tenant=self.owner(tenant), prefixes=self._listed(prefixes), most=TRACKS
        )
        return [
            Track(prefix, name, bool(head), self.coding.read_summary(summary, tenant, name))
            for prefix, name, head, summary in self._with_names(found, at=1)
        ]

    @abstractmethod
    def _listed(self, numbers: Sequence[int]) -> object:
        """Numbers as a statement takes a list of them."""

    def summaries(self, tenant: str) -> list[Summary]:
        """All sessions of a tenant; those that an earlier release wrote are read."""
        rows = sorted(self._with_names(self.rows("summaries", tenant=self.owner(tenant)), at=0))
        kept = ((name, self.coding.read_summary(data, tenant, name)) for name, data in rows)
        return [summary or self.summarize(tenant, name) for name, summary in kept]

    def _with_names(self, rows: Iterable[Row], at: int) -> Iterator[Row]:
        """Rows with the name in this place as a text; without those whose name is damaged."""
        for row in rows:
            with suppress(Corrupt):
                yield (*row[:at], as_text(row[at]), *row[at + 1 :])

    def let_go(self, tenant: str, holder: str) -> None:
        """Whoever put blobs under this name does not hold them any more."""
        self.rows("let_go", tenant=self.owner(tenant), holder=as_bytes(holder))

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        return [Blob(as_text(id), size) for id, size in self.rows("blobs", tenant=self.owner(tenant))]

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""
        found = self.rows("blob", tenant=self.owner(tenant), id=as_bytes(id))
        if not found:
            raise no_blob(id)
        size, outside, kept = found[0]
        if not isinstance(size, int) or size < 0:
            raise Corrupt(f"The size of blob {id} is damaged. Bring back a copy of it.")
        blob, fetch = Blob(id, size), self._fetch(tenant, id, size, outside=outside)
        return range_of(self.seal, blob, fetch, self._proof(tenant, blob, kept, fetch), start, stop)

    def _fetch(self, tenant: str, id: str, size: int, *, outside: bool) -> Fetch:
        """What reads ranges of a blob as it is kept."""
        if outside:
            return partial(self._outside().read, tenant, Blob(id, self.seal.size(size)))
        return partial(self._read_inside, tenant, id)

    def _outside(self) -> BlobPlace:
        if self.files is None:
            raise StoreFailed(
                "This blob lies outside the database: open the store with the `blobs` it was put with."
            )
        return self.files

    def _proof(self, tenant: str, blob: Blob, kept: bytes | None, fetch: Fetch) -> bytes:
        """What ranges of a blob are checked by; if an earlier release kept none, it is made now."""
        place = proof_place(tenant, blob.id, blob.size)
        if isinstance(kept, bytes):
            with suppress(Corrupt):
                return self.seal.open(place, kept)
        made = proof_of(self.seal, blob, fetch)
        with suppress(StoreFailed):  # a store that cannot be written is read all the same
            self._keep_proof(tenant, blob.id, self.seal.close(place, made))
        return made

    def _keep_proof(self, tenant: str, id: str, proof: bytes | None) -> None:
        self.rows("keep_proof", tenant=self.owner(tenant), id=as_bytes(id), proof=proof)

    def _settle(self, intake: BlobIntake, tenant: str, blob: Blob) -> bytes:
        """Give a large blob its name, as part of a transaction; returns the blob's proof as it is kept."""
        proof = self.seal.close(proof_place(tenant, blob.id, blob.size), intake.proof)
        if self.files is not None and intake.path is not None:
            listed = bool(self.rows("blob", tenant=self.owner(tenant), id=as_bytes(blob.id)))
            if intake.settle(self.files, tenant, blob, listed=listed) and listed:
                self._keep_proof(tenant, blob.id, proof)
        return proof

    def _find_garbage(self, tenant: str, ids: Collection[str]) -> tuple[list[str], list[Hold]]:
        """Those of some blobs that no record refers to and nobody holds, and the holds of others."""
        named = referred_to(self, tenant, self.referring(tenant, ids))  # type: ignore[arg-type]
        doomed = set(ids).difference(named)
        rows = self.rows("held", tenant=self.owner(tenant))
        holds = (Hold(as_text(blob), as_text(holder), since) for blob, holder, since in rows)
        held = sorted(hold for hold in holds if hold.blob in doomed)
        return sorted(doomed.difference(hold.blob for hold in held)), held

    def _renew_blobs(self, renewal: Renewal) -> bytes:
        """Keep the proofs of all blobs in their new form, and a new mark, which is returned."""
        for owner, id, size, proof, outside in self.rows("all_blobs"):
            with suppress(Corrupt):
                tenant, name = as_text(owner), as_text(id)
                fetch = self._fetch(tenant, name, size, outside=outside)
                self._keep_proof(tenant, name, renewal.proof(proof_place(tenant, name, size), proof, fetch))
        mark = renewal.seal.mark()
        self.rows("change_seal", mark=mark)
        return mark


def changed_key(place: object) -> Sealed:
    """What to say to somebody who had a store open when its key was changed."""
    return Sealed(f"The key of {place} was changed meanwhile: open it again with the new one.")
