"""One file on disk, the embedded default: `store="sqlite:agent.db"`.

Every append that returned is there after the process was killed; with `durability="full"` after a power cut too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fanfold.core.checkpoint import Checkpoint
from fanfold.core.errors import Busy, Corrupt, Full, StoreFailed
from fanfold.core.record import Record, Taught, is_visible
from fanfold.core.tree import Entry
from fanfold.stores.blobs import BlobFiles
from fanfold.stores.coding import Coding, Dialects, as_text, known_dialects, names_of
from fanfold.stores.database import Database, Durability
from fanfold.stores.objects import blob_place
from fanfold.stores.places import LINES, as_bytes, checkpoint_place, name_sum, numbered, session_place
from fanfold.stores.register import MANY, Register
from fanfold.stores.renewing import FORMAT, Rekeying, Upgrading, changed_key, new_key
from fanfold.stores.sealing import check_mark, seal_with
from fanfold.stores.sqlite_blobs import SQLiteBlobs
from fanfold.stores.sqlite_renewing import renew
from fanfold.stores.store import Batch, Scrub, Stored, Tenants, refuse_stubs, written_first

if TYPE_CHECKING:
    from obstore.store import ObjectStore

Line = tuple[Record | None, bytes | None, bytes | None, bytes | None]


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


class SQLite(SQLiteBlobs, Tenants):
    """A store in one file, with a folder for large blobs beside it. Threads and processes may share it."""

    def __init__(
        self,
        path: str | Path,
        *,
        durability: Durability = "normal",
        timeout: float = 30.0,
        key: bytes | str | None = None,
        blobs: str | Path | ObjectStore | None = None,
        dialects: Dialects = known_dialects,
    ) -> None:
        super().__init__()
        self.file = Path(path)
        self.database = Database(self.file, durability, timeout)
        self._aside = self.database.aside()
        self.register = Register(self.database)
        self.seal = seal_with(key)
        self.coding = Coding(dialects, self.seal)
        self._dialects = dialects
        self._blobs = blobs
        self._mark = b""
        self._numbers: dict[str, int] = {}
        self._ends: dict[tuple[str, str], LogEnd] = {}
        self.database.on_connect = self._arrive
        self.database.connection()

    def _arrive(self) -> None:
        """See with which key the file is sealed, whoever comes first says so; and bring what it keeps up to date."""
        self._forget()
        found = self.database.rows("seal")
        if not found:
            self.database.do("add_seal", (self.seal.mark(),))
            found = self.database.rows("seal")
        self._mark, own, format = found[0]
        check_mark(self.seal, self._mark, self.file)
        self.files = (
            blob_place(self._blobs, str(own))
            if self._blobs is not None
            else BlobFiles(self.file.with_name(self.file.name + ".blobs"))
        )
        self.remote = not isinstance(self.files, BlobFiles)
        if format != FORMAT:
            self._upgrade()

    def _upgrade(self) -> None:
        """Give everything a checksum or a seal that binds it to its place; whoever comes second finds it done."""
        if self.database.look_only:
            raise StoreFailed(
                f"{self.file} was written by an older release and cannot be written, so it stays as it is. "
                "Open it once where it can be written."
            )
        with self.database.writing():
            self._mark, _, format = self.database.rows("seal")[0]
            if format != FORMAT:
                self._mark = renew(self, Upgrading(self.coding))

    def rekey(self, key: bytes | str) -> None:
        """Seal everything with another key, as one; whoever has the file open otherwise has to open it anew."""
        new = new_key(self.seal, key, self.file)
        with self.database.lock:
            with self._writing():
                self.register.fill()
                self.database.do("drop_all_waiting", ())
                self._mark = renew(self, Rekeying(self.seal, new))
            self.seal, self.coding = new, Coding(self._dialects, new)
            self._forget()
            self.database.scour()

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session."""
        while True:
            with self.database.lock:
                end = self._end(tenant, session)
                if end is None:
                    return Stored((), 0, 0)
                rows = self._rows(session, end, after, most)
            found = self._read(tenant, session, rows)
            after += len(rows)
            if most is None or (rows and after >= end.seq):
                _check_end(session, end)
            if found or after >= end.seq or not rows:  # else all of these were erased: look further
                seq = after if rows else end.seq
                return Stored([record for _, record in found], seq, end.version)

    def _rows(
        self, session: str, end: LogEnd, after: int = 0, most: int | None = None
    ) -> list[tuple[int, bytes]]:
        """The numbers and records of a session's lines after one of them; none may be missing."""
        first, last = end.key(after + 1), end.key(end.seq)
        found = self.database.rows("records", end.tenant, first, last, -1 if most is None else most)
        wanted = max(0, end.seq - after if most is None else min(most, end.seq - after))
        if [key for key, _ in found] != list(range(first, first + wanted)):
            raise Corrupt(
                f"Lines of the session {session!r} after line {after} are missing. Bring back a copy of {self.file}."
            )
        return [(key - end.key(0), record) for key, record in found]

    def _read(self, tenant: str, session: str, rows: Sequence[tuple[int, bytes]]) -> list[tuple[int, Record]]:
        place = partial(numbered, session_place(tenant, session))
        return self.coding.read_records(rows, session, place)

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, batch after batch in one transaction."""
        with self._writing():
            end = self._look(tenant, session) or self._begin(tenant, session)
            if end.seq:
                raise written_first(session, end.version, 0)
            for batch in batches:
                self._write_new(tenant, session, end, batch, self._lines(tenant, batch))
                end = self._ends[tenant, session]
        return Stored((), end.seq, end.version)

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first."""
        lines = self._lines(tenant, batch)
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
                except Corrupt:
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
                if self._mark and self.database.rows("mark")[0][0] != self._mark:
                    raise changed_key(self.file)
                yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        self._numbers.clear()
        self._ends.clear()

    def _lines(self, tenant: str, batch: Batch) -> list[Line]:
        return [
            self._line(tenant, record, entry) for record, entry in zip_longest(batch.records, batch.entries)
        ]

    def _line(self, tenant: str, record: Record | None, entry: Entry | None) -> Line:
        """A record and an entry, as far as there are, on one line."""
        if entry is None:
            return (record, None, None, None)
        parent = as_bytes(entry.parent) if entry.parent is not None else None
        return (record, as_bytes(entry.id), parent, self.coding.entry(entry, tenant))

    def _write(self, tenant: str, session: str, end: LogEnd, lines: Sequence[Line]) -> Stored:
        """Write lines after those that are known; the key of a line that somebody else wrote is taken."""
        owner, number, was, version, since = end
        seq, first, rows = was, number * LINES, list[tuple[Any, ...]]()
        place = session_place(tenant, session)
        for record, id, parent, entry in lines:
            seq += 1
            version += is_visible(record)
            kept = self.coding.record(record, numbered(place, seq))
            rows.append((first + seq, owner, version, kept, id, parent, entry))
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
        stored = self._write(tenant, session, end, self._new(tenant, end, batch, lines))
        if batch.stubs:
            self.register.fill()
        return stored

    def _new(self, tenant: str, end: LogEnd, batch: Batch, lines: list[Line]) -> list[Line]:
        """The lines without the entries that are there already; what was said again is put back."""
        for entry in batch.restored:
            body = self.coding.entry(entry, tenant)
            self.database.do("change_entry", (body, end.tenant, as_bytes(entry.id)))
        known = {entry.id: self._entry(tenant, entry.id) for entry in batch.entries}
        refuse_stubs(known.values())
        there = {as_bytes(id) for id, entry in known.items() if entry is not None}
        kept = [line if line[1] not in there else (line[0], None, None, None) for line in lines]
        return [line for line in kept if line[0] is not None or line[1] is not None]

    def _look(self, tenant: str, session: str) -> LogEnd | None:
        """Where a session's log ends now, to write there."""
        end = self._end(tenant, session)
        if end is not None:
            _check_end(session, end)
        return end

    def _end(self, tenant: str, session: str) -> LogEnd | None:
        """Where a session's log ends now; the last line may be damaged."""
        owner = self._number(tenant)
        number = self._called("session", owner, session, sum=name_sum(tenant, session)) if owner else None
        if owner is None or number is None:
            return None
        first = number * LINES
        last = self.database.rows("last_line", first, first + LINES - 1)
        key, version = last[0] if last else (first, 0)
        end = LogEnd(owner, number, key - first, version, key - first)
        if isinstance(version, int):
            self._ends[(tenant, session)] = end
        return end

    def _called(self, kind: str, *place: int | str | None, sum: bytes) -> int | None:
        """The number of a tenant or session with this name; the hash of the name tells if it is damaged."""
        name = str(place[-1])
        found = self.database.rows(kind, *place[:-1], as_bytes(name), sum)  # at once: others write meanwhile
        for number, kept, named in found:
            if named and kept in (sum, None):
                return int(number)
        if found:
            raise Corrupt(
                f"What {self.file} says of the {kind} {name!r} is damaged. `fanfold.doctor` says more; "
                "bring back a copy."
            )
        return None

    def _begin(self, tenant: str, session: str) -> LogEnd:
        self.database.do("add_tenant", (as_bytes(tenant), name_sum(tenant)))
        owner = self._number(tenant)
        self.database.do("add_session", (owner, as_bytes(session), name_sum(tenant, session)))
        end = self._look(tenant, session)
        assert end is not None
        return end

    def _number(self, tenant: str) -> int | None:
        """The number of a tenant, which never changes once it is there."""
        with self.database.lock:
            self.database.connection()  # first of all: the file may be another one by now
            if tenant not in self._numbers:
                found = self._called("tenant", tenant, sum=name_sum(tenant))
                if found is None:
                    return None
                self._numbers[tenant] = found
            return self._numbers[tenant]

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session; none where it is damaged, for it only saves time."""
        with self.database.lock:
            end = self._look(tenant, session)
            found = self.database.rows("checkpoint", end.tenant, end.number) if end else []
        if end is None or not found:
            return None
        seq, body = found[0]
        try:
            kept = self.coding.read_checkpoint(body, checkpoint_place(tenant, session, seq))
        except (Corrupt, OverflowError, AttributeError):
            return None
        if seq > end.seq:  # or somebody wrote, and kept it, between these looks
            end = self._look(tenant, session)
        if end is None or seq > end.seq:
            raise Corrupt(
                f"The session {session!r} had {seq} lines and has {end.seq if end else 0}. "
                f"Bring back a copy of {self.file}."
            )
        return (seq, kept)

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        with self._writing():
            end = self._look(tenant, session)
            if end is not None and end.seq == seq:  # else somebody wrote meanwhile, and may have erased
                body = self.coding.checkpoint(checkpoint, checkpoint_place(tenant, session, seq))
                self.database.do("keep_checkpoint", (end.tenant, end.number, seq, body))

    def taught(self, tenant: str) -> Iterator[Taught]:
        """What a few of the tenant's sessions learned, the youngest first."""
        found = self.database.rows("newest_checkpoints", self._number(tenant))
        return self.coding.read_taught(tenant, found)

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one."""
        last = as_bytes(stop) if stop is not None else None
        found = self.at_hand().rows("path", self._number(tenant), as_bytes(tip), last)
        return self.coding.read_path(found, tenant, tip, stop)

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        found = self._entry(tenant, id)
        return self._entry(tenant, id, self.at_hand()) if found is None else found

    def _entry(self, tenant: str, id: str, database: Database | None = None) -> Entry | None:
        found = (database or self.database).rows("entry", self._number(tenant), as_bytes(id))
        if found and found[0][0] != as_bytes(id):
            raise Corrupt(f"The message {id[:12]} is not where it should be. `fanfold.doctor` looks for it.")
        return self.coding.read_row(tenant, *found[0]) if found else None

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
        return names_of(self.database.rows("sessions", self._number(tenant)))

    def erase(self, tenant: str, stub: Entry, scrub: Scrub) -> None:
        """Put a stub in an entry's place, and scrub all sessions; the file and its journal are rewritten."""
        with self.database.lock:
            with self._writing():
                owner = self._number(tenant)
                self.register.fill()
                self.database.do("change_entry", (self.coding.entry(stub, tenant), owner, as_bytes(stub.id)))
                self.database.do("forget_checkpoints", (owner,))
                for session in self._all_sessions(tenant):
                    self._scrub(tenant, session, scrub)
            self.database.scour()

    def _scrub(self, tenant: str, session: str, scrub: Scrub) -> None:
        end = self._look(tenant, session)
        assert end is not None
        records = self._read(tenant, session, self._rows(session, end))
        changed, added = self.coding.scrubbed(session, records, scrub)
        place = session_place(tenant, session)
        for seq, record in changed.items():
            body = self.coding.record(record, numbered(place, seq))
            self.database.do("change_record", (body, end.tenant, end.key(seq)))
        if added:
            self.register.expect(end.number, end.key(end.seq))
            self._write(tenant, session, end, [self._line(tenant, record, None) for record in added])

    def close(self) -> None:
        """Let go of the file; whoever uses the store again opens it again."""
        self._aside.close()
        self.database.close()


def _check_end(session: str, end: LogEnd) -> None:
    if not isinstance(end.version, int):
        raise Corrupt(f"The last line of the session {session!r} is damaged. Bring back a copy.")


def _all(written: int, given: int) -> None:
    """Refuse where a message is in the register already, its line is taken, or the session does not wait for it."""
    if written != given:
        raise Corrupt("A message or line is there that should not be. `fanfold.doctor` says what is damaged.")
