"""Threads for what waits beside an event loop: a store across a network, a slow stream, a search.

They are fanfold's own. The default executor of the loop is the caller's: an iterator that needs it for its next chunk
would else wait for a thread that waits for that chunk. Each kind of work has its own threads, so that slow streams and
searches do not hold up the verbs of other sessions.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from math import inf
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from fanfold.core.errors import BadInput
from fanfold.stores.database import process_number
from fanfold.stores.fibers import run
from fanfold.stores.locks import ThreadLock

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
T = TypeVar("T")


Job = Callable[[], Callable[[], None]]
"""Work for a thread; what it returns tells who waits for it."""


class Threads:
    """At most so many threads for one kind of work, shared by all sessions of a process; each starts when needed.

    They do what `ThreadPoolExecutor` does, at a third of its price: work goes in by one queue, and its result goes
    straight to the event loop. A gateway hands over twice for each request.
    """

    def __init__(self, kind: str, most: int) -> None:
        self.kind = kind
        self.most = most
        self._lock = ThreadLock()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Have no threads yet: a forked child has none of its parent's."""
        self._pid = process_number()
        self._threads: list[threading.Thread] = []
        self._work: SimpleQueue[Job | None] = SimpleQueue()
        self._free = 0
        """How many threads wait for work; less than 0 while so much work waits for threads."""

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something in one of them, and await it."""
        return await self.start(work, *args, **kwargs)

    def start(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Begin something in one of them, as a part of what the caller does."""
        import asyncio  # imported late: whoever stays synchronous does not pay for it

        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        inside = partial(copy_context().run, work, *args, **kwargs)
        self._put(partial(_work_for, loop, future, inside))
        return future

    def _put(self, job: Job) -> None:
        with self._lock:
            if self._pid != process_number():
                self._begin_anew()
            if self._free <= 0 and len(self._threads) < self.most:
                self._add_thread()
            self._free -= 1
            self._work.put(job)

    def _add_thread(self) -> None:
        """Start one more. It ends with the process, once all that waits is done."""
        if not self._threads:
            atexit.register(self._end, self._pid, self._threads, self._work)
        name = f"fanfold-{self.kind}_{len(self._threads)}"
        thread = threading.Thread(target=self._serve, args=(self._work,), name=name, daemon=True)
        thread.start()
        self._threads.append(thread)
        self._free += 1

    def _serve(self, work: SimpleQueue[Job | None]) -> None:
        while (job := work.get()) is not None:
            tell = job()
            with self._lock:
                self._free += 1  # first of all: who is told may have more to do at once
            tell()
            del job, tell  # what it was about is not kept until the next one comes

    @staticmethod
    def _end(pid: int, threads: list[threading.Thread], work: SimpleQueue[Job | None]) -> None:
        if pid == process_number():
            for _ in threads:
                work.put(None)
            for thread in threads:
                thread.join()


def _work_for(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], work: Callable[[], T]
) -> Callable[[], None]:
    """Do some work in a thread, unless nobody waits for it any more; returns what tells who waits."""
    if future.cancelled():
        return _nothing
    try:
        return partial(_call_in, loop, partial(_tell, future, work()))
    except BaseException as error:
        return partial(_call_in, loop, partial(_fail, future, error))


def _nothing() -> None:
    return None


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(call)


def _tell(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


STORE = Threads("store", 32)
"""For verbs that wait for a store."""
STREAMS = Threads("stream", 64)
"""For outputs that take their time to come in; each holds its thread until it ends."""
SEARCHES = Threads("search", 8)


_fibers: set[object] = set()
"""Fibers under way: whoever started one may have given it up."""


def start_fiber(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Begin something in a fiber: it waits in the event loop, and needs no thread. Given up, it goes on."""
    import asyncio  # imported late: whoever stays synchronous does not pay for it

    task = asyncio.ensure_future(_run_inside(partial(work, *args, **kwargs)))
    _fibers.add(task)
    task.add_done_callback(_fibers.discard)
    return task


async def _run_inside(work: Callable[[], T]) -> T:
    """Do something in a fiber, once the gate of the event loop lets it in."""
    import asyncio

    loop = asyncio.get_running_loop()
    if (gate := _gates.get(loop)) is None:
        gate = _gates[loop] = Gate(loop)
    await gate.enter()
    try:
        return await run(work)
    finally:
        gate.leave()


class Gate:
    """Lets a few fibers of an event loop in at a time, first come, first served.

    Of hundreds that begin at once, all would else do their first half before any does its second, and all would be
    late. If none comes out for a while, those inside wait for something, and everybody is let in.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._later, self._turn = loop.call_later, loop.create_future
        self._inside = self._left = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for one's turn."""
        if self._inside < _AT_ONCE and not self._waiting:
            self._inside += 1
            return
        turn = self._turn()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            self._later(_PATIENCE, self._look, self._left)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Let the next one in."""
        self._inside, self._left = self._inside - 1, self._left + 1
        self._let_in(_AT_ONCE)

    def _let_in(self, most: float) -> None:
        while self._waiting and self._inside < most:
            turn = self._waiting.popleft()
            if not turn.done():  # else its task was cancelled
                self._inside += 1
                turn.set_result(None)

    def _look(self, left: int) -> None:
        """See whether anybody came out since so many had left."""
        if left == self._left:
            self._let_in(inf)
        if self._waiting:
            self._later(_PATIENCE, self._look, self._left)


_AT_ONCE = 16
"""So many fibers of an event loop are under way at once: twice as many as there are connections."""
_PATIENCE = 0.25
"""Seconds for which nobody comes out before everybody is let in."""
_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, Gate] = WeakKeyDictionary()


class TaskTurn:
    """One task at a time, first come, first served. While nobody is in it, it may go over to another event loop."""

    def __init__(self) -> None:
        import asyncio  # imported late: whoever stays synchronous does not pay for it

        self._running, self._new = asyncio.get_running_loop, asyncio.Lock
        self._guard = ThreadLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = self._new()
        self._inside = 0
        """How many tasks of that loop have the turn, or wait for it."""

    async def __aenter__(self) -> None:
        self._come(self._running())
        try:
            await self._lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Let the next one have the turn."""
        self._lock.release()
        self._leave()

    @property
    def taken(self) -> bool:
        """Whether anybody has the turn, or waits for it."""
        return self._inside > 0

    def _come(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._guard:
            if self._loop is not loop:
                if self._inside and self._loop is not None and not self._loop.is_closed():
                    raise BadInput(
                        "This session is at work in another event loop. Use it there (asyncio.run_coroutine_threadsafe "
                        "hands work over), or a `Session`, which threads can share."
                    )
                self._loop, self._lock, self._inside = loop, self._new(), 0
            self._inside += 1

    def _leave(self) -> None:
        with self._guard:
            self._inside -= 1
