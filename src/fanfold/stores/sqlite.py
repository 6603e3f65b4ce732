"""One file on disk, the embedded default: `store="sqlite:agent.db"`.

Every append that returned is there after the process was killed; with `durability="full"` after a power cut too.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import Busy, Corrupt, Full, StoreFailed
from fanfold.core.record import is_visible
from fanfold.core.tree import Entry
from fanfold.stores.blobs import BlobFiles, BlobIntake, BlobPlace, anchored, blob_place
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.coding import (
    BOUND,
    ECHOED,
    FORMAT,
    Dialects,
    Rekeying,
    Renewal,
    Upgrading,
    as_text,
    known_dialects,
    new_key,
)
from fanfold.stores.commits import GroupCommit
from fanfold.stores.database import Database, Durability
from fanfold.stores.echoing import head_numbers, renew_entries
from fanfold.stores.log_end import COLUMNS, Line, LogEnd
from fanfold.stores.references import all_named, head_number, named_beside, names_more, numbers
from fanfold.stores.register import MANY, Register
from fanfold.stores.rewriting import Rewriting
from fanfold.stores.scrubbing import Scrubbed
from fanfold.stores.sealing import (
    LINES,
    as_bytes,
    checkpoint_place,
    name_sum,
    place_at,
    session_place,
    signature_place,
    summary_place,
)
from fanfold.stores.search import BlockBits
from fanfold.stores.sql_store import Part, Recent, Row, SQLStore
from fanfold.stores.store import (
    ABANDONED,
    Batch,
    Blob,
    Hold,
    Scrub,
    Stored,
    refuse_stubs,
    written_first,
)
from fanfold.stores.tenant_tree import TenantTree
from fanfold.text.json_text import to_json

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class SQLite(SQLStore):
    """A store in one file, with a folder for large blobs beside it. Threads and processes may share it."""

    files: BlobPlace

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
        self.file = Path(path).absolute()  # the process may go to another folder
        super().__init__(self.file, key, dialects)
        self.database = Database(self.file, durability, timeout)
        self._aside = self.database.aside()
        self.register = Register(self.database)
        self.commits: GroupCommit[Stored] = GroupCommit(self.database, self._writing)
        self._blobs = anchored(blobs)
        self._durable = durability == "full"
        self._numbers: dict[str, int] = {}
        self._ends: Recent[LogEnd] = Recent()
        self.database.on_connect = self._arrive
        self.database.connection()

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """What a statement finds."""
        return self.database.rows(statement, **values)

    def _arrive(self) -> None:
        """Called when the file is opened, which may be another file by now: check its key, bring it up to date."""
        self._forget()
        own, format = self._check_seal()
        beside = BlobFiles(self.file.with_name(self.file.name + ".blobs"))
        self.files = beside if self._blobs is None else blob_place(self._blobs, own)
        self.remote = self._durable or not isinstance(self.files, BlobFiles)
        if format == FORMAT or (self.database.look_only and format >= BOUND):
            return
        if self.database.look_only:
            raise StoreFailed(
                f"{self.file} was written by an older release and cannot be written, so it stays as it is. "
                "Open it once where it can be written."
            )
        with self.database.writing():  # whoever comes second finds it done
            self._mark, _, format = self.rows("seal")[0]
            if format < BOUND:
                self._mark = self._renew(Upgrading(self.coding, self.seal))
            if format < ECHOED:
                self._renew_echoes()
            if format < FORMAT:
                self._enter_references()

    def _renew_echoes(self) -> None:
        """Give all entries the present echoes, and enter where sessions came by, as part of a transaction."""
        self.register.fill()
        for number, name, _ in self.rows("tenant_names"):
            with suppress(Corrupt):
                tenant = as_text(name)
                tree = TenantTree(partial(self.read_entries, tenant))
                ids = (as_text(id) for (id,) in self.rows("entry_ids", tenant=number))
                for entry in renew_entries(tree, ids):
                    self._change_entry(tenant, number, entry)
                for session in self.sessions(tenant):
                    self._renew_tracks(tree, tenant, session)
        self.database.do("register_tracks", (0, (1 << 63) - 1))

    def _enter_references(self) -> None:
        """Enter what the sessions name that an earlier release wrote, as part of a transaction."""
        self.register.fill()
        for _, name, _ in self.rows("tenant_names"):
            with suppress(Corrupt):
                tenant = as_text(name)
                tree = TenantTree(partial(self.read_entries, tenant))
                for session in self.sessions(tenant):
                    with suppress(Corrupt):
                        end = self._look(tenant, session)
                        records = self.coding.read_records(tenant, session, self._rows(end)) if end else ()
                        self._refer(end, numbers(all_named(tree, (record for _, record in records))))
                        tree.keep_only(())
        self.rows("change_seal", mark=self._mark)

    def _refer(self, end: LogEnd | None, named: Iterable[int]) -> None:
        if end is not None:
            rows = [(end.tenant, number, end.number) for number in named]
            self.database.do_many("add_reference", rows)

    def _renew_tracks(self, tree: TenantTree, tenant: str, session: str) -> None:
        with suppress(Corrupt):
            end = self._look(tenant, session)
            if end is not None:
                records = self.coding.read_records(tenant, session, self._rows(end))
                for seq, prefix in head_numbers(tree, records):
                    self.database.do("keep_prefix", (prefix, end.key(seq)))

    def rekey(self, key: bytes | str) -> None:
        """Seal everything with another key, in one transaction; whoever has the file open must open it again."""
        new = new_key(self.seal, key, self.file)
        with self.database.lock:
            with self._writing():
                self.register.fill()
                self.database.do("drop_all_waiting", ())
                self.database.do("forget_signatures", (0, (1 << 63) - 1))
                self._mark = self._renew(Rekeying(self.coding, new))
            self._use(new)
            self._forget()
            self.scour()

    def _renew(self, renewal: Renewal) -> bytes:
        """Keep everything in its new form, as part of a transaction; returns the new mark."""
        tenants, sessions = dict[int, str](), dict[int, tuple[str, str]]()
        for number, name, _ in self.rows("tenant_names"):
            with suppress(Corrupt):
                tenants[number] = as_text(name)
                self.database.do("sum_tenant", (name_sum(tenants[number]), number))
        for number, _, name, _, tenant in self.rows("session_names"):
            with suppress(Corrupt):
                if tenant in tenants:
                    sessions[number] = (tenants[tenant], as_text(name))
                    self.database.do("sum_session", (name_sum(*sessions[number]), number))
        for key, tenant, _, record, id, parent, message in self.database.all_lines():
            with suppress(Corrupt):
                if key // LINES not in sessions:
                    continue
                if id is not None and tenant in tenants:
                    above = as_text(parent) if parent is not None else None
                    message = renewal.entry(tenants[tenant], as_text(id), above, message)
                place = place_at(session_place(*sessions[key // LINES]), key % LINES)
                self.database.do("renew_line", (renewal.record(place, record), message, key))
        for key, body in self.rows("all_summaries"):
            if key // LINES in sessions:
                kept = renewal.summary(summary_place(*sessions[key // LINES]), body)
                self.database.do("renew_summary", (kept, key))
        for session, seq, body in self.rows("all_checkpoints"):
            if session in sessions:
                kept = renewal.checkpoint(checkpoint_place(*sessions[session], seq), body)
                self.database.do("renew_checkpoint", (kept, session))
        return self._renew_blobs(renewal)

    def _some_records(self, tenant: str, session: str, after: int, most: int | None) -> Part | None:
        with self.database.lock:
            end = self._look(tenant, session, check=False)
            if end is None:
                return None
            rows = self._rows(end, after, most)
        if most is None or (rows and after + len(rows) >= end.seq):
            end.check(session)
        return rows, end.seq, end.version

    def load_later(self, tenant: str, session: str, after: int) -> Stored:
        """All records after one of them; most of what they name lies beside them, so that no register is needed."""
        with self.database.lock:
            self.database.connection()
            end = self._ends.get((tenant, session))
            lines = self._later_lines(end, after) if end is not None else []
            if not lines:
                end = self._look(tenant, session)
                if end is None or end.seq <= after:
                    return Stored((), end.seq, end.version) if end is not None else Stored((), 0, 0)
                lines = self._later_lines(end, after)
            assert end is not None
            end = self._ends[tenant, session] = end.moved_to(lines[-1][0], lines[-1][2], lines[-1][7])
            end.check(session)
        rows = [(key - end.key(0), record) for key, owner, _, record, *_ in lines if owner == end.tenant]
        records = self._read(tenant, session, rows, after, end.seq)
        entries = list[Entry]()
        for _, _, _, _, id, parent, message, _ in lines:
            with suppress(Corrupt):  # whoever needs it is told
                if id is not None:
                    entries.append(self.coding.read_row(tenant, id, parent, message))
        return Stored([record for _, record in records], end.seq, end.version, entries=entries)

    def _later_lines(self, end: LogEnd, after: int) -> list[Row]:
        return self.database.rows("later_lines", end.key(after + 1), end.key(LINES - 1))

    def alone(self) -> AbstractContextManager[None]:
        """A transaction: other threads and processes wait until it ends."""
        return self._writing()

    def _rows(self, end: LogEnd, after: int = 0, most: int | None = None) -> list[tuple[int, bytes]]:
        """The numbers and records of a session's lines after one of them."""
        first, last = end.key(after + 1), end.key(end.seq)
        found = self.database.rows("records", end.tenant, first, last, -1 if most is None else most)
        return [(key - end.key(0), record) for key, record in found]

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
        """Write a batch if nobody wrote first, together with what other threads append at the same time."""
        lines = self._lines(tenant, batch)
        stored = self.commits.write(lambda: self._append(tenant, session, batch, lines, expect))
        self.database.check_place()  # what went into a file that nobody finds any more is not called written
        return stored

    def _append(
        self, tenant: str, session: str, batch: Batch, lines: list[Line], expect: int | None
    ) -> Stored:
        self.database.connection()
        known = self._ends.get((tenant, session))
        if known is not None and known.seq - known.since >= MANY:
            self.register.fill()
            known = known._replace(since=known.seq)
        if known is not None and (expect is None or expect == known.version) and _is_plain(batch):
            # Nearly always nobody else wrote, so lines are written where the log ended when it was last seen. If
            # that place is taken, or an entry is there already, nothing is written, and we look closely.
            with suppress(Corrupt):
                told = self.coding.summary(batch.summary, tenant, session)
                return self._write(tenant, session, known, lines, summary=told)
            # Most often somebody else wrote first. That can be seen without a transaction, for which all wait.
            now = None if self.database.in_transaction else self._look(tenant, session)
            if now is not None:
                now.expect(session, expect)
        if known is None and not self.database.in_transaction and self._look(tenant, session) is None:
            self.register.fill()  # a new session needs it: most is done before the transaction, for which all wait
        with self._writing():
            end = self._look(tenant, session) or self._begin(tenant, session)
            end.expect(session, expect)
            end.expect_seen(session, known)
            return self._write_new(tenant, session, end, batch, lines)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction. If it fails, the numbers that it gave out are forgotten, for others may get them."""
        try:
            with self.database.writing():
                if self._mark:
                    self._check_mark(self.rows("mark")[0][0])
                yield
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        self._numbers.clear()
        self._ends.clear()

    def _lines(self, tenant: str, batch: Batch) -> list[Line]:
        """The records and entries of a batch side by side, which saves every other line."""
        lines = list[Line]()
        for record, prefix, entry in zip_longest(batch.records, batch.prefixes, batch.entries):
            if entry is None:
                lines.append((record, prefix, head_number(record), None, None, None))
            else:
                parent = as_bytes(entry.parent) if entry.parent is not None else None
                kept = (as_bytes(entry.id), parent, self.coding.entry(entry, tenant))
                lines.append((record, prefix, head_number(record), *kept))
        return lines

    def _write(
        self, tenant: str, session: str, end: LogEnd, lines: Sequence[Line], *, summary: bytes | None = None
    ) -> Stored:
        """Write lines after those that are known; `Corrupt` if a key or an entry among them is taken."""
        seq, version, refer, rows = end.seq, end.version, end.refer, list[Row]()
        place, first, last = session_place(tenant, session), end.key(0), end.seq + len(lines)
        for record, prefix, head, id, parent, entry in lines:
            seen = (version, refer) if seq else (None, None)
            seq, version, refer = seq + 1, version + is_visible(record), head
            kept = self.coding.record(record, place_at(place, seq))
            told = summary if seq == last else None
            rows.append(
                (first + seq, end.tenant, version, kept, id, parent, entry, prefix, told, head, *seen)
            )
        if len(rows) <= 2:  # by far the most frequent: one statement, which is a transaction by itself
            self._add(rows)
        else:
            with self._writing():
                self._add(rows)
        self._ends[tenant, session] = end._replace(seq=seq, version=version, refer=refer)
        return Stored((), seq, version, end.seq)

    def _add(self, rows: Sequence[Row]) -> None:
        if len(rows) == 2:
            added = self.database.do("add_two_lines", (*rows[0], *rows[1][:COLUMNS]))
        else:
            added = sum([self.database.do("add_line", row) for row in rows])
        if added != len(rows):
            raise Corrupt(
                "A message or line is there that should not be. `fanfold doctor` says what is damaged."
            )

    def _write_new(self, tenant: str, session: str, end: LogEnd, batch: Batch, lines: list[Line]) -> Stored:
        """Write what is not there yet, as part of a transaction.

        A stub is registered at once: whoever appends the same words finds it there, and what was said before it wins.
        """
        if batch.stubs or batch.restored or not end.seq:  # a new session often begins as others did
            self.register.fill()
        self.register.expect(end.number, end.key(end.seq))
        for entry in batch.restored:
            self._change_entry(tenant, end.tenant, entry)
        known = {entry.id: self._entry(tenant, entry.id) for entry in batch.entries}
        refuse_stubs(known.values())
        there = {as_bytes(id) for id, entry in known.items() if entry is not None}
        new = [line if line[3] not in there else (*line[:3], None, None, None) for line in lines]
        told, rest = self.coding.summary(batch.summary, tenant, session), [line for line in new if any(line)]
        stored = self._write(tenant, session, end, rest, summary=told)
        self._refer(end, numbers((*named_beside(batch.records), *batch.passed)))
        if batch.stubs:
            self.register.fill()
        return stored

    def _look(self, tenant: str, session: str, *, check: bool = True) -> LogEnd | None:
        """Where a session's log ends now; without `check`, the last line may be damaged."""
        owner = self.owner(tenant)
        if owner is None:
            return None
        number = self._number("session", session, name_sum(tenant, session), owner)
        if number is None:
            return None
        first = number * LINES
        last = self.database.rows("last_line", first, first + LINES - 1)
        key, version, refer = last[0] if last else (first, 0, None)
        seq = key - first
        end = LogEnd(tenant=owner, number=number, seq=seq, version=version, since=seq, refer=refer)
        if check:
            end.check(session)
        if isinstance(version, int):
            self._ends[(tenant, session)] = end
        return end

    def _begin(self, tenant: str, session: str) -> LogEnd:
        self.database.do("add_tenant", (as_bytes(tenant), name_sum(tenant)))
        self.database.do("add_session", (self.owner(tenant), as_bytes(session), name_sum(tenant, session)))
        end = self._look(tenant, session)
        assert end is not None
        return end

    def owner(self, tenant: str) -> int | None:
        """The number of a tenant, which never changes once it is there."""
        with self.database.lock:
            self.database.connection()  # first of all: the file may be another one by now
            if tenant not in self._numbers:
                found = self._number("tenant", tenant, name_sum(tenant))
                if found is None:
                    return None
                self._numbers[tenant] = found
            return self._numbers[tenant]

    def _number(self, kind: str, name: str, sum: bytes, *owner: int) -> int | None:
        """The number of a tenant or session with this name; the hash of its name tells if the name is damaged."""
        # One statement for both looks, because others write meanwhile.
        found = self.database.rows(kind, *owner, as_bytes(name), sum)
        for number, kept, named in found:
            if named and kept in (sum, None):
                return int(number)
        if found:
            raise Corrupt(
                f"What {self.file} says of the {kind} {name!r} is damaged. `fanfold doctor` says more; "
                "bring back a copy."
            )
        return None

    def _last_checkpoint(self, tenant: str, session: str) -> list[Row]:
        end = self._look(tenant, session)
        if end is None:
            return []
        bounds = {"first": end.key(0), "last": end.key(LINES - 1)}
        return self.rows("checkpoint", tenant=end.tenant, session=end.number, **bounds)

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        with self._writing():
            end = self._look(tenant, session)
            if end is not None and end.seq == seq:  # else somebody wrote meanwhile, and may have erased
                body = self.coding.checkpoint(checkpoint, checkpoint_place(tenant, session, seq))
                self.database.do("keep_checkpoint", (end.tenant, end.number, seq, body))
                told = self.coding.summary(checkpoint.summary, tenant, session)
                self.database.do("renew_summary", (told, end.key(seq)))

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        found = self._entry(tenant, id)
        return self._entry(tenant, id, self.at_hand()) if found is None else found

    def _entry(self, tenant: str, id: str, database: Database | None = None) -> Entry | None:
        found = (database or self.database).rows("entry", tenant=self.owner(tenant), id=as_bytes(id))
        if found and found[0][0] != as_bytes(id):
            raise Corrupt(f"The message {id[:12]} is not where it should be. `fanfold doctor` looks for it.")
        return self.coding.read_row(tenant, *found[0]) if found else None

    def at_hand(self) -> Database:
        """Where every message is found by its id: the file, or a read-only view if the register cannot be filled."""
        try:
            self.register.fill()
            return self.database
        except (Full, Busy):
            if self.database.in_transaction:
                raise
            Register(self._aside).fill()
            return self._aside

    def _look_up(self, statement: str, **values: Any) -> list[Row]:
        return self.at_hand().rows(statement, **values)

    def _kept_signatures(self, tenant: str, sessions: Sequence[str], first: int, last: int) -> Iterator[Row]:
        for session in sessions:
            end = self._look(tenant, session, check=False)
            if end is not None:
                found = self.database.rows("signatures", end.tenant, end.key(first), end.key(last))
                yield from ((session, *row) for row in found)

    def keep_signature(self, tenant: str, signed: BlockBits, end: int) -> None:
        """Keep the signature of a block, unless somebody wrote meanwhile, who may have erased."""
        if self.database.look_only:
            return
        with self._writing():
            now = self._look(tenant, signed.session)
            if now is not None and now.seq == end:
                bits = self.seal.close(signature_place(tenant, signed.session, signed.block), signed.bits)
                key = now.key(signed.block)
                self.database.do("keep_signature", (key, now.tenant, signed.upto, bits))

    def _listed(self, numbers: Sequence[int]) -> str:
        return to_json(list(numbers))

    def referring(self, tenant: str, ids: Collection[str]) -> list[str]:
        """The names of the sessions whose records name any of some entries or blobs; `Corrupt` if one is damaged."""
        self.register.fill()
        named = self.rows("referring", tenant=self.owner(tenant), numbers=to_json(numbers(ids)))
        names = [as_text(name) for name, _ in named]
        if [sum for _, sum in named] != [name_sum(tenant, name) for name in names]:
            raise Corrupt("The name of a session is damaged. `fanfold doctor` says more.")
        return names

    def erase(self, tenant: str, stub: Entry, scrub: Scrub, *, also: str | None = None) -> None:
        """Put a stub in an entry's place, and scrub the sessions that name it."""
        self.check_place()
        beside = [] if also is None else [also]
        ahead = self._scrub_ahead(tenant, {*self.referring(tenant, [stub.id]), *beside}, scrub)
        with self._writing():
            owner, named = self.owner(tenant), self.referring(tenant, [stub.id])
            self._change_entry(tenant, owner, stub)
            for session in dict.fromkeys((*named, *beside)):
                self._scrub(tenant, session, self._scrubbed(tenant, session, scrub, ahead.get(session)))

    def scour(self) -> None:
        """Write the file's tables anew, step by step, and empty its journal: others go on meanwhile."""
        Rewriting(self.database).run()

    def _change_entry(self, tenant: str, owner: int | None, entry: Entry) -> None:
        parent = as_bytes(entry.parent) if entry.parent is not None else None
        self.database.do(
            "change_entry", (self.coding.entry(entry, tenant), owner, as_bytes(entry.id), parent)
        )

    def _scrub(self, tenant: str, session: str, scrubbed: Scrubbed | None) -> None:
        end = self._look(tenant, session)
        if end is None or scrubbed is None:
            return
        self.database.do("forget_checkpoint", (end.number,))
        self.database.do("forget_signatures", (end.key(0), end.key(LINES - 1)))
        for seq, body in scrubbed.changed.items():
            self.database.do("change_record", (body, end.tenant, end.key(seq)))
        if scrubbed.relabelled:
            self.database.do("forget_summaries", (end.key(0), end.key(LINES - 1)))
        if scrubbed.added:
            self.register.expect(end.number, end.key(end.seq))
            self._write(tenant, session, end, self._lines(tenant, Batch(scrubbed.added)))

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole: in the file up to 1 MiB, above that beside it."""
        intake = BlobIntake(self.files, self.seal)
        try:
            blob = intake.take(chunks)
            if intake.path is not None:
                self.files.bring(intake.path, tenant, blob.id)
            with self._writing():
                self.database.do("add_tenant", (as_bytes(tenant), name_sum(tenant)))
                owner, proof = self.owner(tenant), self._settle(intake, tenant, blob)
                self.database.do("add_blob", (owner, as_bytes(blob.id), blob.size, intake.data, proof))
                if holder:
                    values = (owner, as_bytes(holder), as_bytes(blob.id), time.time())
                    self.database.do("add_hold", values)
        finally:
            intake.forget()
        return blob

    def _keep_proof(self, tenant: str, id: str, proof: bytes | None) -> None:
        if not self.database.look_only:
            super()._keep_proof(tenant, id, proof)

    def _read_inside(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        if start < stop:
            values = (start + 1, stop - start, self.owner(tenant), as_bytes(id))
            found = self.database.rows("blob_range", *values)
            yield from (bytes(data) for (data,) in found if isinstance(data, bytes))

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that nobody needs, and every trace of them."""
        with self.database.lock:
            with self._writing():
                self.database.do("forget_holds", (time.time() - ABANDONED,))
                garbage, held = self._find_garbage(tenant, ids)
                for id in garbage:
                    self.database.do("drop_blob", (self.owner(tenant), as_bytes(id)))
            # A listed blob always has its file, so the file goes second, and only if nobody listed it again.
            with self.database.writing():
                for id in garbage:
                    if not self.rows("blob", tenant=self.owner(tenant), id=as_bytes(id)):
                        self.files.drop(tenant, id)
            self.database.empty_journal()
        return held

    def check_place(self) -> None:
        """Fail if the file was deleted or replaced since it was opened."""
        self.database.check_place()

    def close(self) -> None:
        """Close the file; whoever uses the store again opens it again."""
        self._aside.close()
        self.database.close()


def _is_plain(batch: Batch) -> bool:
    """Whether a batch only goes on: it brings nothing back, and names nothing but what it moves the head to."""
    if batch.restored or batch.passed or names_more(batch.records):
        return False
    return all(entry.erased is None for entry in batch.entries)
