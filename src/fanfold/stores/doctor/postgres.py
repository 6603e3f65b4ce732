"""The doctor's look at a schema on a PostgreSQL server."""

from __future__ import annotations

from functools import partial

from fanfold.core.errors import FanfoldError
from fanfold.core.record import entries_of
from fanfold.stores.coding import as_text, readable_name
from fanfold.stores.doctor.report import Report, Visit, is_old
from fanfold.stores.postgres import Postgres
from fanfold.stores.sealing import as_bytes, checkpoint_place, place_at, session_place
from fanfold.text.lines import many


def look_over(store: Postgres, *, repair: bool, clear: bool) -> Report:
    """Every record, every message against its id, every blob against its hash; the server checks its own pages."""
    visit = _ServerVisit(store, repair=repair, clear=clear)
    looks = (
        visit.look_at_logs,
        visit.look_at_entries,
        visit.look_at_all_checkpoints,
        visit.look_at_all_blobs,
    )
    return visit.report(store.server.place, looks)


class _ServerVisit(Visit):
    def __init__(self, store: Postgres, *, repair: bool, clear: bool) -> None:
        super().__init__(store, repair=repair, clear=clear)
        self.store = store
        self.rows = store.rows

    def look_at_logs(self) -> None:
        """Every record can be read, belongs to its session's log, and the messages it names are there."""
        for tenant, session, end in self.rows("all_sessions"):
            self.count_session(tenant, readable_name(tenant))
            where = f"session {readable_name(session)!r}"
            try:
                place = session_place(as_text(tenant), as_text(session))
            except FanfoldError:
                self.found(f"{where}: its name, or its tenant's, cannot be read")
                continue
            self._look_at_log(tenant, session, end, place, where)

    def _look_at_log(self, tenant: bytes, session: bytes, end: int, place: bytes, where: str) -> None:
        named: dict[bytes, int] = {}
        last = 0
        for seq, body in self.rows("records", tenant=tenant, session=session):
            self.lines += 1
            if seq > end:
                self.found(f"{where}, record {seq}: the session ends at {end}")
            elif seq != last + 1:
                self.found(f"{where}, record {seq}: {many(seq - last - 1, 'record')} missing before it")
            last = seq
            try:
                record = self.store.coding.read_line(body, place_at(place, seq))
            except FanfoldError as error:
                self.found(f"{where}, record {seq}: {error}")
                continue
            if record is not None:
                self.note_blobs(tenant, record, f"{where}, record {seq}")
                for id in entries_of(record):
                    named.setdefault(as_bytes(id), seq)
        if last < end:
            self.found(f"{where}: {many(end - last, 'record')} missing at its end")
        for (id,) in self.rows("absent", tenant=tenant, ids=list(named)):
            self.found(
                f"{where}, record {named[id]}: the message {readable_name(id)[:12]} that it names is missing"
            )

    def look_at_entries(self) -> None:
        """Every message can be read, is what its id says, and has the one before it."""
        for _, id, parent, body, tenant in self.store.all_entries():
            where = f"message {readable_name(id)[:12]}"
            try:
                self.look_at_entry(as_text(tenant), id, parent, body, where)
            except FanfoldError as error:
                self.found(f"{where}: {error}")
        self.look_for_orphans(self.rows("orphans"))

    def look_at_all_checkpoints(self) -> None:
        """Those of all sessions."""
        for number, tenant, session, seq, body in self.rows("all_checkpoints"):
            try:
                place = checkpoint_place(as_text(tenant), as_text(session), seq)
            except FanfoldError:
                continue  # its name was found before
            forget = partial(self.rows, "forget_checkpoint", session=number)
            self.look_at_checkpoint(body, place, f"session {readable_name(session)!r}", forget)

    def look_at_all_blobs(self) -> None:
        """Every blob is whole; what lies outside the database and belongs to none is reported."""
        self.look_at_blobs(self.rows("all_blobs"))
        if self.store.files is not None:
            self.clear_away(self.store.files, lambda: self.rows("all_blobs"), is_old)
