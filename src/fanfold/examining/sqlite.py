"""The doctor's look at an SQLite file and the blobs beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from fanfold.errors import Corrupt, FanfoldError, StoreFailed
from fanfold.examining.report import Report, Visit, after_an_hour
from fanfold.record import entries_of, is_visible
from fanfold.stores.blobs import BlobFiles, is_unfinished
from fanfold.stores.coding import as_bytes
from fanfold.stores.database import Database
from fanfold.stores.register import Register
from fanfold.stores.sqlite import LINES, SQLite
from fanfold.stores.store import ABANDONED


def looked_over(store: SQLite, mend: bool) -> Report:
    """The file, every record, every message against its id, every blob against its hash."""
    visit = _Visit(store, mend)
    looks = (
        visit._file,
        visit._register,
        visit._log,
        visit._orphans,
        visit._checkpoints,
        visit._blobs,
        visit._files,
    )
    return visit.report(str(store.file), looks)


class _Visit(Visit):
    def __init__(self, store: SQLite, mend: bool) -> None:
        self.store = store
        self.database = _reached(store)
        self.register = Register(self.database)
        super().__init__(store, mend and not self.database.look_only)
        self.names: dict[int, str] = {}
        self.owners: dict[int, bytes] = {}
        """The names of sessions and of their tenants."""
        self.there: set[tuple[int, str]] = set()
        """Messages that were looked for and found."""

    def _file(self) -> None:
        """What SQLite itself says; damage in an index is mended by making it anew."""
        wrong = self._check()
        if wrong and self.mend:
            with suppress(StoreFailed):
                self.register.renew()
                self.database.plain("REINDEX")
        for line in wrong:
            self.found(line, mended=self.mend and not self._check())

    def _check(self) -> list[str]:
        return [line for (line,) in self.database.plain("PRAGMA integrity_check") if line != "ok"]

    def _register(self) -> None:
        """Every message is found by its id; the register is made anew where it is not so."""
        self.register.fill()
        if self.register.wrong():
            if self.mend:
                self.register.renew()
            self.found("the register of messages", mended=self.mend and not self.register.wrong())

    def _log(self) -> None:
        """Every line follows the one before, can be read, and every message is what its id says."""
        found = self.database.rows("session_names")
        self.names = {number: name.decode("utf-8", "replace") for number, _, name in found}
        self.owners = {number: tenant for number, tenant, _ in found}
        self.sessions = len(self.names)
        session, seq, version = 0, 0, 0
        for line in self._all_lines():
            self.lines += 1
            number, at = divmod(line[0], LINES)
            if number != session:
                session, seq, version = number, 0, 0
            self._line(line, at, seq, version)
            seq, version = at, line[2]

    def _all_lines(self) -> Iterator[tuple[Any, ...]]:
        last = 0
        while some := self.database.rows("all_lines", last):
            yield from some
            last = some[-1][0]

    def _line(self, line: tuple[Any, ...], at: int, seq: int, version: int) -> None:
        key, tenant, now, data, id, parent, entry = line
        where = f"session {self.names.get(key // LINES, '?')!r}, line {at}"
        if at != seq + 1:
            self.found(f"{where}: {at - seq - 1} lines before it are missing")
        try:
            record = self.store.coding.read_record(data) if data is not None else None
            if is_visible(record) and now != version + 1 and at == seq + 1:
                self.found(f"{where}: it counts as version {now}, after {version}")
            if record is not None:
                self.note_blobs(self.owners.get(key // LINES, b""), record, where)
                for named in entries_of(record):
                    self._look_for(tenant, named, where)
            if id is not None:
                self.look_at_entry(id, parent, entry, where)
        except FanfoldError as error:
            self.found(f"{where}: {error}")

    def _look_for(self, tenant: int, id: str, where: str) -> None:
        if (tenant, id) in self.there:
            return
        if not self.database.rows("entry", tenant, as_bytes(id)):
            self.found(f"{where}: the message {id[:12]} that it names is missing")
        self.there.add((tenant, id))

    def _orphans(self) -> None:
        for (id,) in self.database.rows("orphans"):
            self.found(f"the message before {id.decode('utf-8', 'replace')[:12]} is missing")

    def _checkpoints(self) -> None:
        found = [
            (number, self.names.get(number, "?"), body)
            for number, body in self.database.rows("all_checkpoints")
        ]
        self.look_at_checkpoints(found, lambda number: self.database.do("forget_checkpoint", (number,)))

    def _blobs(self) -> None:
        self.look_at_blobs(self._all_blobs())

    def _files(self) -> None:
        """Files and objects that nobody needs; in a folder nobody gives a blob its name meanwhile."""
        if not isinstance(self.store.files, BlobFiles):
            self.clear_away(self.store.files, self._all_blobs, after_an_hour)
            return
        with self.database.writing():
            self.clear_away(self.store.files, self._all_blobs, _abandoned)

    def _all_blobs(self) -> list[tuple[Any, ...]]:
        return self.database.rows("all_blobs")


def _reached(store: SQLite) -> Database:
    """Where the file is looked at; damage is found later."""
    try:
        return store.at_hand()
    except Corrupt:
        return store.database


def _abandoned(name: str, age: float) -> bool:
    return not is_unfinished(name) or age > ABANDONED
