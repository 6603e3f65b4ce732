"""Where the log of a session ends in an SQLite file."""

from __future__ import annotations

from typing import NamedTuple

from fanfold.core.errors import Corrupt
from fanfold.stores.sealing import LINES
from fanfold.stores.store import written_first


class LogEnd(NamedTuple):
    """A session in the file, and where its log ended when it was last seen."""

    tenant: int
    number: int
    seq: int
    version: int
    since: int
    """From this line on, its messages wait for the register."""

    def key(self, seq: int) -> int:
        """The key of a line."""
        return self.number * LINES + seq

    def moved_to(self, key: int, version: int) -> LogEnd:
        """The same session, whose log ends with the line of this key now."""
        seq = key - self.key(0)
        return self._replace(seq=seq, version=version, since=seq)

    def expect(self, session: str, version: int | None) -> None:
        """Refuse to write if somebody else wrote first; None expects nothing."""
        if version is not None and self.version != version:
            raise written_first(session, self.version, version)

    def check(self, session: str) -> None:
        """Refuse to go on from a line that is damaged."""
        if not isinstance(self.version, int):
            raise Corrupt(f"The last line of the session {session!r} is damaged. Bring back a copy.")
