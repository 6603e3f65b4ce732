"""Stores by name: `memory`, `sqlite:agent.db`."""

from __future__ import annotations

import threading
from pathlib import Path
from weakref import WeakValueDictionary

from fanfold.errors import BadSetting
from fanfold.stores.memory import Memory
from fanfold.stores.store import Store, Tenants

_open: WeakValueDictionary[Path, Tenants] = WeakValueDictionary()
_lock = threading.Lock()


def opened(store: Store | str | None) -> Store:
    """The store with this name; within a process the same name is the same store, as long as it is in use."""
    if store is None or store == "memory":
        return Memory()
    if not isinstance(store, str):
        return store
    kind, _, place = store.partition(":")
    if kind == "sqlite" and place:
        return _sqlite(Path(place).expanduser().absolute())
    raise BadSetting(f"There is no store {store!r}. Say `memory`, `sqlite:agent.db`, or give a store.")


def _sqlite(path: Path) -> Store:
    from fanfold.stores.sqlite import SQLite  # late: whoever stays in memory does not pay for it

    with _lock:
        store = _open.get(path)
        if store is None:
            store = _open[path] = SQLite(path)
            store.passing = True
    assert isinstance(store, SQLite)
    return store
