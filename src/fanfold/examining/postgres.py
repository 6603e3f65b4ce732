"""The doctor's look at a schema on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.errors import FanfoldError
from fanfold.examining.report import Report, Visit, after_an_hour
from fanfold.record import entries_of
from fanfold.stores.coding import as_bytes
from fanfold.stores.postgres import Postgres


def looked_over(store: Postgres, mend: bool) -> Report:
    """Every record, every message against its id, every blob against its hash; the server checks its own pages."""
    visit = _Visit(store, mend)
    looks = (
        visit.look_at_logs,
        visit.look_at_entries,
        visit.look_at_all_checkpoints,
        visit.look_at_all_blobs,
    )
    return visit.report(store.server.place, looks)


class _Visit(Visit):
    def __init__(self, store: Postgres, mend: bool) -> None:
        super().__init__(store, mend)
        self.store = store
        self.rows = store.server.rows

    def look_at_logs(self) -> None:
        """Every record can be read, belongs to its session's log, and the messages it names are there."""
        for tenant, session, end in self.rows("all_sessions"):
            self.sessions += 1
            where = f"session {session.decode('utf-8', 'replace')!r}"
            named: dict[bytes, int] = {}
            for seq, body in self.rows("records", tenant=tenant, session=session):
                self.lines += 1
                if seq > end:
                    self.found(f"{where}, record {seq}: the session ends at {end}")
                self._look_at_record(tenant, body, f"{where}, record {seq}", named, seq)
            for (id,) in self.rows("absent", tenant=tenant, ids=list(named)):
                self.found(
                    f"{where}, record {named[id]}: the message {id.decode()[:12]} that it names is missing"
                )

    def _look_at_record(
        self, tenant: bytes, body: bytes, where: str, named: dict[bytes, int], seq: int
    ) -> None:
        try:
            record = self.store.coding.read_record(body)
        except FanfoldError as error:
            self.found(f"{where}: {error}")
            return
        self.note_blobs(tenant, record, where)
        for id in entries_of(record):
            named.setdefault(as_bytes(id), seq)

    def look_at_entries(self) -> None:
        """Every message can be read, is what its id says, and has the one before it."""
        for _, id, parent, body in self._all_entries():
            where = f"message {id.decode('utf-8', 'replace')[:12]}"
            try:
                self.look_at_entry(id, parent, body, where)
            except FanfoldError as error:
                self.found(f"{where}: {error}")
        for (id,) in self.rows("orphans"):
            self.found(f"the message before {id.decode('utf-8', 'replace')[:12]} is missing")

    def _all_entries(self) -> Iterator[tuple[Any, ...]]:
        tenant, id = 0, b""
        while some := self.rows("all_entries", tenant=tenant, id=id):
            yield from some
            tenant, id = some[-1][:2]

    def look_at_all_checkpoints(self) -> None:
        """Those of all sessions."""
        found = [
            (number, name.decode("utf-8", "replace"), body)
            for number, name, body in self.rows("all_checkpoints")
        ]
        self.look_at_checkpoints(found, lambda number: self.rows("forget_checkpoint", session=number))

    def look_at_all_blobs(self) -> None:
        """Every blob is whole; what lies outside the database and belongs to none is cleared away."""
        self.look_at_blobs(self.rows("all_blobs"))
        if self.store.files is not None:
            self.clear_away(self.store.files, lambda: self.rows("all_blobs"), after_an_hour)
