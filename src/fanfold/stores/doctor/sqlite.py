"""The doctor's look at an SQLite file and the blobs beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fanfold.core.errors import Corrupt, FanfoldError, StoreFailed
from fanfold.core.record import entries_of, is_visible
from fanfold.stores.blobs import BlobFiles, is_unfinished
from fanfold.stores.coding import as_text, readable_name
from fanfold.stores.database import tables_made
from fanfold.stores.doctor.report import Report, Visit, is_old
from fanfold.stores.register import Register
from fanfold.stores.sealing import LINES, as_bytes, checkpoint_place, name_sum, place_at, session_place
from fanfold.stores.sqlite import SQLite


def look_over(store: SQLite, *, repair: bool, clear: bool) -> Report:
    """The file, every record, every message against its id, every blob against its hash."""
    visit = _FileVisit(store, repair=repair, clear=clear)
    looks = (
        visit._file,
        visit._tables,
        visit._register,
        visit._names,
        visit._log,
        lambda: visit.look_for_orphans(visit.database.rows("orphans")),
        visit._checkpoints,
        lambda: visit.look_at_blobs(visit.database.rows("all_blobs")),
        visit._files,
    )
    return visit.report(_as_seen_from_here(store.file), looks)


def _as_seen_from_here(file: Path) -> str:
    """A file of this folder by its name, as people gave it; any other by its whole path."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


class _FileVisit(Visit):
    def __init__(self, store: SQLite, *, repair: bool, clear: bool) -> None:
        self.store = store
        try:
            self.database = store.at_hand()
        except Corrupt:
            self.database = store.database  # damage is found later
        self.register = Register(self.database)
        super().__init__(store, repair=repair and not self.database.look_only, clear=clear)
        self.names: dict[int, tuple[str, str]] = {}
        """The names of sessions, after those of their tenants, as far as they can be read."""
        self.tenants: dict[int, str] = {}
        self.there: set[tuple[int, str]] = set()
        """Messages that were looked for and found."""
        self.nameless: set[int] = set()
        """The numbers of sessions that have lines, but no name that can be read."""

    def _file(self) -> None:
        """What SQLite itself says; damage in an index is repaired by making the index again."""
        wrong = self._check()
        if wrong and self.repair:
            with suppress(StoreFailed):
                names = list(self._damaged_names())
                self.register.renew()
                self.database.plain("REINDEX")
                for number, name in names:
                    self.database.do("rename_session", (name, number))
        for line in wrong:
            self.found(line, repaired=self.repair and not self._check())

    def _tables(self) -> None:
        """Every table has the columns that it was made with."""
        for table, columns in tables_made().items():
            found = [tuple(row) for row in self.database.plain(f"PRAGMA main.table_info({table})")]
            if found != columns:
                self.found(f"the table {table} is not described as it was made")

    def _check(self) -> list[str]:
        return [line for (line,) in self.database.plain("PRAGMA integrity_check") if line != "ok"]

    def _damaged_names(self) -> Iterator[tuple[int, bytes]]:
        """The sessions whose name is damaged in the table, but not in its index: the hash tells which is right."""
        rows = self.database.rows("session_names")
        known = {number: (tenant, name, kept) for number, tenant, name, kept, _ in rows}
        for number, name in self.database.rows("index_names"):
            tenant, now, kept = known.get(number, (None, name, None))
            with suppress(Corrupt):
                if now != name and name_sum(as_text(tenant), as_text(name)) == kept:
                    yield number, name

    def _register(self) -> None:
        """Every message is found by its id; if not, the register is made again."""
        self.register.fill()
        if self.register.is_wrong():
            if self.repair:
                self.register.renew()
            self.found("the register of messages", repaired=self.repair and not self.register.is_wrong())

    def _names(self) -> None:
        """Every name of a tenant and of a session can be read, and is what it was."""
        for number, name, kept in self.database.rows("tenant_names"):
            found = self._name(f"tenant {number}", (), name, kept)
            if found is not None:
                self.tenants[number] = found
        for number, _, name, kept, tenant in self.database.rows("session_names"):
            self.count_session(tenant, self.tenants.get(tenant, ""))
            if tenant not in self.tenants:
                self.found(f"session {readable_name(name)!r}: nobody knows whose it is")
                continue
            found = self._name(f"session {number}", (self.tenants[tenant],), name, kept)
            if found is not None:
                self.names[number] = (self.tenants[tenant], found)

    def _name(self, where: str, above: tuple[str, ...], name: bytes, kept: bytes | None) -> str | None:
        try:
            text = as_text(name)
        except Corrupt:
            self.found(f"{where}: its name cannot be read ({readable_name(name)!r})")
            return None
        if kept not in (name_sum(*above, text), None):
            self.found(f"{where}: its name is not {readable_name(name)!r}, as it says")
        return text

    def _log(self) -> None:
        """Every line follows the one before, can be read, and every message is what its id says."""
        session, seq, version = 0, 0, 0
        for line in self.database.all_lines():
            self.lines += 1
            number, at = divmod(line[0], LINES)
            if number != session:
                session, seq, version = number, 0, 0
            self._line(line, at, seq, version)
            seq, version = at, line[2]

    def _line(self, line: tuple[Any, ...], at: int, seq: int, version: int) -> None:
        key, tenant, now, data, id, parent, message = line
        number = key // LINES
        if number not in self.names:
            if number not in self.nameless:
                self.nameless.add(number)
                self.found(f"session {number} has lines, but no name that can be read")
            return
        where = f"session {self.names[number][1]!r}, line {at}"
        if at != seq + 1:
            self.found(f"{where}: {at - seq - 1} lines before it are missing")
        if self.tenants.get(tenant) != self.names[number][0]:
            self.found(f"{where}: it belongs to another tenant")
        try:
            self._record(number, tenant, data, at, where, now if at == seq + 1 else None, version)
            if id is not None:
                self.look_at_entry(self.names[number][0], id, parent, message, where)
        except FanfoldError as error:
            self.found(f"{where}: {error}")

    def _record(
        self, number: int, tenant: int, data: bytes, at: int, where: str, now: int | None, version: int
    ) -> None:
        record = self.store.coding.read_line(data, place_at(session_place(*self.names[number]), at))
        if is_visible(record) and now is not None and now != version + 1:
            self.found(f"{where}: it counts as version {now}, after {version}")
        if record is not None:
            self.note_blobs(as_bytes(self.names[number][0]), record, where)
            for id in entries_of(record):
                if (tenant, id) not in self.there:
                    self.there.add((tenant, id))
                    if not self.database.rows("entry", tenant=tenant, id=as_bytes(id)):
                        self.found(f"{where}: the message {id[:12]} that it names is missing")

    def _checkpoints(self) -> None:
        """A checkpoint, and the register, tell of lines at the end that are missing."""
        ends: dict[int, int] = dict(self.database.rows("last_lines"))
        for number, seq, body in self.database.rows("all_checkpoints"):
            names = self.names.get(number, ("", "?"))
            where = f"session {names[1]!r}"
            forget = partial(self.database.do, "forget_checkpoint", (number,))
            if (
                self.look_at_checkpoint(body, checkpoint_place(*names, seq), where, forget)
                and ends.get(number, 0) < seq
            ):
                self.found(f"{where}: {seq - ends.get(number, 0)} lines at its end are missing")
        for number, key in self.database.rows("beyond"):
            self.found(
                f"session {self.names.get(number, ('', '?'))[1]!r}: line {key % LINES} was there, and is missing"
            )

    def _files(self) -> None:
        """Files and objects that nobody needs; in a folder nobody gives a blob its name meanwhile."""
        blobs = partial(self.database.rows, "all_blobs")
        if not isinstance(self.store.files, BlobFiles):
            self.clear_away(self.store.files, blobs, is_old)
            return
        with self.database.writing():
            abandoned = lambda name, age: not is_unfinished(name) or is_old(name, age)  # noqa: E731
            self.clear_away(self.store.files, blobs, abandoned)
