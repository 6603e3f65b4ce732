"""Sessions in which something was erased, known also while the store is down.

What was erased must not go out again, though a client sends it with every request. While the store works, a session
shows it. Its name is kept in a file beside the store as well, so that a gateway that starts while the store is down
knows what it may not pass on. Nothing that was said is in the file.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import msgspec

Guarded = set[tuple[str, str]]
"""Sessions, by tenant and name."""


class Guard:
    """The sessions that are never passed on as the client has them, as far as gateways here have seen them."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known = self._read()

    def add(self, tenant: str, name: str) -> None:
        """Keep that something was erased in a session."""
        with self._lock:
            if (tenant, name) in self._known:
                return
            self._known |= self._read() | {(tenant, name)}
            self._write()

    def has(self, tenant: str, name: str | None = None) -> bool:
        """Whether something was erased in a session, or, where none is known, in any one of the tenant."""
        if name is not None:
            return (tenant, name) in self._known
        return any(owner == tenant for owner, _ in self._known)

    def _read(self) -> Guarded:
        """What the file says; another process may have added to it."""
        if self._path is not None:
            with suppress(OSError, msgspec.MsgspecError):
                return msgspec.json.decode(self._path.read_bytes(), type=Guarded)
        return set()

    def _write(self) -> None:
        """Write the file anew; where that is impossible, this process knows it at least."""
        if self._path is None:
            return
        with suppress(OSError):
            new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            new.write_bytes(msgspec.json.encode(sorted(self._known)))
            os.replace(new, self._path)


def guard_path(store: str) -> Path | None:
    """Where the file is: beside the store; nowhere for a store in memory."""
    if store.startswith("sqlite:"):
        return Path(store.removeprefix("sqlite:")).with_suffix(".guarded.json")
    return Path("fanfold.guarded.json") if "://" in store else None
