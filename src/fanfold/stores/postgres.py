"""A PostgreSQL server, for many writers on many machines: `store="postgresql://…"`.

An append is one round trip. Every append that returned is as durable as the server's own commits. If the connection
is lost on the way, the append is sent once more, and written once.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import Corrupt
from fanfold.core.record import versions
from fanfold.core.tree import Entry
from fanfold.stores.blobs import BlobIntake, Spool, blob_place
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
from fanfold.stores.echoing import head_numbers, renew_entries
from fanfold.stores.fibers import can_run
from fanfold.stores.references import all_named, head_number, named_beside, numbers
from fanfold.stores.scrubbing import Scrubbed
from fanfold.stores.sealing import (
    as_bytes,
    checkpoint_place,
    place_at,
    session_place,
    signature_place,
    summary_place,
)
from fanfold.stores.search import BlockBits
from fanfold.stores.server import DatabaseServer
from fanfold.stores.sql_store import Part, Recent, Row, SQLStore, changed_key
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
from fanfold.stores.table_copies import TableCopies
from fanfold.stores.tenant_tree import TenantTree

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_MANY = 10_000
"""So many entries are asked for at once."""
PIECE = 1 << 20
"""A blob lies in the database in pieces of this many bytes; what is stored depends on it."""


class Postgres(SQLStore):
    """A store on a PostgreSQL server, in a schema of its own. Threads, processes and machines may share it."""

    remote = True
    remains = (
        "The server's write-ahead log keeps the bytes of what was erased for a while: docs/store.md (PostgreSQL) has "
        "seven lines of SQL that clear it."
    )
    """What to tell whoever erased something."""

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
        self.server = DatabaseServer(url, schema, connections, timeout)
        self._timeout = timeout
        self._relabelled = False
        super().__init__(self.server.place, key, dialects)
        self._ends: Recent[int] = Recent()
        """Where sessions' logs ended when they were last seen."""
        own, format = self._check_seal()
        self.files = blob_place(blobs, own) if blobs is not None else None
        self.awaits = self.files is None and can_run()
        if format != FORMAT:
            with self.server.writing():  # whoever comes second finds it done
                self._mark, format = self.rows("lock_seal")[0]
                if format < BOUND:
                    self.rows("fill_gaps")
                    self._mark = self._renew(Upgrading(self.coding, self.seal))
                if format < ECHOED:
                    self._renew_echoes()
                if format < FORMAT:
                    self._enter_references()

    def _renew_echoes(self) -> None:
        """Give all entries the present echoes, and say where sessions came by, as part of a transaction."""
        ids, numbers = dict[str, list[str]](), dict[str, int]()
        for number, id, _, _, name in self.all_entries():
            with suppress(Corrupt):
                ids.setdefault(as_text(name), []).append(as_text(id))
                numbers[as_text(name)] = number
        for tenant, listed in ids.items():
            tree = TenantTree(partial(self.read_entries, tenant))
            for entry in renew_entries(tree, listed):
                body = self.coding.entry(entry, tenant)
                self.rows("renew_entry", tenant=numbers[tenant], id=as_bytes(entry.id), body=body)
            for session in self.sessions(tenant):
                self._renew_tracks(tree, tenant, session)

    def _enter_references(self) -> None:
        """Enter what the sessions name that an earlier release wrote, as part of a transaction."""
        for name, session, _ in self.rows("all_sessions"):
            with suppress(Corrupt):
                tenant, called = as_text(name), as_text(session)
                place, tree = (
                    {"tenant": name, "session": session},
                    TenantTree(partial(self.read_entries, tenant)),
                )
                records = self.coding.read_records(tenant, called, self.rows("records", **place))
                named = numbers(all_named(tree, (record for _, record in records)))
                self.rows("track", **place, prefixes=[], named=named)
        self.rows("change_seal", mark=self._mark)

    def _renew_tracks(self, tree: TenantTree, tenant: str, session: str) -> None:
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        with suppress(Corrupt):
            records = self.coding.read_records(tenant, session, self.rows("records", **place))
            prefixes = [prefix for _, prefix in head_numbers(tree, records)]
            self.rows("track", **place, prefixes=prefixes, named=[])

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """What a statement finds; within `server.writing`, it is part of that transaction."""
        return self.server.rows(statement, **values)

    def owner(self, tenant: str) -> bytes:
        """The name of a tenant, as it is kept."""
        return as_bytes(tenant)

    def rekey(self, key: bytes | str) -> None:
        """Seal everything with another key, in one transaction; whoever has the store open must open it again.

        The server's own log and its backups keep what was sealed with the former key until they are recycled.
        """
        new = new_key(self.seal, key, self.place)
        with self.server.writing():
            self._check_mark(self.rows("lock_seal")[0][0])
            self.rows("lock_tenants")
            self.rows("lock_appends")
            self.rows("forget_all_signatures")
            mark = self._renew(Rekeying(self.coding, new))
        self._use(new)
        self._mark = mark
        self.scour()

    def _renew(self, renewal: Renewal) -> bytes:
        """Keep everything in its new form, as part of a transaction; returns the new mark."""
        for tenant, session, _ in self.rows("all_sessions"):
            with suppress(Corrupt):
                place = session_place(as_text(tenant), as_text(session))
                for seq, body in self.rows("records", tenant=tenant, session=session):
                    kept = renewal.record(place_at(place, seq), body)
                    self.rows("change_record", tenant=tenant, session=session, seq=seq, body=kept)
        for number, id, parent, body, tenant in self.all_entries():
            with suppress(Corrupt):
                above = as_text(parent) if parent is not None else None
                kept = renewal.entry(as_text(tenant), as_text(id), above, body)
                self.rows("renew_entry", tenant=number, id=id, body=kept)
        for number, tenant, session, seq, body in self.rows("all_checkpoints"):
            with suppress(Corrupt):
                kept = renewal.checkpoint(checkpoint_place(as_text(tenant), as_text(session), seq), body)
                self.rows("renew_checkpoint", session=number, body=kept)
        for tenant, session, body in self.rows("all_summaries"):
            with suppress(Corrupt):
                kept = renewal.summary(summary_place(as_text(tenant), as_text(session)), body)
                self.rows("renew_summary", tenant=tenant, session=session, body=kept)
        return self._renew_blobs(renewal)

    def all_entries(self) -> Iterator[Row]:
        """The messages of all tenants, some at a time."""
        tenant, id = 0, b""
        while some := self.rows("all_entries", tenant=tenant, id=id):
            yield from some
            tenant, id = some[-1][:2]

    def _some_records(self, tenant: str, session: str, after: int, most: int | None) -> Part | None:
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        found = self.rows("load", **place, after=after, most=most)
        if not found:
            return None
        seq, version, first, _ = found[0]
        self._ends[tenant, session] = seq
        return [(number, body) for _, _, number, body in found] if first is not None else [], seq, version

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if nobody wrote first. Its stubs are marked; nobody appends the same words meanwhile."""
        if not batch.stubs and not batch.restored:
            return self._append(tenant, session, batch, expect)[0]
        with self.server.writing():
            self.rows("lock_owner", tenant=as_bytes(tenant))
            stored, values = self._append(tenant, session, batch, expect)
            if batch.restored:
                parents = [as_bytes(entry.parent or "") for entry in batch.restored]
                self.rows("change_parents", tenant=as_bytes(tenant), ids=values["again"], parents=parents)
            erased = [entry.erased is not None for entry in (*batch.entries, *batch.restored)]
            ids, bodies = (values["ids"] + values["again"], values["bodies"] + values["contents"])
            stubs = {"ids": list(compress(ids, erased)), "bodies": list(compress(bodies, erased))}
            self.rows("mark_stubs", tenant=as_bytes(tenant), **stubs)
        return stored

    def _append(
        self, tenant: str, session: str, batch: Batch, expect: int | None
    ) -> tuple[Stored, dict[str, Any]]:
        """Write a batch for the place where the log ends, and return what was written.

        Records are bound to their place, so if somebody wrote since the end was last seen, they are encoded again.
        """
        while True:
            begins = self._ends.get((tenant, session), 0)
            values = self._values(tenant, session, batch, expect, begins)
            done, seq, version, was, stubs, fits, _ = self.server.rows_once("append", **values)[0]
            if not fits:
                raise changed_key(self.place)
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
        """A batch as the statement takes it; its token tells if it comes twice."""
        place = session_place(tenant, session)
        return {
            "tenant": as_bytes(tenant),
            "session": as_bytes(session),
            "expected": expect,
            "token": secrets.token_bytes(8),
            "changes": versions(batch.records),
            "records": [
                self.coding.record(record, place_at(place, seq))
                for seq, record in enumerate(batch.records, begins + 1)
            ],
            "ids": [as_bytes(entry.id) for entry in batch.entries],
            "parents": [as_bytes(entry.parent or "") for entry in batch.entries],
            "bodies": [self.coding.entry(entry, tenant) for entry in batch.entries],
            "again": [as_bytes(entry.id) for entry in batch.restored],
            "contents": [self.coding.entry(entry, tenant) for entry in batch.restored],
            "begins": begins,
            "mark": self._mark,
            "prefixes": [prefix for prefix in batch.prefixes if prefix is not None],
            "summary": self.coding.summary(batch.summary, tenant, session),
            "named": [
                *(number for record in batch.records if (number := head_number(record)) is not None),
                *numbers((*named_beside(batch.records), *batch.passed)),
            ],
        }

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, batch after batch in one transaction."""
        stored = Stored((), 0, 0)
        with self.server.writing():
            for batch in batches:
                later = self.append(tenant, session, batch, expect=stored.version)
                if later.was != stored.seq:
                    raise written_first(session, later.version, 0)
                stored = later
        return stored

    def _last_checkpoint(self, tenant: str, session: str) -> list[Row]:
        return self.rows("checkpoint", tenant=as_bytes(tenant), session=as_bytes(session))

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before."""
        body = self.coding.checkpoint(checkpoint, checkpoint_place(tenant, session, seq))
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        told = self.coding.summary(checkpoint.summary, tenant, session)
        self.rows("keep_checkpoint", **place, seq=seq, body=body, summary=told)

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""
        found = self.rows("entry", tenant=as_bytes(tenant), id=as_bytes(id))
        return self.coding.read_row(tenant, *found[0]) if found else None

    def _kept_signatures(self, tenant: str, sessions: Sequence[str], first: int, last: int) -> Iterator[Row]:
        named = {"names": [as_bytes(name) for name in sessions], "first": first, "last": last}
        return self._with_names(self.rows("signatures", tenant=as_bytes(tenant), **named), at=0)

    def keep_signature(self, tenant: str, signed: BlockBits, end: int) -> None:
        """Keep the signature of a block, unless somebody wrote meanwhile, who may have erased."""
        bits = self.seal.close(signature_place(tenant, signed.session, signed.block), signed.bits)
        place = {"tenant": as_bytes(tenant), "session": as_bytes(signed.session), "block": signed.block}
        self.rows("keep_signature", **place, upto=signed.upto, bits=bits, ends=end)

    def _listed(self, numbers: Sequence[int]) -> list[int]:
        return list(numbers)

    def read_entries(self, tenant: str, ids: Sequence[str]) -> Iterator[Entry]:
        """Those of some entries that are there, many with one question."""
        for first in range(0, len(ids), _MANY):
            some = [as_bytes(id) for id in ids[first : first + _MANY]]
            for row in self.rows("entries", tenant=as_bytes(tenant), ids=some):
                yield self.coding.read_row(tenant, *row)

    def referring(self, tenant: str, ids: Collection[str]) -> list[str]:
        """The names of the sessions whose records name any of some entries or blobs."""
        found = self.rows("referring", tenant=as_bytes(tenant), numbers=numbers(ids))
        return [as_text(name) for (name,) in found]

    def scour(self) -> None:
        """Write the tables anew, step by step: others go on meanwhile.

        The server's own log and its backups keep the content until they are recycled.
        """
        copies = TableCopies(self.server, self._timeout)
        copies.rewrite("record", "entry", "checkpoint", "signature")
        if self._relabelled:
            copies.rewrite_sessions()
            self._relabelled = False

    def erase(self, tenant: str, stub: Entry, scrub: Scrub, *, also: str | None = None) -> None:
        """Put a stub in an entry's place, and scrub the sessions that name it."""
        owner, beside = as_bytes(tenant), [] if also is None else [also]
        ahead = self._scrub_ahead(tenant, {*self.referring(tenant, [stub.id]), *beside}, scrub)
        with self.server.writing():
            self.rows("lock_tenant", tenant=owner)
            self._check_mark(self.rows("seal")[0][0])
            named = self.referring(tenant, [stub.id])
            self.rows("erase_entry", tenant=owner, id=as_bytes(stub.id), body=self.coding.entry(stub, tenant))
            for session in dict.fromkeys((*named, *beside)):
                self.rows("lock_session", tenant=owner, session=as_bytes(session))
                self._scrub(tenant, session, self._scrubbed(tenant, session, scrub, ahead.get(session)))

    def _scrub(self, tenant: str, session: str, scrubbed: Scrubbed | None) -> None:
        if scrubbed is None:
            return
        place = {"tenant": as_bytes(tenant), "session": as_bytes(session)}
        for seq, body in scrubbed.changed.items():
            self.rows("change_record", **place, seq=seq, body=body)
        if scrubbed.relabelled:
            self.rows("renew_summary", **place, body=None)
            self._relabelled = True
        if scrubbed.added:
            self._append(tenant, session, Batch(scrubbed.added), None)

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole: in pieces of 1 MiB, or above that size where `blobs` says."""
        intake = BlobIntake(self.files or Spool(), self.seal)
        try:
            blob = intake.take(chunks)
            place = {"tenant": as_bytes(tenant), "id": as_bytes(blob.id)}
            if holder:  # before it is looked for: it may be about to be dropped
                self.rows("add_hold", **place, holder=as_bytes(holder))
            outside = False
            if self.files is not None and intake.path is not None:
                outside = True
                self.files.bring(intake.path, tenant, blob.id)
            with self._writing():
                if outside:
                    self.rows("lock_blob", **place)
                proof = self._settle(intake, tenant, blob)
                new = self.rows("add_blob", **place, size=blob.size, outside=outside, proof=proof)
                for number, data in enumerate(_pieces(intake) if new and not outside else ()):
                    self.rows("add_piece", **place, number=number, data=data)
        finally:
            intake.forget()
        return blob

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction during which nobody changes the key."""
        with self.server.writing():
            if self._mark:
                self._check_mark(self.rows("hold_seal")[0][0])
            yield

    def _read_inside(self, tenant: str, id: str, start: int, stop: int) -> Iterator[bytes]:
        while start < stop:
            number, first = divmod(start, PIECE)
            count = min(PIECE - first, stop - start)
            place = {"tenant": as_bytes(tenant), "id": as_bytes(id), "number": number}
            found = self.rows("piece", **place, start=first + 1, count=count)
            if not found or len(found[0][0]) != count:
                raise Corrupt(f"A piece of blob {id} is missing. Bring back a copy of it.")
            yield found[0][0]
            start += count

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that nobody needs; the table is rewritten."""
        owner = as_bytes(tenant)
        inside = False
        with self.server.writing():
            self.rows("lock_tenant", tenant=owner)
            self.rows("forget_holds", age=ABANDONED)
            garbage, held = self._find_garbage(tenant, ids)
            for id in garbage:
                self.rows("lock_blob", tenant=owner, id=as_bytes(id))
                dropped = self.rows("drop_blob", tenant=owner, id=as_bytes(id))
                if dropped and dropped[0][0]:
                    self._outside()  # refuses, before anything is lost, if we do not know where that is
                else:
                    inside = True
        # A listed blob always has its file, so the file goes second, and only if nobody listed it again.
        if self.files is not None:
            with self.server.writing():
                for id in garbage:
                    self.rows("lock_blob", tenant=owner, id=as_bytes(id))
                    if not self.rows("blob", tenant=owner, id=as_bytes(id)):
                        self.files.drop(tenant, id)
        if inside:
            TableCopies(self.server, self._timeout).rewrite("piece")
        return held

    def close(self) -> None:
        """Close all connections; whoever uses the store again connects again."""
        self.server.close()


def _pieces(intake: BlobIntake) -> Iterator[bytes]:
    """What was taken in, in pieces of one size."""
    if intake.path is None:
        data = intake.data or b""
        yield from (data[at : at + PIECE] for at in range(0, len(data), PIECE))
        return
    with intake.path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
