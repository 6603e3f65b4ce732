"""Group commit: what several threads write to one file at the same time is one transaction.

There is no thread that only writes. Whoever comes while nobody writes does it at once: handing a write over to another
thread and back costs more than the write. Whoever comes while somebody writes waits in line, and the first in line then
writes what all of them brought. A commit that waits for the disk is so paid for once, however many wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from fanfold.stores.database import Database, process_number

T = TypeVar("T")


class _Broken(Exception):
    """The database gave the transaction up, with all that was in it."""


class WaitingWrite(Generic[T]):
    """What one thread brought to be written, and what became of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.done = False
        """Whether it is written, or failed; nobody is told before that."""
        self.pid = process_number()
        self._work = work
        self._written: list[T] = []
        self._error: Exception | None = None

    def attempt(self) -> None:
        """Write it, or keep the error for its thread."""
        self._written.clear()
        self._error = None
        try:
            self._written.append(self._work())
        except Exception as error:
            self._error = error

    def fail(self, error: Exception) -> None:
        """It was not written, for this reason."""
        self._written.clear()
        self._error = error

    def result(self) -> T:
        """What writing it returned or raised."""
        if self._error is not None:
            raise self._error
        return self._written[0]


class GroupCommit(Generic[T]):
    """The line in which the threads of a process wait to write to a file."""

    def __init__(self, database: Database, writing: Callable[[], AbstractContextManager[None]]) -> None:
        self._database = database
        self._writing = writing
        """A transaction; inside another one, a part that can fail without the rest."""
        self._line: list[WaitingWrite[T]] = []

    def __len__(self) -> int:
        return len(self._line)

    def write(self, work: Callable[[], T]) -> T:
        """Write something as a whole or not at all; it is durable when this returns."""
        if not self._line and self._database.lock.take(blocking=False):
            try:
                return work()
            finally:
                self._database.lock.release()
        if self._database.is_hasty:
            raise self._database.busy()
        mine = WaitingWrite(work)
        self._line.append(mine)
        try:
            with self._database.lock:
                if not mine.done:
                    self._lead(mine)
        finally:
            self._line.remove(mine)
        return mine.result()

    def _lead(self, mine: WaitingWrite[T]) -> None:
        """Write what waits.

        The main thread writes its own alone: Ctrl-C may break it off where nobody can tell whether all is written. So
        does a thread that is in a transaction already: others must not be told before that ends.
        """
        group = [mine]
        if len(self._line) > 1 and not self._database.in_transaction and not _is_main():
            # A forked child finds those in line who wait in its parent.
            group = [one for one in self._line if not one.done and one.pid == mine.pid]
        if len(group) == 1 or not self._write_together(group):
            for one in group:
                one.attempt()
        for one in group:
            one.done = True

    def _write_together(self, group: list[WaitingWrite[T]]) -> bool:
        """Write all in one transaction, so that one that fails takes no other along; False if each must go alone."""
        try:
            with self._writing():
                for one in group:
                    one.attempt()
                    if not self._database.in_transaction:
                        raise _Broken
        except _Broken:
            return False
        except Exception as error:  # neither begun nor committed: that is everybody's failure
            for one in group:
                one.fail(error)
        return True


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
