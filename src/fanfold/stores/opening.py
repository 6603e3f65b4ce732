"""Stores by name: `memory`, `sqlite:agent.db`, `postgresql://…`, or what a plug-in offers; sealed by FANFOLD_KEY."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from fanfold.errors import BadSetting
from fanfold.plugins import plugin
from fanfold.stores.memory import Memory
from fanfold.stores.store import Store, Tenants

if TYPE_CHECKING:
    from pathlib import Path

    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite

S = TypeVar("S", bound=Tenants)
_open: WeakValueDictionary[tuple[str, str | None], Tenants] = WeakValueDictionary()
"""The stores in use, by name and key."""
_lock = threading.Lock()
_SERVERS = ("postgresql", "postgres")


def opened(store: Store | str | None) -> Store:
    """The store with this name; within a process the same name is the same store, as long as it is in use."""
    if store is None or store == "memory":
        return Memory()
    if not isinstance(store, str):
        return store
    kind, _, place = store.partition(":")
    if kind == "sqlite" and place == ":memory:":
        raise BadSetting("For a store in memory, say `memory`; `sqlite:` names a file.")
    if kind == "sqlite" and place:
        return _sqlite(file_of(place).absolute())
    if kind in _SERVERS and place.startswith("//"):
        return _postgres(store)
    made = plugin("stores", kind)
    if made is not None:
        return made(place)  # type: ignore[no-any-return]
    raise BadSetting(
        f"There is no store {store!r}. Say `memory`, `sqlite:agent.db`, `postgresql://…`, or give a store."
    )


def opened_alone(store: str) -> SQLite | Postgres:
    """The store with this name, which nobody else in this process uses: its key may be changed."""
    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite

    kind, _, place = store.partition(":")
    if kind in _SERVERS:
        return Postgres(store, key=key_told())
    if kind != "sqlite" or not place:
        raise BadSetting(f"{store} is a store of a kind that is not sealed with a key.")
    return SQLite(file_of(place).absolute(), key=key_told())


def is_there(store: Store | str | None) -> bool:
    """Whether a store may have sessions already; to look makes no file."""
    if not isinstance(store, str):
        return store is not None
    kind, _, place = store.partition(":")
    return store != "memory" and (kind != "sqlite" or not place or file_of(place).exists())


def is_remote(store: Store | str | None) -> bool:
    """Whether a store is across a network, so that asyncio waits for it beside the loop."""
    if isinstance(store, str):
        return store.partition(":")[0] in _SERVERS
    return store is not None and store.remote


def file_of(place: str) -> Path:
    """The file that a name of a SQLite store means."""
    from pathlib import Path  # late: it takes its time

    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        raise BadSetting(f"Nobody's home is known for {place}; write the whole path.") from error


def _sqlite(path: Path) -> Store:
    from fanfold.stores.sqlite import SQLite  # late: whoever stays in memory does not pay for it

    return _shared(str(path), SQLite, lambda key: SQLite(path, key=key))


def _postgres(url: str) -> Store:
    from fanfold.stores.postgres import Postgres

    return _shared(url, Postgres, lambda key: Postgres(url, key=key))


def key_told() -> str | None:
    """The key of stores that are told by name: a secret has no place in a name."""
    return os.environ.get("FANFOLD_KEY") or None


def _shared(name: str, kind: type[S], made: Callable[[str | None], S]) -> S:
    key = key_told()
    with _lock:
        store = _open.get((name, key))
        if store is None:
            store = _open[name, key] = made(key)
            store.passing = True
    assert isinstance(store, kind)
    return store
