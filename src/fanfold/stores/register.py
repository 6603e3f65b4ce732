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
        """Enter every message, some in each transaction; False if there was none to enter."""
        tails = self._database.rows("tails")
        waiting = [(session, last) for session, key, last in tails if last is not None and last > key]
        if not waiting:
            return False
        if self._database.look_only:
            # The file cannot be written, so go on in copies beside it, which stand in front of its own tables.
            for name in _COPIES:
                self._database.do(name, ())
        self._drop_idle()
        for session, last in waiting:
            while self._enter_some(session, last):
                pass
        return True

    def _drop_idle(self) -> None:
        """Nobody seems to write any more to the sessions that have nothing to enter."""
        with self._database.writing():
            for session, key, last in self._database.rows("tails"):
                if last is None or last <= key:
                    self._database.do("drop_waiting", (session,))

    def _enter_some(self, session: int, last: int) -> bool:
        """Enter some of a session's lines, up to the last; returns whether more are left."""
        with self._database.writing():
            found = self._database.rows("waiting", session)
            key = found[0][0] if found else last
            upto = min(key + MANY, last)
            if upto > key:
                self._enter(session, key, upto)
            return upto < last

    def _enter(self, session: int, key: int, last: int) -> None:
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
