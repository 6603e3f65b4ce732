"""Writing the tables of a PostgreSQL schema anew, step by step, so that nothing is left of what was erased from them.

The server keeps what was updated or deleted in the pages of a table until something else is written there.
`VACUUM FULL` would get rid of it, and let nobody near the table meanwhile. Here rows are copied into a new table, some
at a time; a trigger repeats there what others write; then the new table takes the place of the old one, which takes a
moment.
"""

from __future__ import annotations

import time
from typing import Any

from fanfold.core.errors import Busy
from fanfold.stores.server import DatabaseServer

_KEYS = {
    "record": ("tenant", "session", "seq"),
    "entry": ("tenant", "id"),
    "checkpoint": ("tenant", "session"),
    "signature": ("tenant", "session", "block"),
    "piece": ("tenant", "blob", "number"),
}
_CONTENT = {
    "record": ("body", "token"),
    "entry": ("body",),
    "checkpoint": ("body",),
    "signature": ("bits",),
    "piece": ("data",),
}
"""The columns of which the server takes no samples: an erasure would not reach those."""
_MOST = {"piece": 8}
"""How many rows are copied in a step, where they are large."""
_ROWS = 1_000
_PATIENCE = "200ms"
"""How long a step waits for those who use a table: whoever comes after it waits as long."""


class TableCopies:
    """The rewriting of tables, by one process at a time."""

    def __init__(self, server: DatabaseServer, timeout: float) -> None:
        self._server = server
        self._timeout = timeout

    def rewrite(self, *tables: str) -> None:
        """Write some tables anew."""
        with self._server.connected() as connection:
            self._server.run(connection, "hold_rewriting")
            try:
                for table in tables:
                    self._rewrite(connection, table)
            finally:
                if not connection.closed:
                    self._server.run(connection, "release_rewriting")

    def rewrite_sessions(self) -> None:
        """Write the table of sessions anew, where summaries repeat labels."""
        with self._server.connected() as connection:
            self._server.run(connection, "rewrite_sessions")

    def _rewrite(self, connection: Any, table: str) -> None:
        key = _KEYS[table]
        words = {
            "table": table,
            "key": ", ".join(key),
            "names": ", ".join(f"'{name}'" for name in key),
            "backwards": ", ".join(f"{name} DESC" for name in key),
            "unsampled": ", ".join(f"ALTER {name} SET STATISTICS 0" for name in _CONTENT[table]),
            "most": str(_MOST.get(table, _ROWS)),
        }
        self._change(connection, "copy_table", words)
        after, last = "true", [()]
        while last := self._server.run(connection, "copy_rows", words | {"after": after}, last[0]):
            after = f"({words['key']}) > ({', '.join(['%s'] * len(key))})"
        self._change(connection, "swap_table", words)

    def _change(self, connection: Any, name: str, words: dict[str, str]) -> None:
        """Change a table, when nobody uses it for a moment."""
        until = time.monotonic() + self._timeout
        while True:
            try:
                self._server.run_script(connection, name, words | {"patience": _PATIENCE})
                return
            except Busy:
                if time.monotonic() > until:
                    raise
            self._server.pause(0.05)
