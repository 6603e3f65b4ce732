"""Where a replay runs: in this process, on all cores, or on a Ray cluster. Results come in the order of the work."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import Pipe, parent_process
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from fanfold.core.errors import MissingExtra, unknown

Work = TypeVar("Work")
Done = TypeVar("Done")

ENGINES = ("cores", "ray")
_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
AHEAD = 4
"""So many pieces of work are handed out for each worker, so that none waits while a long one is awaited."""

Results = Generator[tuple[Work, Done | None], None, None]
"""Each piece of work with what came of it; None if the process that did it was killed."""


def spread(
    do: Callable[[Work], Done], work: Iterable[Work], engine: str = "cores", workers: int | None = None
) -> Results[Work, Done]:
    """Do all work, at most so many pieces at once; without a number, as many as there are cores.

    To close it breaks the work off.
    """
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    if engine == "ray":
        return _on_ray(do, work, workers)
    if workers == 1:
        return ((one, do(one)) for one in work)
    return _on_cores(do, work, workers or os.cpu_count() or 1)


def _on_cores(do: Callable[[Work], Done], work: Iterable[Work], workers: int) -> Results[Work, Done]:
    """A killed process takes its fellows along: what they had begun is done again, one by one, to see which it was."""
    left = iter(work)
    begun: deque[tuple[Work, Future[Done]]] = deque()
    while True:
        try:
            with hire(workers) as hands:
                yield from _in_order(left, _asking(hands, do), Future.result, AHEAD * workers, begun)
                return
        except BrokenProcessPool:
            yield from ((one, _again(do, one, future)) for one, future in begun)
            begun.clear()


def _asking(hands: Workers, do: Callable[[Work], Done]) -> Callable[[Work], Future[Done]]:
    def ask(one: Work) -> Future[Done]:
        try:
            return hands.submit(do, one)
        except BrokenProcessPool as error:
            broken: Future[Done] = Future()
            broken.set_exception(error)
            return broken

    return ask


def _again(do: Callable[[Work], Done], one: Work, future: Future[Done]) -> Done | None:
    """What was done before the pool broke, else what comes of it in a process of its own."""
    try:
        return future.result()
    except BrokenProcessPool:
        pass
    try:
        with hire(1) as hands:
            return hands.submit(do, one).result()
    except BrokenProcessPool:
        return None


def _on_ray(do: Callable[[Work], Done], work: Iterable[Work], workers: int | None) -> Results[Work, Done]:
    ray = _import_ray()
    ours = not ray.is_initialized()
    if ours:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="warning")
    begun: deque[tuple[Work, Any]] = deque()
    try:
        most = workers or AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield from _in_order(work, ray.remote(do).remote, _fetching(ray), most, begun)
    finally:
        for _, task in begun:
            ray.cancel(task, force=True)
        if ours:
            ray.shutdown()


def _fetching(ray: Any) -> Callable[[Any], Any]:
    killed = (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.OutOfMemoryError,
        ray.exceptions.NodeDiedError,
    )

    def fetch(task: Any) -> Any:
        try:
            return ray.get(task)
        except killed:  # Ray itself has tried again by now
            return None

    return fetch


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray tells its makers otherwise
    try:
        import ray  # late: an extra
    except ImportError:
        raise MissingExtra("To replay on a Ray cluster, run: pip install 'fanfold[ray]'") from None
    return ray


def _in_order(
    work: Iterable[Work],
    begin: Callable[[Work], Any],
    end: Callable[[Any], Done],
    most: int,
    begun: deque[tuple[Work, Any]],
) -> Results[Work, Done]:
    """Each result in its turn, while at most so many are under way; `begun` holds those."""
    for one in work:
        begun.append((one, begin(one)))
        if len(begun) >= most:
            yield _first(begun, end)
    while begun:
        yield _first(begun, end)


def _first(begun: deque[tuple[Work, Any]], end: Callable[[Any], Done]) -> tuple[Work, Done]:
    one, task = begun[0]
    done = end(task)  # if this fails, it is still among those that were begun
    begun.popleft()
    return one, done


class Workers:
    """Processes that do work.

    They are asked from a thread of its own: a signal interrupts the main one, and a pool that is interrupted while it
    starts its processes can be neither used nor shut down.
    """

    def __init__(self, number: int, sign: Connection) -> None:
        self._pool = ProcessPoolExecutor(number, initializer=_begin, initargs=(sign,))
        self._clerk = ThreadPoolExecutor(1, initializer=_hold_signals)

    def submit(self, do: Callable[[Work], Done], one: Work) -> Future[Done]:
        """Have it done."""
        return self._clerk.submit(self._pool.submit, do, one).result()

    def shutdown(self) -> None:
        """Wait for what is being done, and leave the rest."""
        self._clerk.shutdown(cancel_futures=True)
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def hire(number: int) -> Iterator[Workers]:
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


def _hold_signals() -> None:
    """Keep signals waiting in this thread, and in each process that it starts until that one has begun.

    One that came earlier would find the handlers of our parent, and print a traceback.
    """
    if hasattr(signal, "pthread_sigmask"):  # not on Windows, where processes share no mask
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)


def _begin(sign: Connection) -> None:
    """Leave interrupts to the process that waits for this one, and end when that one says so or is gone."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_attend, args=(sign,), daemon=True).start()


def _attend(sign: Connection) -> None:
    parent = parent_process()
    wait([sign] if parent is None else [sign, parent.sentinel])
    os._exit(1)  # the work has no end to wait for, and nothing to put away
