"""The register of an SQLite file: where each message lies, by its id, and which sessions came by each prefix
and name each message.

Ids come in no order, so an index would cost a page of the journal for each message. The register is filled for many
lines at once instead: when somebody asks for a message that is not in it, and when many lines wait. Two processes may
write the same message before it is filled; then the second copy is cleared away.
"""

from __future__ import annotations

from fanfold.stores.database import Database

MANY = 4_096
"""Lines of a session after which the register is filled, though nobody asked."""


_COPIES = ("shadow_register", "copy_register", "shadow_waiting", "copy_waiting", "shadow_track", "copy_track")


class Register:
    """Where messages lie, and which sessions' lines wait to be entered."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def expect(self, session: int, key: int) -> None:
        """From this line on, a session's lines wait; `add_line` writes for no other."""
        self._database.do("add_waiting", (session, key))

    def fill(self) -> bool:
        """Enter every message; False if there was none to enter."""
        with self._database.lock:
            tails = self._database.rows("tails")
            if not any(last is not None and last > key for _, key, last in tails):
                return False
            if self._database.look_only:
                # The file cannot be written, so go on in copies beside it, which stand in front of its own tables.
                for name in _COPIES:
                    self._database.do(name, ())
            with self._database.writing():
                for session, key, last in self._database.rows("tails"):
                    self._enter(session, key, last)
            return True

    def _enter(self, session: int, key: int, last: int | None) -> None:
        if last is None or last <= key:
            self._database.do("drop_waiting", (session,))
            return
        self._database.do("register_lines", (key, last))
        self._database.do("register_tracks", (key, last))
        if not self._database.look_only:
            self._database.do("register_references", (key, last))
            self._database.do("clear_doubles", (key, last))
        self._database.do("move_waiting", (session, last))

    def is_wrong(self) -> bool:
        """Whether it contradicts the lines, after all of them were entered."""
        return any(self._database.rows("unregistered")[0])

    def renew(self) -> None:
        """Make it again from the lines."""
        with self._database.writing():
            self._database.do("empty_register", ())
            self._database.do("register_lines", (0, (1 << 63) - 1))
            self._database.do("register_tracks", (0, (1 << 63) - 1))
            self._database.do("register_references", (0, (1 << 63) - 1))
