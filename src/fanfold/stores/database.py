"""One SQLite file: opened when needed, migrated when old, every failure named."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from fanfold.core.errors import Busy, Corrupt, Full, StoreFailed
from fanfold.stores.locks import ThreadLock
from fanfold.stores.scripts import migrations, refuse_newer, statement

T = TypeVar("T")
Durability = Literal["normal", "full"]
OURS = 0x66616E66
"""Written into the file's head, so that another program's database is never touched: `fanf`."""
_JOURNAL = 4_000
"""Pages that the journal holds before it is moved into the file: 16 MiB. Moving it is what waits for the disk."""
_OVERWRITING = 9
"""The schema since which whatever is deleted is overwritten."""
_CACHE = -4_000
"""KiB of pages in memory. With four times as many, a transaction among 400,000 ids takes 3 % less, and a process that
serves for long takes 12 MB more; the system has the other pages at hand anyway."""
_PAUSE, _LONGEST_PAUSE = 0.000_2, 0.004
"""Seconds after which somebody who waits for other writers looks again."""
_left_behind: list[sqlite3.Connection | sqlite3.Cursor | None] = []
"""What a forked child inherited of connections. It neither uses nor closes them: either would disturb its parent."""


class _Process:
    """This process. Its number is asked for once, and again in a forked child: the system takes a while to tell."""

    def __init__(self) -> None:
        self.number = os.getpid()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.number = os.getpid()


_process = _Process()


def process_number() -> int:
    """The number of this process."""
    return _process.number


class Database:
    """One connection, used by one thread at a time. It is opened when needed, also after `close` and in a fork."""

    def __init__(
        self, path: Path, durability: Durability, timeout: float, *, look_only: bool = False
    ) -> None:
        self.path = path
        self._place = os.fspath(path.absolute())
        """Where the file is, also when the process goes to another folder."""
        self.lock = ThreadLock()
        self._durability = durability
        self._timeout = timeout
        self._connection: sqlite3.Connection | None = None
        self._cursor: sqlite3.Cursor | None = None
        self._pid = 0
        self._may_write = not look_only
        self.look_only = look_only
        """Whether the file cannot be written: then it is looked at as it is."""
        self._file: tuple[int, int] | None = None
        """Which file was opened: whoever deletes it, or puts another one in its place, does not disturb SQLite."""
        self._seen: tuple[int, ...] | None = None
        """The file as it was when it was opened where nothing can be written, not even a lock; None elsewhere."""
        self._hasty = 0
        """The thread that waits for nobody just now, if one does not."""
        self.on_connect: Callable[[], None] = lambda: None
        """Called when the file is opened: it may be another one by now."""

    def rows(self, name: str, *values: Any, **named: Any) -> list[tuple[Any, ...]]:
        """What a statement finds."""
        return self._run(lambda it: it.execute(statement("sqlite", name), named or values).fetchall())

    def do(self, name: str, values: Sequence[Any]) -> int:
        """Run a statement, and say how many rows it changed."""
        return self._run(lambda it: self._cursor_of(it).execute(statement("sqlite", name), values).rowcount)

    def _cursor_of(self, connection: sqlite3.Connection) -> sqlite3.Cursor:
        """One cursor for all statements without rows: to make one takes longer than to use it."""
        if self._cursor is None or self._cursor.connection is not connection:
            self._cursor = connection.cursor()
        return self._cursor

    def do_many(self, name: str, values: Iterable[tuple[Any, ...]]) -> int:
        """Run a statement for each of many rows, and say how many it changed."""
        return self._run(lambda it: it.executemany(statement("sqlite", name), values).rowcount)

    def on_table(self, name: str, table: str, *values: Any, size: str = "") -> list[tuple[Any, ...]]:
        """What a statement finds that is about a table of this name, whose rows are so large."""
        sql = statement("sqlite", name).replace("{table}", table).replace("{size}", size)
        return self._run(lambda it: it.execute(sql, values).fetchall())

    def plain(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a sentence of SQLite's own: a pragma, the bounds of a transaction."""
        return self._run(lambda it: it.execute(sql).fetchall())

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self.lock:
            try:
                return work(self.connection())
            except sqlite3.Error as error:
                if _code(error) != sqlite3.SQLITE_BUSY or self.in_transaction or self.is_hasty:
                    raise self._fail(error) from error
            return self._run_in_turn(work)

    def _run_in_turn(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Wait until nobody else writes. SQLite itself would sleep ever longer, and miss many chances."""
        until, pause = time.monotonic() + self._timeout, _PAUSE
        while True:
            time.sleep(pause)
            try:
                return work(self.connection())
            except sqlite3.Error as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise self._fail(error) from error
            pause = min(2 * pause, _LONGEST_PAUSE)

    def at_once(self) -> AtOnce:
        """Inside, this thread waits for nobody who writes, in this process or another: `Busy` is raised at once."""
        return AtOnce(self)

    def hurry(self) -> None:
        """From now on this thread waits for nobody."""
        if not self.lock.take(blocking=False):
            raise self.busy()
        self.lock.release()  # whoever is inside may want a lock that somebody has who waits for this one
        self._hasty = threading.get_ident()

    def calm_down(self) -> None:
        """From now on this thread waits again."""
        self._hasty = 0

    @property
    def is_hasty(self) -> bool:
        """Whether this thread waits for nobody."""
        return self._hasty != 0 and self._hasty == threading.get_ident()

    def busy(self) -> Busy:
        """What whoever waits for nobody is told."""
        return Busy(f"{self.path} is being written by somebody else. Try again.")

    def move_journal(self) -> None:
        """Move the journal into the file, as far as nobody reads it: else a later write waits for that."""
        self.plain("PRAGMA wal_checkpoint(PASSIVE)")

    def all_lines(self) -> Iterator[tuple[Any, ...]]:
        """Every line of the file, some at a time."""
        last = -1
        while some := self.rows("all_lines", last):
            yield from some
            last = some[-1][0]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Everything inside is written as one, or not at all; one writer at a time, in all processes.

        Inside another one it is a part of that, and if it fails, it takes back no more than itself.
        """
        with self.lock:
            if self.in_transaction:
                with self._part():
                    yield
                return
            try:
                self.plain("BEGIN IMMEDIATE")
                yield
                self.plain("COMMIT")
            except BaseException:
                if self.in_transaction and self._connection is not None:
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _part(self) -> Iterator[None]:
        self.plain("SAVEPOINT part")
        try:
            yield
        except BaseException:
            if self.in_transaction and self._connection is not None:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK TO part")
                    self._connection.execute("RELEASE part")
            raise
        self.plain("RELEASE part")

    @property
    def in_transaction(self) -> bool:
        """Whether `writing` is under way."""
        return self._connection is not None and self._connection.in_transaction

    def empty_journal(self) -> None:
        """Move the journal into the file, and cut it to nothing."""
        until = time.monotonic() + self._timeout
        self.plain("PRAGMA wal_checkpoint(PASSIVE)")  # most of the work is done while others write
        while self.plain("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            if time.monotonic() > until:
                raise Busy(
                    f"{self.path} is being read elsewhere, so traces are left in its journal. Erase once more later."
                )
            time.sleep(0.01)

    def aside(self) -> Database:
        """The same file, only to look at."""
        return Database(self.path, self._durability, self._timeout, look_only=True)

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._pid == _process.number:
                self._let_cursor_go()
                connection.close()

    def _let_cursor_go(self) -> None:
        """A connection with a statement at work stays open and keeps its locks, though it was closed."""
        cursor, self._cursor = self._cursor, None
        if cursor is not None:
            with suppress(sqlite3.Error):
                cursor.close()

    def connection(self) -> sqlite3.Connection:
        """The connection of this process."""
        inherited = self._pid != _process.number
        replaced = self._seen is not None and not self.in_transaction and self._seen != self._state()
        if self._connection is None or inherited or replaced:
            self._connect()
        assert self._connection is not None
        return self._connection

    def _connect(self) -> None:
        if self._connection is not None:
            if self._pid == _process.number:
                self._let_cursor_go()
                self._connection.close()
            else:
                _left_behind.extend((self._connection, self._cursor))
        self._connection, self._cursor, self._pid = None, None, _process.number
        self.look_only, self._seen = False, None
        try:
            # A new file is for its owner only, and so are the journal files that SQLite puts beside it.
            with suppress(FileExistsError):
                os.close(os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = self._open()
        except (sqlite3.Error, OSError, ValueError) as error:  # the last where no file can have such a name
            raise self._fail(error) from error
        self._file = self._which()
        try:
            self.on_connect()
        except BaseException:
            self.close()
            raise

    def check_place(self) -> None:
        """Fail if the file that is open was deleted, or another one is in its place: what is written would be lost."""
        if self._connection is not None and self._which() == self._file:
            return
        with self.lock:
            self.connection()
            there = self._which()
            if there == self._file:
                return
        what = "was deleted" if there is None else "was replaced by another file"
        raise StoreFailed(
            f"{self.path} {what} while it was open, so whatever is written now would be lost. Export the sessions "
            "that you still see here, and start every program anew that uses this store."
        )

    def _which(self) -> tuple[int, int] | None:
        try:
            there = os.stat(self._place)
        except FileNotFoundError:
            return None
        return there.st_dev, there.st_ino

    def _open(self) -> sqlite3.Connection:
        """A connection to write, or, where that is impossible, to read."""
        try:
            if self._may_write and os.access(self._place, os.W_OK):
                return self._connect_to(Path(self._place).as_uri(), self._prepare)
        except sqlite3.OperationalError as error:
            if _code(error) not in _LOCKED_UP:
                raise
        self.look_only = True
        try:
            return self._connect_to(f"{Path(self._place).as_uri()}?mode=ro", self._check_schema)
        except sqlite3.OperationalError as error:
            if _code(error) not in _LOCKED_UP:
                raise
            if self._has_journal():
                raise StoreFailed(
                    f"What was last written to {self.path} is in its journal beside it, which cannot be read "
                    "where nothing can be written. Copy both to another folder."
                ) from error
        self._seen = self._state()
        return self._connect_to(f"{Path(self._place).as_uri()}?immutable=1", self._check_schema)

    def _connect_to(self, uri: str, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri, timeout=self._timeout, isolation_level=None, check_same_thread=False, uri=True
        )
        # Damage may turn bytes into what SQLite calls text.
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        try:
            prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _has_journal(self) -> bool:
        """Whether something was written that is not in the file itself."""
        journal = Path(f"{self._place}-wal")
        return journal.exists() and journal.stat().st_size > 0

    def _state(self) -> tuple[int, ...]:
        there = os.stat(self._place)
        return (there.st_ino, there.st_size, there.st_mtime_ns, self._has_journal())

    def _prepare(self, connection: sqlite3.Connection) -> None:
        until = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite does not wait by itself when several processes make a new file at once.
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.005)
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        connection.execute(f"PRAGMA synchronous = {self._durability}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_JOURNAL}")
        connection.execute(f"PRAGMA cache_size = {_CACHE}")
        if _number(connection, "user_version") != len(migrations("sqlite")):
            self._migrate(connection)
        connection.execute("PRAGMA busy_timeout = 0")  # `_run_in_turn` waits

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the file to the present schema; whoever comes second finds it done."""
        if 0 < _number(connection, "user_version") < _OVERWRITING:
            connection.execute("VACUUM")  # free pages keep what an earlier release deleted
        connection.execute("BEGIN IMMEDIATE")
        seen = _number(connection, "user_version")
        self._refuse_foreign(connection, seen)
        for script in migrations("sqlite")[seen:]:
            # One statement at a time: `executescript` would commit what was begun.
            sql = ""
            for line in script.splitlines(keepends=True):
                sql += line
                if sqlite3.complete_statement(sql):
                    connection.execute(sql)
                    sql = ""
        connection.execute(f"PRAGMA application_id = {OURS}")
        connection.execute(f"PRAGMA user_version = {len(migrations('sqlite'))}")
        connection.execute("COMMIT")

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA temp_store = MEMORY")  # the register's copy, where a disk may be full
        seen = _number(connection, "user_version")
        self._refuse_foreign(connection, seen)
        if seen < len(migrations("sqlite")):
            raise StoreFailed(
                f"{self.path} has schema {seen} and cannot be written, so it stays older than this release of fanfold. "
                "Open it once where it can be written."
            )

    def _refuse_foreign(self, connection: sqlite3.Connection, seen: int) -> None:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and _number(connection, "application_id") != OURS:
            raise StoreFailed(f"{self.path} is another program's database; give fanfold a file of its own.")
        refuse_newer("sqlite", self.path, seen)

    def _newer(self) -> StoreFailed | None:
        """The failure where a newer release brought the file to its own schema while this one had it open."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                try:
                    refuse_newer("sqlite", self.path, _number(self._connection, "user_version"))
                except StoreFailed as failure:
                    return failure
        return None

    def _fail(self, error: Exception) -> StoreFailed:
        """The failure by its name, with a way out; a connection that may be broken is given up."""
        failure = (self._newer() if _code(error) == sqlite3.SQLITE_ERROR else None) or failure_of(
            error, self.path
        )
        if type(failure) is not Busy and self._connection is not None:
            self._let_cursor_go()
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
        return failure


class AtOnce:
    """What `with database.at_once()` enters; every request of a gateway does, so it is no generator."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.hurry()

    def __exit__(self, *error: object) -> None:
        self._database.calm_down()


def failure_of(error: Exception, path: Path) -> StoreFailed:
    """An error of SQLite or of the file system as fanfold calls it."""
    code = _code(error)
    number = getattr(error, "errno", None)
    if code == sqlite3.SQLITE_FULL or number in _NO_ROOM or _no_room_to_write(error, path):
        return Full(f"There is no room left for {path}: {error}. Make some, and try again.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy(f"{path} is locked by somebody else for too long. Try again, or give a longer `timeout`.")
    if code == sqlite3.SQLITE_NOTADB:
        return Corrupt(f"{path} is no database. Choose another file, or bring back a copy of this one.")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT):  # what is kept breaks a rule of its table
        return Corrupt(f"{path} is damaged: {error}. Bring back a copy of it.")
    if code == sqlite3.SQLITE_ERROR and "no such" in str(error):
        return Corrupt(f"{path} is damaged: {error}. Bring back a copy of it.")
    if code == sqlite3.SQLITE_READONLY or number in _NOT_ALLOWED:
        return StoreFailed(f"{path} cannot be written: {error}. Make it writable for this user.")
    return StoreFailed(f"{path} cannot be used: {error}. Is its folder there, and its disk?")


_LOCKED_UP = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says where it cannot make the files that it keeps beside its own."""
_NO_ROOM = (28, 122, 27)  # ENOSPC, EDQUOT, EFBIG
_PROBED = 1 << 16
"""So many bytes are the largest page that SQLite writes."""
_NOT_ALLOWED = (1, 13, 30)  # EPERM, EACCES, EROFS


def _code(error: Exception) -> int:
    """What went wrong, as SQLite counts it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _no_room_to_write(error: Exception, path: Path) -> bool:
    """Whether a write failed for want of room: SQLite does not say, so a little is written beside the file to see.

    SQLite itself calls only a full disk so. A quota, and a limit of the process to the size of files, are to it what
    a broken disk is.
    """
    if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_IOERR_WRITE:
        return False
    sizes = [file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists()]
    try:
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            probe.seek(max(sizes, default=0))
            probe.write(bytes(_PROBED))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as refused:
        return refused.errno in _NO_ROOM
    return False


@cache
def tables_made() -> dict[str, list[tuple[Any, ...]]]:
    """The columns of every table, as the migrations make them."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for script in migrations("sqlite"):
            fresh.executescript(script)
        names = [name for (name,) in fresh.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: fresh.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
