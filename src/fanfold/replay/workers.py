"""Worker processes that end when they should: at once when the work is broken off, and when nobody is left to wait."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import Pipe, parent_process
from multiprocessing.connection import Connection, wait
from typing import TypeVar

Work = TypeVar("Work")
Done = TypeVar("Done")


class Workers:
    """Processes that do work.

    They are asked from a thread of its own: a signal interrupts the main one, and a pool that is interrupted while it
    starts its processes can be neither used nor shut down.
    """

    def __init__(self, number: int, sign: Connection) -> None:
        self._pool = ProcessPoolExecutor(number, initializer=_begin, initargs=(sign,))
        self._clerk = ThreadPoolExecutor(1)

    def submit(self, do: Callable[[Work], Done], one: Work) -> Future[Done]:
        """Have it done."""
        return self._clerk.submit(self._pool.submit, do, one).result()

    def shutdown(self) -> None:
        """Wait for what is being done, and leave the rest."""
        self._clerk.shutdown(cancel_futures=True)
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def hired(number: int) -> Iterator[Workers]:
    """So many processes; left early (an error, an interrupt), they end in the midst of their work."""
    sign, end = Pipe(duplex=False)
    workers = Workers(number, sign)
    try:
        yield workers
    except BaseException:
        end.send_bytes(b"end")  # nobody takes it, so everybody sees it
        raise
    finally:
        workers.shutdown()
        sign.close()
        end.close()


def _begin(sign: Connection) -> None:
    """Leave interrupts to the process that waits for this one, and end when that one says so or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_DFL)
    threading.Thread(target=_attend, args=(sign,), daemon=True).start()


def _attend(sign: Connection) -> None:
    parent = parent_process()
    wait([sign] if parent is None else [sign, parent.sentinel])
    os._exit(1)  # the work has no end to wait for, and nothing to put away
