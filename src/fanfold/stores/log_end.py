"""The lines of an SQLite file, and where the log of a session ends in it."""

from __future__ import annotations

from typing import NamedTuple

from fanfold.core.errors import Corrupt
from fanfold.core.record import Record
from fanfold.stores.sealing import LINES
from fanfold.stores.store import written_first

Line = tuple[Record | None, int | None, int | None, bytes | None, bytes | None, bytes | None]
"""A record, the prefix and the entry that it moves the head to; beside it an entry: its id, its parent's, its content.

Either may be missing.
"""
COLUMNS = 10
"""So many values a line has as it is kept; when it is written, what was seen before it follows."""


class LogEnd(NamedTuple):
    """A session in the file, and where its log ended when it was last seen."""

    tenant: int
    number: int
    seq: int
    version: int
    since: int
    """From this line on, its messages wait for the register."""
    refer: int | None = None
    """The number of the message that its last line moves the head to."""

    def key(self, seq: int) -> int:
        """The key of a line."""
        return self.number * LINES + seq

    def moved_to(self, key: int, version: int, refer: int | None) -> LogEnd:
        """The same session, whose log ends with the line of this key now."""
        seq = key - self.key(0)
        return self._replace(seq=seq, version=version, since=seq, refer=refer)

    def expect(self, session: str, version: int | None) -> None:
        """Refuse to write if somebody else wrote first; None expects nothing."""
        if version is not None and self.version != version:
            raise written_first(session, self.version, version)

    def expect_seen(self, session: str, seen: LogEnd | None) -> None:
        """Refuse to write after another line than the one that was seen here: the file was restored from a copy."""
        if seen is not None and (self.seq < seen.seq or (self.seq == seen.seq and self.refer != seen.refer)):
            raise written_first(session, self.version, seen.version)

    def check(self, session: str) -> None:
        """Refuse to go on from a line that is damaged."""
        if not isinstance(self.version, int):
            raise Corrupt(f"The last line of the session {session!r} is damaged. Bring back a copy.")
