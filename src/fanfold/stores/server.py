"""One schema on a PostgreSQL server: connections are pooled, old schemas migrated, failures named."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import BadSetting, Busy, Corrupt, Full, MissingExtra, StoreFailed
from fanfold.stores.fibers import FiberLock, current, wait
from fanfold.stores.locks import ThreadLock
from fanfold.stores.scripts import migrations, refuse_newer, statement

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

    from fanfold.stores.loops import AwaitedConnection, AwaitedPool

    Connection = psycopg.Connection[tuple[Any, ...]] | AwaitedConnection
    Pool = psycopg_pool.ConnectionPool[psycopg.Connection[tuple[Any, ...]]] | AwaitedPool

_left_behind: list[object] = []
"""Pools that a forked child inherited. It neither uses nor closes them: either would disturb its parent."""
_ALIVE = {
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""A server that went away without a word is noticed within a minute."""


@cache
def _within(schema: str, sql: str) -> str:
    """SQL for this schema."""
    return re.sub(r"\bfanfold\b", schema, sql)


class _AtWork(threading.local):
    """What belongs to this thread: the connection of the transaction that it is in."""

    def __init__(self) -> None:
        self.kept: dict[object, Any] = {}


class DatabaseServer:
    """The pools of one process: one for its threads, and one for each event loop, whose verbs wait in fibers.

    Each is made when needed: also after `close`, in a fork, and when the server is back.
    """

    def __init__(self, url: str, schema: str, connections: int, timeout: float) -> None:
        try:
            import psycopg
            import psycopg_pool
        except ImportError:
            raise MissingExtra(
                "To keep sessions in PostgreSQL, run: pip install 'fanfold[postgres]'"
            ) from None
        # Whoever configures logging sees the library's warnings; nobody else finds them on the screen.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
        self._psycopg: Any = psycopg
        self._pools: Any = psycopg_pool
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema):
            raise BadSetting(f"A schema is a short name in small letters, not {schema!r}.")
        if connections < 1:
            raise BadSetting(f"A pool has at least one connection, not {connections}.")
        self.place, self._info = self._parse(url, timeout)
        self._schema = schema
        self._connections = connections
        self._timeout = timeout
        self._lock = ThreadLock()
        self._opening = FiberLock()
        self._pool: Pool | None = None
        self._loops: list[AwaitedPool] = []
        self._pid = 0
        self._at_work = _AtWork()

    def rows(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a statement finds. It is sent again if the connection was lost, so it may run twice.

        While this thread or fiber is `writing`, it is part of that transaction.
        """
        return self._ask(name, values, values)

    def rows_once(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """The same for a statement that must not be done twice: `asked` tells it whether it was sent before."""
        return self._ask(name, values | {"asked": False}, values | {"asked": True})

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection for several statements, each a transaction of its own."""
        with self._named_failures(), self._connected(self.pool()) as connection:
            yield connection

    def run(
        self,
        connection: Connection,
        name: str,
        words: dict[str, str] | None = None,
        values: Sequence[Any] = (),
    ) -> list[tuple[Any, ...]]:
        """What a statement finds, over this connection, with some words put in."""
        with self._named_failures():
            cursor = connection.execute(self._sql(name, words or {}), values or None, binary=True)
            return _fetch_all(cursor)

    def run_script(self, connection: Connection, name: str, words: dict[str, str]) -> None:
        """Run several statements as one transaction, with some words put in."""
        with self._named_failures(), connection.transaction():
            connection.execute(self._sql(name, words))

    def _sql(self, name: str, words: dict[str, str]) -> Any:
        sql = _within(self._schema, statement("postgres", name))
        for word, put in words.items():
            sql = sql.replace(f"{{{word}}}", put)
        return sql

    def pause(self, seconds: float) -> None:
        """Wait a little: in a fiber, others go on meanwhile."""
        if current() is None:
            time.sleep(seconds)
        else:
            from asyncio import sleep

            wait(sleep(seconds))

    def _ask(self, name: str, values: dict[str, Any], again: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._named_failures():
            if self._connection is not None:
                return self._run(self._connection, name, values)
            pool = self.pool()
            try:
                with self._connected(pool) as connection:
                    return self._run(connection, name, values)
            except self._psycopg.OperationalError:
                if not pool.closed:
                    raise
            with self._connected(self.pool()) as connection:
                return self._run(connection, name, again)

    def _run(self, connection: Connection, name: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        sql: Any = _within(self._schema, statement("postgres", name))
        cursor = connection.execute(sql, values or None, binary=True)
        return _fetch_all(cursor)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything inside is written as one, or not at all; inside another one it is part of that.

        What the same thread reads meanwhile goes over the same connection. If it waited for another one, as many
        threads as there are connections would wait for each other.
        """
        if self._connection is not None:
            yield
            return
        with self._named_failures(), self._connected(self.pool()) as connection, connection.transaction():
            kept = self._kept
            kept[self] = connection
            try:
                yield
            finally:
                del kept[self]

    @property
    def _kept(self) -> dict[object, Any]:
        """What belongs to this thread or fiber."""
        return (current() or self._at_work).kept

    @property
    def _connection(self) -> Connection | None:
        """The connection of the transaction that this thread or fiber is in."""
        return self._kept.get(self)

    @contextmanager
    def _connected(self, pool: Pool) -> Iterator[Connection]:
        """A connection. If it is lost, all others are given up too: the server was restarted or is away."""
        connection: Any = pool.getconn()
        try:
            yield connection
        finally:
            lost = connection.closed
            pool.putconn(connection)
            if lost:
                with self._lock:
                    self._pool = None if self._pool is pool else self._pool
                    self._loops = [one for one in self._loops if one is not pool]
                pool.close()

    def pool(self) -> Pool:
        """The pool of this process; in a fiber, that of its event loop."""
        if current() is not None:
            return self._pool_of_loop()
        with self._lock:
            if self._pool is None or self._pid != os.getpid():
                self._open()
            assert self._pool is not None
            return self._pool

    def _open(self) -> None:
        """One connection first: it says at once what is wrong, and brings the schema up to date."""
        self._forget_parents()
        with self._named_failures(), self._psycopg.connect(self._info, autocommit=True) as connection:
            self._migrate(connection)
        self._pool = self._pools.ConnectionPool(
            self._info,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=self._connections,
            timeout=self._timeout,
            configure=lambda one: one.execute(f"SET lock_timeout = {self._lock_timeout}"),
            open=True,
        )

    @property
    def _lock_timeout(self) -> int:
        """In milliseconds, as the server has it."""
        return int(self._timeout * 1000)

    def _forget_parents(self) -> None:
        """A forked child begins anew; pools of event loops that are gone are closed."""
        if self._pid != os.getpid():
            _left_behind.extend([self._pool, *self._loops])
            self._pool, self._loops, self._pid = None, [], os.getpid()
        for one in [one for one in self._loops if one.loop.is_closed()]:
            self._loops.remove(one)
            one.close()

    def _pool_of_loop(self) -> AwaitedPool:
        """The pool of the running event loop. Here too, one connection comes first."""
        from asyncio import get_running_loop

        from fanfold.stores.loops import AwaitedPool, connected_alone, pool_class

        loop = get_running_loop()
        if found := self._find_pool(loop):
            return found
        with self._opening:  # many begin at once, and one of them opens it
            if found := self._find_pool(loop):
                return found
            connecting = self._psycopg.AsyncConnection.connect(self._info, autocommit=True)
            with self._named_failures(), connected_alone(connecting) as connection:
                self._migrate(connection)
            make = partial(
                pool_class(),
                self._info,
                kwargs={"autocommit": True},
                min_size=1,
                max_size=self._connections,
                timeout=self._timeout,
            )
            made = AwaitedPool(make, self._lock_timeout)
            with self._lock:
                self._loops.append(made)
            return made

    def _find_pool(self, loop: object) -> AwaitedPool | None:
        with self._lock:
            self._forget_parents()
            return next((one for one in self._loops if one.loop is loop), None)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            pools: list[Any] = [*([self._pool] if self._pool is not None else []), *self._loops]
            self._pool, self._loops = None, []
        if self._pid == os.getpid():
            for pool in pools:
                pool.close()

    def _migrate(self, connection: Connection) -> None:
        """Bring the schema up to date; whoever comes second finds it done."""
        if self._count_migrations(connection) == len(migrations("postgres")):
            return
        with connection.transaction():
            self._run(connection, "lock_schema", {})
            seen = self._count_migrations(connection)
            if not seen and self._run(connection, "strangers", {})[0][0]:
                raise StoreFailed(
                    f"The schema {self._schema} at {self.place} is another program's; "
                    "give fanfold its own: `schema=…`."
                )
            refuse_newer("postgres", self.place, seen)
            for number, script in enumerate(migrations("postgres")[seen:], seen + 1):
                migration: Any = _within(self._schema, script)
                connection.execute(migration)
                self._run(connection, "add_migration", {"number": number})

    def _count_migrations(self, connection: Connection) -> int:
        known = self._run(connection, "known", {})[0][0]
        return int(self._run(connection, "seen", {})[0][0]) if known else 0

    def _parse(self, url: str, timeout: float) -> tuple[str, str]:
        """What to call the server in a sentence, without a password, and how to reach it."""
        from psycopg import conninfo

        try:
            given = conninfo.conninfo_to_dict(url)
            known = {**_ALIVE, "connect_timeout": str(max(2, int(timeout))), "application_name": "fanfold"}
            info = conninfo.make_conninfo("", **{**known, **given})
        except self._psycopg.Error as error:
            raise BadSetting(f"This is no address of a PostgreSQL server: {error}") from None
        return f"{given.get('host', 'localhost')}/{given.get('dbname', '')}", info

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        """A failure by its name, with a way out."""
        try:
            yield
        except self._psycopg.Error as error:
            raise failure_of(error, self.place) from error


_FAILURES: dict[str, tuple[type[StoreFailed], str]] = {
    "DiskFull OutOfMemory": (Full, "There is no room left at {place}: {error} Make some, and try again."),
    "PoolTimeout": (Busy, "All connections to {place} are in use. Try again, or give more `connections`."),
    "LockNotAvailable DeadlockDetected SerializationFailure QueryCanceled TooManyConnections": (
        Busy,
        "{place} is held by somebody else for too long: {error} Try again.",
    ),
    "DataCorrupted IndexCorrupted": (Corrupt, "{place} is damaged: {error} Bring back a copy of it."),
    "InsufficientPrivilege ReadOnlySqlTransaction": (
        StoreFailed,
        "{place} cannot be written: {error} Give this user the right to.",
    ),
    "OperationalError InterfaceError": (
        StoreFailed,
        "{place} cannot be reached: {error} Is the server running? Then try again.",
    ),
    "Exception": (StoreFailed, "{place} cannot be used: {error}"),
}
"""The errors of the driver, by the names of their classes; the first that fits counts."""


def failure_of(error: Exception, place: str) -> StoreFailed:
    """An error of PostgreSQL, or of the connection to it, as fanfold calls it."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    lines = str(error).strip().splitlines()
    text = lines[0].rstrip(".") + "." if lines else "it does not say why."
    failure, sentence = next(found for names, found in _FAILURES.items() if kinds & set(names.split()))
    return failure(sentence.format(place=place, error=text))


def _fetch_all(cursor: Any) -> list[tuple[Any, ...]]:
    """What a statement found. `Cursor.description` would tell as well, but makes an object for each column."""
    found = getattr(cursor, "pgresult", None)
    return cursor.fetchall() if found is None or found.nfields else []
