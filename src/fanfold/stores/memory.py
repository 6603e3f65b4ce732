"""Everything in this process, nothing on disk."""

from __future__ import annotations

import threading

from fanfold.log import Log, Tree


class Tenant:
    """The entries of one tenant and its sessions' logs; nothing is shared between tenants."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.logs: dict[str, Log] = {}
        self.states: dict[str, object] = {}
        """The sessions that are open, by name."""
        self.lock = threading.RLock()

    def log(self, name: str) -> Log:
        """The log of a session; a new one if there is none yet."""
        return self.logs.setdefault(name, Log(self.tree))


class Memory:
    """A store in memory. Sessions opened on the same one share entries, and can be opened again."""

    def __init__(self) -> None:
        self._tenants: dict[str, Tenant] = {}

    def tenant(self, name: str) -> Tenant:
        """The tenant with this name."""
        return self._tenants.setdefault(name, Tenant())
