"""SQL in files, a sentence each: the statements of a kind of database, and the migrations that make its schema."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

from fanfold.core.errors import StoreFailed

Kind = Literal["sqlite", "postgres"]
_SQL = resources.files("fanfold.stores") / "sql"


@cache
def statement(kind: Kind, name: str) -> str:
    """The SQL statement with this name."""
    return (_SQL / kind / f"{name}.sql").read_text(encoding="utf-8")


@cache
def migrations(kind: Kind) -> tuple[str, ...]:
    """The scripts that make the present schema, in order; a database counts those that it has seen."""
    folder = _SQL / kind / "migrations"
    names = sorted(file.name for file in folder.iterdir() if file.name.endswith(".sql"))
    return tuple((folder / name).read_text(encoding="utf-8") for name in names)


def refuse_newer(kind: Kind, place: object, seen: int) -> None:
    """Refuse what a later release wrote."""
    known = len(migrations(kind))
    if seen > known:
        raise StoreFailed(
            f"{place} has schema {seen}, this release of fanfold knows {known}. "
            "Update fanfold, or use the release that wrote it."
        )
