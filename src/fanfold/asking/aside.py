"""Work in a thread of its own: models that are not awaited, and functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


def start_aside(call: Callable[[], T]) -> Future[T]:
    """Call a function in a thread of its own; no shutdown waits for it.

    It runs neither in the pool of `session/threads.py` nor in the default executor of the caller's loop: models that
    hang would use those up, and a shutdown waits for them.
    """
    from concurrent.futures import Future  # late: it takes its time

    future: Future[T] = Future()

    def work() -> None:
        try:
            got = call()
        except BaseException as error:  # for whoever waits, Ctrl-C and the like too
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
            return
        if future.set_running_or_notify_cancel():
            future.set_result(got)

    # The thread runs in the context of the request that asks, so that a session cannot wait for itself.
    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    return future
