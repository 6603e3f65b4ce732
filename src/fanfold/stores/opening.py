"""Stores by name: `memory`, `sqlite:agent.db`, `postgresql://…`, or what a plug-in offers; sealed by FANFOLD_KEY."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from fanfold.core.errors import BadSetting
from fanfold.plugins import plugin
from fanfold.stores.fibers import FiberLock, can_run
from fanfold.stores.memory import Memory
from fanfold.stores.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from fanfold.stores.postgres import Postgres
    from fanfold.stores.sqlite import SQLite

_open: WeakValueDictionary[tuple[str, str | None], SQLite | Postgres] = WeakValueDictionary()
"""The stores in use, by name and key."""
_lock = FiberLock()
_SERVERS = ("postgresql", "postgres")


class StoreName(NamedTuple):
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


def parse_name(store: str) -> StoreName:
    """What the name of a store says; nothing is looked for."""
    name = StoreName(*store.partition(":")[::2])
    if name == ("sqlite", ":memory:"):
        raise BadSetting("For a store in memory, say `memory`; `sqlite:` names a file.")
    if name == ("sqlite", "") or (name.is_server and not name.place.startswith("//")):
        raise _no_store(store)
    return name


def _no_store(store: str) -> BadSetting:
    meant = "" if ":" in store or not store else f" Did you mean `sqlite:{store}`?"
    return BadSetting(f"There is no store {store!r}.{meant} Say `memory`, `sqlite:FILE` or `postgresql://…`.")


def open_store(store: Store | str | None) -> Store:
    """The store with this name; within a process the same name is the same store, as long as it is in use."""
    if store is None or store == "memory":
        return Memory()
    if not isinstance(store, str):
        return store
    name = parse_name(store)
    if name.file is None and not name.is_server:
        made = plugin("stores", name.kind)
        if made is None:
            raise _no_store(store)
        return made(name.place)  # type: ignore[no-any-return]
    key = key_from_environment()
    with _lock:
        known = store if name.file is None else str(name.file.absolute())
        shared = _open.get((known, key))
        if shared is None:
            shared = _open[known, key] = open_alone(store)
            shared.passing = True
    return shared


def open_alone(store: str) -> SQLite | Postgres:
    """The store with this name, which nobody else in this process uses: its key may be changed."""
    name = parse_name(store)
    if name.is_server:
        from fanfold.stores.postgres import Postgres

        return Postgres(store, key=key_from_environment())
    if name.file is None:
        raise BadSetting(f"{store} is a store of a kind that is not sealed with a key.")
    from fanfold.stores.sqlite import SQLite  # late: whoever stays in memory does not pay for it

    return SQLite(name.file.absolute(), key=key_from_environment())


def is_there(store: Store | str | None) -> bool:
    """Whether a store may have sessions already; looking makes no file."""
    if not isinstance(store, str):
        return store is not None
    file = parse_name(store).file
    return store != "memory" and (file is None or file.exists())


def is_remote(store: Store | str | None) -> bool:
    """Whether a store is across a network, so that asyncio waits for it beside the loop."""
    if isinstance(store, str):
        return parse_name(store).is_server
    return store is not None and store.remote


def is_awaited(store: Store | str | None) -> bool:
    """Whether a store across a network is waited for in the event loop, in fibers, and not in threads."""
    if isinstance(store, str):
        return parse_name(store).is_server and can_run()
    return store is not None and getattr(store, "awaits", False)


def file_of(place: str) -> Path:
    """The file that a name of a SQLite store means."""
    from pathlib import Path  # late: it takes its time

    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        raise BadSetting(f"Nobody's home is known for {place}; write the whole path.") from error


def key_from_environment() -> str | None:
    """The key of stores that are opened by name, because a secret has no place in a name."""
    return os.environ.get("FANFOLD_KEY") or None
