"""Writing the tables of an SQLite file anew, step by step, so that nothing is left of what was erased from them.

SQLite overwrites what is deleted, but it leaves copies behind: where rows were moved from page to page, the pages keep
what stood there. `VACUUM` would get rid of these, in one transaction during which nobody else can write. Here each step
is a short one: rows are copied into a new table, triggers repeat there what others write meanwhile, the tables change
names, and the old one is emptied. Its pages are overwritten when they are freed.

How far it came stands in the file. So whoever is killed leaves nothing that the next one cannot take up, and two who
do it at once do it together.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from fanfold.stores.database import Database

TABLES = {
    "line": "coalesce(length(record), 0) + coalesce(length(message), 0)",
    "checkpoint": "length(body)",
    "blob": "coalesce(length(data), 0)",
    "signature": "length(bits)",
}
"""The tables that hold content, and how much a row of each holds."""
_ROWS, _BYTES = 500, 1 << 20
"""Of so many rows, and of so many bytes, is each step at most: others wait for it."""
_FIRST = -(1 << 63)
_LEAST_PAUSE = 0.002
"""Seconds between two steps: others wait for their turn in their sleep, so there must be time to wake up."""


class Progress(NamedTuple):
    """How far the rewriting is."""

    begun: int
    """How often it was begun."""
    done: int
    """How often it was done; one less while it is under way."""
    copying: bool
    """Whether rows are copied; else the old ones are cleared away."""
    table: int
    """The number of the table that is being copied or cleared away."""
    after: int
    """The last row that was copied."""


class Rewriting:
    """The rewriting of one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(self) -> None:
        """Write all tables anew; what somebody else began before does not count."""
        needed = self._progress().begun + 1
        while self._progress().done < needed:
            started = time.monotonic()
            with self._database.writing():
                self._go_on()
            time.sleep(max(_LEAST_PAUSE, time.monotonic() - started))
        self._database.empty_journal()

    def _progress(self) -> Progress:
        return Progress(*self._database.rows("rewriting")[0])

    def _go_on(self) -> None:
        """One step, as part of a transaction."""
        now = self._progress()
        if now.done == now.begun:
            self._begin()
            now = Progress(now.begun + 1, now.done, copying=True, table=0, after=_FIRST)
        elif now.copying:
            now = self._copy(now)
        else:
            now = self._clear(now)
        self._database.do("keep_rewriting", now)

    def _begin(self) -> None:
        schemas = {name: sql for name, sql in self._database.rows("schemas") if name in TABLES}
        for table in TABLES:
            named = re.sub(r'^CREATE TABLE\s+"?\w+"?', f"CREATE TABLE {table}_next", schemas[table])
            self._database.plain(named)
            for statement in ("mirror_inserts", "mirror_updates", "mirror_deletes"):
                self._database.on_table(statement, table)

    def _copy(self, now: Progress) -> Progress:
        table = list(TABLES)[now.table]
        last = self._last_of_some(table, table, now.after)
        if last is not None:
            self._database.on_table("copy_rows", table, now.after, last)
            return now._replace(after=last)
        if now.table + 1 < len(TABLES):
            return now._replace(table=now.table + 1, after=_FIRST)
        for name in TABLES:
            for statement in ("drop_insert_mirror", "drop_update_mirror", "drop_delete_mirror"):
                self._database.on_table(statement, name)
            self._database.on_table("rename_old", name)
            self._database.on_table("rename_next", name)
        return now._replace(copying=False, table=0)

    def _clear(self, now: Progress) -> Progress:
        table = list(TABLES)[now.table]
        last = self._last_of_some(table, f"{table}_old", _FIRST)
        if last is not None:
            self._database.on_table("clear_old", f"{table}_old", last)
            return now
        self._database.on_table("drop_old", table)
        is_last = now.table + 1 == len(TABLES)
        return now._replace(table=now.table + 1, done=now.begun if is_last else now.done)

    def _last_of_some(self, table: str, place: str, after: int) -> int | None:
        """The last of the next rows of a table, which is in this place; None where there are no more."""
        found = self._database.on_table("last_to_copy", place, after, _ROWS, _BYTES, size=TABLES[table])
        last: int | None = found[0][0]
        return last
