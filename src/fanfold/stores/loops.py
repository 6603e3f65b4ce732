"""Connections to a PostgreSQL server that an event loop waits for: psycopg's async pool, used by fibers.

To the code that uses them they look like those of a thread. A pool belongs to one event loop, and is closed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from fanfold.stores.fibers import current, entered, wait

if TYPE_CHECKING:
    import asyncio

    import psycopg
    import psycopg_pool

    AsyncConnection = psycopg.AsyncConnection[tuple[Any, ...]]

_closing: set[asyncio.Future[None]] = set()
"""Pools that are being closed while nobody waits for it."""


class FetchedRows(NamedTuple):
    """What a statement found."""

    rows: list[tuple[Any, ...]]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""
        return self.rows


class AwaitedConnection:
    """A connection for the fibers of an event loop."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.awaited = connection

    @property
    def closed(self) -> bool:
        """Whether it is closed or lost."""
        return self.awaited.closed

    def execute(self, sql: str, values: Any = None, *, binary: bool = False) -> FetchedRows:
        """Run a statement, and fetch all that it found."""
        return wait(self._execute(sql, values, binary))

    async def _execute(self, sql: Any, values: Any, binary: bool) -> FetchedRows:
        cursor = await self.awaited.execute(sql, values, binary=binary)
        found = cursor.pgresult
        return FetchedRows(await cursor.fetchall() if found is not None and found.nfields else [])

    def transaction(self) -> AbstractContextManager[object]:
        """All inside is one transaction."""
        return entered(self.awaited.transaction())


@cache
def pool_class() -> type[psycopg_pool.AsyncConnectionPool[Any]]:
    """psycopg's pool, with workers that end when they are cancelled.

    `asyncio.run` cancels all tasks at its end, and waits for them. A worker of psycopg that is cancelled while it
    connects takes that for a failed connection and goes on (seen in psycopg-pool 3.3.3): the program would never end.
    """
    from psycopg_pool import AsyncConnectionPool

    class EndingPool(AsyncConnectionPool[Any]):
        @classmethod
        async def worker(cls, q: Any) -> None:
            await super().worker(_TasksOfAWorker(q))  # type: ignore[arg-type]

    return EndingPool


class _TasksOfAWorker(NamedTuple):
    """The queue that a worker takes its tasks from, for as long as nobody has cancelled it."""

    tasks: asyncio.Queue[Any]

    async def get(self) -> Any:
        from asyncio import CancelledError, current_task

        worker = current_task()
        if worker is not None and worker.cancelling():
            raise CancelledError
        return await self.tasks.get()


class AwaitedPool:
    """The connections of one event loop."""

    def __init__(self, make: Callable[..., psycopg_pool.AsyncConnectionPool[Any]], lock_timeout: int) -> None:
        from asyncio import get_running_loop  # late: whoever stays synchronous does not pay for it

        self.loop = get_running_loop()
        self._lock_timeout = lock_timeout
        self._connections: WeakSet[AsyncConnection] = WeakSet()
        self._pool = make(configure=self._prepare, open=False)
        wait(self._pool.open())

    async def _prepare(self, connection: AsyncConnection) -> None:
        self._connections.add(connection)
        await connection.execute(f"SET lock_timeout = {self._lock_timeout}")

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._pool.closed

    def getconn(self) -> AwaitedConnection:
        """A connection that nobody else uses."""
        return AwaitedConnection(wait(self._pool.getconn()))

    def putconn(self, connection: AwaitedConnection) -> None:
        """Give it back."""
        wait(self._pool.putconn(connection.awaited))

    def close(self) -> None:
        """Close all connections, from wherever it is called."""
        import asyncio

        if self.loop.is_closed():
            self._cut()
        elif current() is not None and _runs_here(self.loop):
            wait(self._pool.close())
        elif not self.loop.is_running():
            with suppress(RuntimeError):  # another loop runs in this thread
                self.loop.run_until_complete(self._pool.close())
            self._cut()
        elif _runs_here(self.loop):
            closing = asyncio.ensure_future(self._pool.close())
            _closing.add(closing)
            closing.add_done_callback(_closing.discard)
        else:
            asyncio.run_coroutine_threadsafe(self._pool.close(), self.loop).result()

    def _cut(self) -> None:
        """Close the connections where no event loop is left that could."""
        for connection in list(self._connections):
            connection.pgconn.finish()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    from asyncio import get_running_loop

    try:
        return get_running_loop() is loop
    except RuntimeError:
        return False


@contextmanager
def connected_alone(connecting: Any) -> Iterator[AwaitedConnection]:
    """One connection beside the pool, for the time of this."""
    connection = wait(connecting)
    try:
        yield AwaitedConnection(connection)
    finally:
        wait(connection.close())
