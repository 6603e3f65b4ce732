"""One file on disk, the embedded default: `store="sqlite:agent.db"`.

Every append that returned is there after the process was killed; with `durability="full"` after a power cut too.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fanfold.checkpoint import Checkpoint
from fanfold.errors import Busy, Full
from fanfold.record import Record, Taught, is_visible
from fanfold.stores.blobs import BlobFiles, Intake, range_of
from fanfold.stores.coding import Codecs, Coding, as_bytes, as_text, holds_on, known_codecs
from fanfold.stores.database import Database, Durability
from fanfold.stores.objects import blob_place
from fanfold.stores.register import MANY, Register
from fanfold.stores.sealing import check_mark, seal_with
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

LINES = 1 << 32
"""Room for the lines of one session; a line's key is the session's number times this, plus its own number."""
Line = tuple[bool, bytes | None, bytes | None, bytes | None, bytes | None]


class LogEnd(NamedTuple):
    """A session in the file, and where its log ended when last seen."""

    tenant: int
    number: int
    seq: int
    version: int
    since: int
    """From this line on, its messages wait for the register."""

    def key(self, seq: int) -> int:
        """The key of a line."""
        return self.number * LINES + seq


class SQLite(Tenants):
    """A store in one file, with a folder for large blobs beside it. Threads and processes may share it."""

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "normal",
        timeout: float = 30.0,
        key: bytes | str | None = None,
        blobs: str | Path | ObjectStore | None = None,
        codecs: Codecs = known_codecs,
    ) -> None:
        super().__init__()
        self.file = Path(path)
        self.database = Database(self.file, durability, timeout)
        self._aside = self.database.aside()
        self.register = Register(self.database)
        self.seal = seal_with(key)
        self.coding = Coding(codecs, self.seal)
        self._numbers: dict[str, int] = {}
        self._ends: dict[tuple[str, str], LogEnd] = {}
        self.database.on_connect = self._forget
        own = self._check_seal()
        beside = BlobFiles(self.file.with_name(self.file.name + ".blobs"))
        self.files = blob_place(blobs, own) if blobs is not None else beside
        self.remote = not isinstance(self.files, BlobFiles)

    def _check_seal(self) -> str:
        """Whoever comes first says with which key the file is sealed, if any. Gives back the store's own name."""
        found = self.database.rows("seal")
        if not found:
            self.database.do("add_seal", (self.seal.mark(),))
            found = self.database.rows("seal")
        check_mark(self.seal, found[0][0], self.file)
        return str(found[0][1])

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session."""
        with self.database.lock:
            end = self._look(tenant, session)
            if end is None:
                return Stored((), 0, 0)
            found = self._records(end, after, most)
        seq = found[-1][0] - end.key(0) if len(found) == most else end.seq
        return Stored([self.coding.read_record(data) for _, data in found], seq, end.version)

    def _records(self, end: LogEnd, after: int = 0, most: int | None = None) -> list[tuple[int, bytes]]:
        first, last = end.key(after + 1), end.key(end.seq)
        return self.database.rows("records", end.tenant, first, last, -1 if most is None else most)

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, batch after batch in one transaction."""
        with self._writing():
            end = self._look(tenant, session) or self._begin(tenant, session)
            if end.seq:
                raise written_first(session, end.version, 0)
            for batch in batches:
                self._write_new(tenant, session, end, batch, self._lines(batch))
                end = self._ends[tenant, session]
        return Stored((), end.seq, end.version)

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        lines = self._lines(batch)
        with self.database.lock:
            self.database.connection()
            known = self._ends.get((tenant, session))
            if known is not None and known.seq - known.since >= MANY:
                self.register.fill()
                known = known._replace(since=known.seq)
            plain = not (batch.restored or batch.stubs)
            if known is not None and plain and (expect is None or expect == known.version):
                try:
                    return self._write(tenant, session, known, lines)
                except sqlite3.IntegrityError:
                    pass  # somebody wrote first, or an entry is there already: look closely
            with self._writing():
                end = self._look(tenant, session) or self._begin(tenant, session)
                if expect is not None and end.version != expect:
                    raise written_first(session, end.version, expect)
                return self._write_new(tenant, session, end, batch, lines)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction; numbers that were given out in one that failed are forgotten, for others may get them."""
        try:
            with self.database.writing():
                yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        self._numbers.clear()
        self._ends.clear()

    def _lines(self, batch: Batch) -> list[Line]:
        return [self._line(record, entry) for record, entry in zip_longest(batch.records, batch.entries)]

    def _line(self, record: Record | None, entry: Entry | None) -> Line:
        """A record and an entry, as far as there are, on one line."""
        kept = self.coding.record(record) if record is not None else None
        if entry is None:
            return (is_visible(record), kept, None, None, None)
        parent = as_bytes(entry.parent) if entry.parent is not None else None
        return (is_visible(record), kept, as_bytes(entry.id), parent, self.coding.entry(entry))

    def _write(self, tenant: str, session: str, end: LogEnd, lines: Sequence[Line]) -> Stored:
        """Write lines after those that are known; the key of a line that somebody else wrote is taken."""
        owner, number, was, version, since = end
        seq, first, rows = was, number * LINES, list[tuple[Any, ...]]()
        for visible, record, id, parent, entry in lines:
            seq += 1
            version += visible
            rows.append((first + seq, owner, version, record, id, parent, entry))
        if len(rows) == 1:  # by far the most frequent, and a transaction by itself
            _all(self.database.do("add_line", rows[0]), 1)
        else:
            with self._writing():
                _all(self.database.do_many("add_line", rows), len(rows))
        self._ends[(tenant, session)] = LogEnd(owner, number, seq, version, since)
        return Stored((), seq, version, was)

    def _write_new(self, tenant: str, session: str, end: LogEnd, batch: Batch, lines: list[Line]) -> Stored:
        """Write what is not there yet; everything else waits meanwhile.

        A stub is registered at once: whoever appends the same words finds it there, and what was said before it wins.
        """
        if batch.stubs or batch.restored:
            self.register.fill()
        self.register.expect(end.number, end.key(end.seq))
        stored = self._write(tenant, session, end, self._new(end, batch, lines))
        if batch.stubs:
            self.register.fill()
        return stored

    def _new(self, end: LogEnd, batch: Batch, lines: list[Line]) -> list[Line]:
        """The lines without the entries that are there already; what was said again is put back."""
        for entry in batch.restored:
            self.database.do("change_entry", (self.coding.entry(entry), end.tenant, as_bytes(entry.id)))
        known = {entry.id: self._entry(end.tenant, entry.id) for entry in batch.entries}
        refuse_stubs(known.values())
        there = {as_bytes(id) for id, entry in known.items() if entry is not None}
        kept = [line if line[2] not in there else (*line[:2], None, None, None) for line in lines]
        return [line for line in kept if line[1] is not None or line[2] is not None]

    def _look(self, tenant: str, session: str) -> LogEnd | None:
        """Where a session's log ends now."""
        owner = self._number(tenant)
        found = self.database.rows("session", owner, as_bytes(session)) if owner is not None else []
        if owner is None or not found:
            return None
        number = int(found[0][0])
        first = number * LINES
        last = self.database.rows("last_line", owner, first, first + LINES - 1)
        key, version = last[0] if last else (first, 0)
        end = self._ends[(tenant, session)] = LogEnd(owner, number, key - first, version, key - first)
        return end

    def _begin(self, tenant: str, session: str) -> LogEnd:
        self.database.do("add_tenant", (as_bytes(tenant),))
        owner = self.database.rows("tenant", as_bytes(tenant))[0][0]
        self.database.do("add_session", (owner, as_bytes(session)))
        return LogEnd(owner, self.database.rows("session", owner, as_bytes(session))[0][0], 0, 0, 0)

    def _number(self, tenant: str) -> int | None:
        """The number of a tenant, which never changes once it is there."""
        with self.database.lock:
            self.database.connection()  # first of all: the file may be another one by now
            if tenant not in self._numbers:
                found = self.database.rows("tenant", as_bytes(tenant))
                if not found:
                    return None
                self._numbers[tenant] = found[0][0]
            return self._numbers[tenant]

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session."""
        with self.database.lock:
            end = self._look(tenant, session)
            found = self.database.rows("checkpoint", end.tenant, end.number) if end else []
        return (found[0][0], self.coding.read_checkpoint(found[0][1])) if found else None

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        with self._writing():
            end = self._look(tenant, session)
            if end is not None and end.seq == seq:  # else somebody wrote meanwhile, and may have erased
                body = self.coding.checkpoint(checkpoint)
                self.database.do("keep_checkpoint", (end.tenant, end.number, seq, body))

    def taught(self, tenant: str) -> Iterator[Taught]:
        """What a few of the tenant's sessions learned, the youngest first."""
        found = self.database.rows("newest_checkpoints", self._number(tenant))
        return self.coding.read_taught(body for (body,) in found)

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        last = as_bytes(stop) if stop is not None else None
        for row in self.at_hand().rows("path", self._number(tenant), as_bytes(tip), last):
            yield self.coding.read_row(*row)

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        owner = self._number(tenant)
        found = self._entry(owner, id)
        return self._entry(owner, id, self.at_hand()) if found is None else found

    def _entry(self, tenant: int | None, id: str, database: Database | None = None) -> Entry | None:
        found = (database or self.database).rows("entry", tenant, as_bytes(id))
        return self.coding.read_row(*found[0]) if found else None

    def at_hand(self) -> Database:
        """Where every message is found by its id: here, or where the register cannot be filled now, from aside."""
        try:
            self.register.fill()
            return self.database
        except (Full, Busy):
            if self.database.in_transaction:
                raise
            Register(self._aside).fill()
            return self._aside

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so."""
        first = as_bytes(beginning)
        found = self.at_hand().rows("find", self._number(tenant), first, first + b"\xff")
        return [as_text(id) for (id,) in found]

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""
        return sorted(as_text(name) for (name,) in self.database.rows("sessions", self._number(tenant)))

    def erase(self, tenant: str, stub: Entry, scrub: Scrub) -> None:
        """Put a stub in an entry's place, and scrub all sessions; the file and its journal are rewritten."""
        with self.database.lock:
            with self._writing():
                owner = self._number(tenant)
                self.register.fill()
                self.database.do("change_entry", (self.coding.entry(stub), owner, as_bytes(stub.id)))
                self.database.do("forget_checkpoints", (owner,))
                for session in self.sessions(tenant):
                    self._scrub(tenant, session, scrub)
            self.database.scour()

    def _scrub(self, tenant: str, session: str, scrub: Scrub) -> None:
        end = self._look(tenant, session)
        assert end is not None
        changed, added = self.coding.scrubbed(session, self._records(end), scrub)
        for key, body in changed.items():
            self.database.do("change_record", (body, end.tenant, key))
        if added:
            self.register.expect(end.number, end.key(end.seq))
            self._write(tenant, session, end, [self._line(record, None) for record in added])

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole: in the file up to 1 MiB, above that beside it."""
        intake = Intake(self.files, self.seal)
        try:
            blob = intake.take(chunks)
            if intake.path is not None:
                self.files.bring(intake.path, tenant, blob.id)
            with self._writing():
                self.database.do("add_tenant", (as_bytes(tenant),))
                if intake.path is not None:
                    self.files.finish(intake.path, tenant, blob.id)
                owner = self._number(tenant)
                self.database.do("add_blob", (owner, as_bytes(blob.id), blob.size, intake.data))
                if holder:
                    self.database.do("add_hold", (owner, as_bytes(holder), as_bytes(blob.id), time.time()))
        finally:
            intake.forget()
        return blob

    def let_go(self, tenant: str, holder: str) -> None:
        """Whoever put blobs under this name does not hold them any more."""
        self.database.do("let_go", (self._number(tenant), as_bytes(holder)))

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""
        found = self.database.rows("blob", self._number(tenant), as_bytes(id))
        if not found:
            raise no_blob(id)
        size, in_file = found[0]
        kept = Blob(id, self.seal.size(size))
        fetch = partial(self.files.read, tenant, kept) if in_file else partial(self._range, tenant, id)
        return range_of(self.seal, Blob(id, size), fetch, start, stop)

    def _range(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        if start < stop:
            found = self.database.rows(
                "blob_range", start + 1, stop - start, self._number(tenant), as_bytes(id)
            )
            yield from (bytes(data) for (data,) in found)

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""
        return [Blob(as_text(id), size) for id, size in self.database.rows("blobs", self._number(tenant))]

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that nobody needs, and every trace of them."""
        with self.database.lock, self.database.overwriting():
            with self._writing():
                owner = self._number(tenant)
                self.database.do("forget_holds", (time.time() - ABANDONED,))
                doomed = set(ids).difference(referred_to(self, tenant))
                held = holds_on(doomed, self.database.rows("held", owner))
                gone = doomed.difference(hold.blob for hold in held)
                for id in gone:
                    self.database.do("drop_blob", (owner, as_bytes(id)))
            self._drop_files(tenant, gone)
            self.database.empty_journal()
        return held

    def _drop_files(self, tenant: str, ids: Iterable[str]) -> None:
        """Delete the files of blobs that are not listed any more: a listed blob always has its file."""
        with self.database.writing():
            for id in ids:
                if not self.database.rows("blob", self._number(tenant), as_bytes(id)):
                    self.files.drop(tenant, id)

    def close(self) -> None:
        """Let go of the file; whoever uses the store again opens it again."""
        self._aside.close()
        self.database.close()


def _all(written: int, given: int) -> None:
    """Refuse where a message is in the register already, or the session's lines do not wait for it."""
    if written != given:
        raise sqlite3.IntegrityError("not all was written")
