"""Where work on sessions is done: what is short in the event loop itself, all else in threads beside it.

To hand work over to a thread, and what came of it back, takes about as long as most of this work. So where a session is
live, its store is on this machine and nobody else writes, a few new messages are adopted and recorded at once. What may
wait for a network, a disk or somebody else, or has much text to count, never holds up the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import ParamSpec, TypeVar

from fanfold.core.errors import Busy
from fanfold.session.pool import Pool
from fanfold.session.threads import Threads
from fanfold.stores.sqlite import SQLite

P = ParamSpec("P")
T = TypeVar("T")
WORK = Threads("gateway", 8)
SHORT = 16 << 10
"""So many bytes of messages are taken in within a millisecond or two."""


def do_now(
    pool: Pool, session: tuple[str, str], size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do something with so many bytes of messages in a session of this tenant and name; `Busy` if that may wait."""
    tenant, name = session
    store = pool.store if size <= SHORT and pool.has_free(name, tenant=tenant) else None
    if store is None or store.remote:
        raise Busy
    with store.database.at_once() if isinstance(store, SQLite) else nullcontext():
        return work(*args, **kwargs)


async def run_short(
    pool: Pool, session: tuple[str, str], size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """The same at once, if that may be, and else in a thread."""
    with suppress(Busy):
        return do_now(pool, session, size, work, *args, **kwargs)
    return await WORK.run(work, *args, **kwargs)


def settle(pool: Pool) -> None:
    """Have done what a write in the event loop would else wait for."""
    store = pool.store
    if isinstance(store, SQLite):
        store.database.move_journal()
