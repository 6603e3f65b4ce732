"""Sessions in which something was erased, known also while the store is down.

What was erased must not go out again, though a client sends it with every request. While the store works, a session
shows it. Whoever erases something also notes in which sessions (`stores/erasures.py`): beside an SQLite file, where it
is read here whenever it matters, or in the store, where it is read every few seconds while that works. So a
gateway knows what it may not pass on. One that never reached such a store since it started passes nothing on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from fanfold.core.errors import FanfoldError
from fanfold.stores.erasures import Erasures, erasures_file, note_erasure, read_erasures, read_lines
from fanfold.stores.locks import ThreadLock
from fanfold.stores.opening import parse_name
from fanfold.stores.store import Store

EVERY = 5.0
"""So many seconds pass until the list of a store across a network is read again."""


class Guard:
    """The sessions that are never passed on as the client has them."""

    def __init__(self, name: str, store: Callable[[], Store]) -> None:
        parsed = parse_name(name)
        self._store = store
        self._file: Path | None = erasures_file(parsed.file) if parsed.file is not None else None
        self._is_asked = parsed.is_server
        self.is_told = not parsed.is_server
        """Whether it is known in which sessions something was erased."""
        self._known: Erasures = frozenset()
        self._read = (0, float("-inf"))
        """Up to where the list of the store was read, and when."""
        self._lock = ThreadLock()

    def learn(self) -> None:
        """Read what was added to the list of a store across a network; raises `StoreFailed` while that is down."""
        with self._lock:
            end, when = self._read
            if not self._is_asked or monotonic() - when < EVERY:
                return
            new, end = read_erasures(self._store(), end)
            self._known, self._read, self.is_told = self._known | new, (end, monotonic()), True

    def add(self, tenant: str, name: str) -> None:
        """Keep that something was erased in a session: it was imported so, or an older release erased it."""
        if (tenant, name) in self._known:
            return
        self._known |= {(tenant, name)}
        try:
            note_erasure(self._store(), tenant, [name])
        except FanfoldError:
            return  # this process knows it at least

    def has(self, tenant: str, name: str) -> bool:
        """Whether something was erased in a session, as far as this process has heard."""
        return (tenant, name) in self._known

    def names(self, tenant: str, claim: str) -> bool:
        """Whether something was erased in a session that is named after what a client calls its own."""
        return any(owner == tenant and name.startswith(f"{claim}-") for owner, name in self.read())

    def concerns(self, tenant: str) -> bool:
        """Whether something was erased in any session of a tenant, or might have been."""
        return not self.is_told or any(owner == tenant for owner, _ in self.read())

    def read(self) -> Erasures:
        """All that is known by now; a file is read, for another process may have added to it."""
        if self._file is not None:
            self._known |= read_lines(self._file)
        return self._known
