"""The doctor: looks a store over, repairs what can be repaired, and says what cannot."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from fanfold.core.errors import BadInput, NotFound, Sealed, StoreFailed
from fanfold.plugins import plugin
from fanfold.stores.doctor import sqlite
from fanfold.stores.doctor.report import Finding, Report
from fanfold.stores.memory import Memory
from fanfold.stores.opening import file_of, is_remote, key_from_environment
from fanfold.stores.sqlite import SQLite

__all__ = ["Finding", "Report", "doctor"]

if TYPE_CHECKING:
    from fanfold.stores.postgres import Postgres


def doctor(store: SQLite | Postgres | str | Path, *, repair: bool = True, clear: bool = False) -> Report:
    """Check a store: its file, every record, every message against its id, every blob against its hash.

    Files that belong to no blob are reported, and deleted only with `clear`: after a loss they may be all that is left.
    """
    if isinstance(store, Memory) or store == "memory":
        raise BadInput("The doctor looks after files and servers, not after what is in memory.")
    try:
        on_server = is_remote(store) if isinstance(store, str) else hasattr(store, "server")
        return (_visit_server if on_server else _visit_file)(store, repair=repair, clear=clear)
    except (NotFound, Sealed):
        raise
    except StoreFailed as error:
        return Report(str(getattr(store, "file", store)), (Finding(str(error)),))


def _visit_file(store: object, *, repair: bool, clear: bool) -> Report:
    if isinstance(store, SQLite):
        return sqlite.look_over(store, repair=repair, clear=clear)
    kind = store.partition(":")[0] if isinstance(store, str) else ""
    if not isinstance(store, str | Path) or plugin("stores", kind) is not None:
        raise BadInput(
            f"The doctor knows SQLite files and PostgreSQL servers; {store!r} is a store of another kind."
        )
    path = file_of(str(store).removeprefix("sqlite:"))
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    with closing(SQLite(path, key=key_from_environment())) as opened:
        return sqlite.look_over(opened, repair=repair, clear=clear)


def _visit_server(store: object, *, repair: bool, clear: bool) -> Report:
    from fanfold.stores.doctor import postgres
    from fanfold.stores.postgres import Postgres

    if isinstance(store, Postgres):
        return postgres.look_over(store, repair=repair, clear=clear)
    with closing(Postgres(str(store), key=key_from_environment())) as opened:
        return postgres.look_over(opened, repair=repair, clear=clear)
