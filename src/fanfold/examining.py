"""The doctor: looks a store over, mends what can be mended, and says what cannot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import msgspec

from fanfold.errors import BadInput, FanfoldError, NotFound, StoreFailed
from fanfold.ids import entry_id
from fanfold.record import Moved, Visible
from fanfold.stores.blobs import BlobFiles, is_unfinished
from fanfold.stores.sqlite import LINES, SQLite

_VISIBLE = get_args(Visible)
_ABANDONED = 600.0
"""Seconds after which an unfinished blob belongs to nobody any more."""


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it should be."""

    what: str
    mended: bool = False

    def __str__(self) -> str:
        return f"{'mended' if self.mended else 'DAMAGE'}: {self.what}"


class Report(msgspec.Struct, frozen=True):
    """What the doctor saw."""

    place: str
    findings: tuple[Finding, ...]
    sessions: int = 0
    lines: int = 0
    blobs: int = 0

    @property
    def healthy(self) -> bool:
        """Whether nothing is damaged any more."""
        return all(finding.mended for finding in self.findings)

    def __str__(self) -> str:
        looked = f"{self.place}: {self.sessions:,} sessions, {self.lines:,} lines, {self.blobs:,} blobs looked over"
        end = "All is well." if self.healthy else "What is damaged has to come from a copy."
        return "\n".join([looked, *map(str, self.findings), end])


def doctor(store: SQLite | str | Path, *, mend: bool = True) -> Report:
    """Look a store over: its file, every record, every message against its id, every blob against its hash."""
    path = store.file if isinstance(store, SQLite) else _path(store)
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    try:
        return _Visit(store if isinstance(store, SQLite) else SQLite(path), mend).report()
    except StoreFailed as error:
        return Report(str(path), (Finding(str(error)),))


def _path(store: str | Path) -> Path:
    if isinstance(store, str) and store.partition(":")[0] in ("memory", "postgresql"):
        raise BadInput(f"The doctor looks after SQLite files, not after {store!r}.")
    return Path(str(store).removeprefix("sqlite:")).expanduser()


class _Visit:
    def __init__(self, store: SQLite, mend: bool) -> None:
        self.store = store
        self.database = store.database
        self.mend = mend
        self.findings: list[Finding] = []
        self.names: dict[int, str] = {}
        self.lines = self.blobs = 0

    def report(self) -> Report:
        """Look everywhere; damage in one place does not end the visit."""
        for look in (
            self._file,
            self._register,
            self._log,
            self._orphans,
            self._checkpoints,
            self._blobs,
            self._files,
        ):
            try:
                look()
            except StoreFailed as error:
                self._found(str(error))
        return Report(str(self.store.file), tuple(self.findings), len(self.names), self.lines, self.blobs)

    def _found(self, what: str, *, mended: bool = False) -> None:
        self.findings.append(Finding(what, mended))

    def _file(self) -> None:
        """What SQLite itself says; damage in an index is mended by making it anew."""
        wrong = self._check()
        if wrong and self.mend:
            with suppress(StoreFailed):
                self.store.register.renew()
                self.database.plain("REINDEX")
        for line in wrong:
            self._found(line, mended=self.mend and not self._check())

    def _check(self) -> list[str]:
        return [line for (line,) in self.database.plain("PRAGMA integrity_check") if line != "ok"]

    def _register(self) -> None:
        """Every message is found by its id; the register is made anew where it is not so."""
        self.store.register.fill()
        if self.store.register.wrong():
            if self.mend:
                self.store.register.renew()
            self._found("the register of messages", mended=self.mend and not self.store.register.wrong())

    def _log(self) -> None:
        """Every line follows the one before, can be read, and every message is what its id says."""
        found = self.database.rows("session_names")
        self.names = {number: name.decode("utf-8", "replace") for number, _, name in found}
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
            self._found(f"{where}: {at - seq - 1} lines before it are missing")
        try:
            record = self.store.coding.read_record(data) if data is not None else None
            if isinstance(record, _VISIBLE) and now != version + 1 and at == seq + 1:
                self._found(f"{where}: it counts as version {now}, after {version}")
            if isinstance(record, Moved) and record.head is not None:
                self._head(tenant, record.head, where)
            if id is not None:
                self._entry(id, parent, entry, where)
        except FanfoldError as error:
            self._found(f"{where}: {error}")

    def _head(self, tenant: int, head: str, where: str) -> None:
        if not self.database.rows("entry", tenant, head.encode("utf-8", "surrogatepass")):
            self._found(f"{where}: the message {head[:12]} that it names is missing")

    def _entry(self, id: bytes, parent: bytes | None, data: bytes, where: str) -> None:
        name, above = id.decode(), parent.decode() if parent is not None else None
        entry = self.store.coding.read_entry(name, above, data)
        if entry.erased is None and entry_id(above, entry.message) != name:
            self._found(f"{where}: the message {name[:12]} is not what its id says")

    def _orphans(self) -> None:
        for (id,) in self.database.rows("orphans"):
            self._found(f"the message before {id.decode('utf-8', 'replace')[:12]} is missing")

    def _checkpoints(self) -> None:
        """A checkpoint only saves time: one that cannot be read is forgotten."""
        for session, body in self.database.rows("all_checkpoints"):
            try:
                self.store.coding.read_checkpoint(body)
            except StoreFailed:
                if self.mend:
                    self.database.do("forget_checkpoint", (session,))
                self._found(f"session {self.names.get(session, '?')!r}: its checkpoint", mended=self.mend)

    def _blobs(self) -> None:
        for tenant, id in self.database.rows("all_blobs"):
            self.blobs += 1
            try:
                for _ in self.store.get_blob(tenant.decode("utf-8", "surrogatepass"), id.decode()):
                    pass
            except FanfoldError as error:
                self._found(str(error))

    def _files(self) -> None:
        """Files that nobody needs: of a process that died while it took a blob in, or before it said so."""
        if not isinstance(self.store.files, BlobFiles):
            return
        with self.database.writing():  # nobody gives a blob its name meanwhile
            kept = {
                self.store.files.place(tenant.decode("utf-8", "surrogatepass"), id.decode())
                for tenant, id in self.database.rows("all_blobs")
            }
            for path in self.store.files.all():
                if path not in kept and (not is_unfinished(path) or _abandoned(path)):
                    if self.mend:
                        path.unlink(missing_ok=True)
                    self._found(f"{path.name[:24]} belonged to no blob", mended=self.mend)


def _abandoned(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED
    except FileNotFoundError:
        return False
