"""Stores by name: `memory`, `sqlite:agent.db`, `postgresql://…`, or what a plug-in offers; sealed by FANFOLD_KEY."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from fanfold.core.errors import BadSetting
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


class Name(NamedTuple):
    """The name of a store, taken apart."""

    kind: str
    place: str

    @property
    def file(self) -> Path | None:
        """The file that it names, if its kind is one of files."""
        return file_of(self.place) if self.kind == "sqlite" else None

    @property
    def is_server(self) -> bool:
        """Whether it is across a network."""
        return self.kind in _SERVERS


def named(store: str) -> Name:
    """What the name of a store says; nothing is looked for."""
    name = Name(*store.partition(":")[::2])
    if name == ("sqlite", ":memory:"):
        raise BadSetting("For a store in memory, say `memory`; `sqlite:` names a file.")
    if name == ("sqlite", "") or (name.is_server and not name.place.startswith("//")):
        raise _no_store(store)
    return name


def _no_store(store: str) -> BadSetting:
    return BadSetting(
        f"There is no store {store!r}. Say `memory`, `sqlite:agent.db`, `postgresql://…`, or give a store."
    )


def opened(store: Store | str | None) -> Store:
    """The store with this name; within a process the same name is the same store, as long as it is in use."""
    if store is None or store == "memory":
        return Memory()
    if not isinstance(store, str):
        return store
    name = named(store)
    if name.file is not None:
        return _sqlite(name.file.absolute())
    if name.is_server:
        return _postgres(store)
    made = plugin("stores", name.kind)
    if made is None:
        raise _no_store(store)
    return made(name.place)  # type: ignore[no-any-return]


def opened_alone(store: str) -> SQLite | Postgres:
    """The store with this name, which nobody else in this process uses: its key may be changed."""
    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite

    name = named(store)
    if name.is_server:
        return Postgres(store, key=key_told())
    if name.file is None:
        raise BadSetting(f"{store} is a store of a kind that is not sealed with a key.")
    return SQLite(name.file.absolute(), key=key_told())


def is_there(store: Store | str | None) -> bool:
    """Whether a store may have sessions already; to look makes no file."""
    if not isinstance(store, str):
        return store is not None
    file = named(store).file
    return store != "memory" and (file is None or file.exists())


def is_remote(store: Store | str | None) -> bool:
    """Whether a store is across a network, so that asyncio waits for it beside the loop."""
    if isinstance(store, str):
        return named(store).is_server
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
