"""Synchronous code that waits for an event loop, without a thread.

A session is written once, as plain functions. Where its store is across a network, asyncio must not stand still while
one of them waits for an answer. So the whole verb runs in a *fiber*: a stack of its own, in the thread of the loop
(a greenlet). Where the code has to wait, the fiber hands a coroutine to the task that runs it, and sleeps; the task
awaits it like any other, and wakes the fiber with the result.

    async def verb():
        return await run(work)              # work is a plain function

    def work():
        return wait(connection.execute(…))  # deep inside

Locks belong to fibers too: a thread's lock, taken by a fiber that sleeps, would stop the loop that is to wake it.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fanfold.core.errors import BadInput
from fanfold.stores.locks import ThreadLock

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
T = TypeVar("T")
_MOMENT = 0.001
"""Seconds after which a fiber looks again for a lock that a thread has."""


class _Here(threading.local):
    """The fiber that runs in this thread, if one does."""

    fiber: Fiber | None = None


_here = _Here()


class Fiber:
    """A verb on its way, and what it keeps while it sleeps."""

    def __init__(self) -> None:
        self.kept: dict[object, Any] = {}
        """What belongs to this verb alone, by whom: the connection of its transaction."""
        self.hand: Callable[[Awaitable[Any]], Any] = _nobody
        """Gives the task something to await, and returns what came of it."""


def _nobody(awaited: Awaitable[Any]) -> Any:
    raise RuntimeError("This fiber does not run.")


def can_run() -> bool:
    """Whether fibers can be used here: psycopg does not wait in the loop that Windows has by default."""
    if sys.platform == "win32":
        return False
    try:
        import greenlet  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        return False
    return True


def current() -> Fiber | None:
    """The fiber that the present code runs in, if it does."""
    return _here.fiber


def worker() -> object:
    """Who does the present work: a fiber, or a thread."""
    return _here.fiber or threading.get_ident()


def wait(awaited: Awaitable[T]) -> T:
    """Wait for something that the event loop brings; only in a fiber."""
    fiber = _here.fiber
    assert fiber is not None, "only a fiber can wait for the event loop"
    return fiber.hand(awaited)  # type: ignore[no-any-return]


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do some work in a fiber, as a part of this task: a task that is cancelled breaks it off where it waits."""
    import greenlet

    fiber, outside = Fiber(), greenlet.getcurrent()
    inside = greenlet.greenlet(lambda: work(*args, **kwargs))
    inside.gr_context = outside.gr_context  # what the task set is set in the fiber, too
    fiber.hand = outside.switch

    def go_on(step: Callable[..., Any], *values: Any) -> Any:
        before, _here.fiber = _here.fiber, fiber
        try:
            return step(*values)
        finally:
            _here.fiber = before

    given = go_on(inside.switch)
    while not inside.dead:
        try:
            came = await given
        except BaseException as error:
            given = go_on(inside.throw, error)
        else:
            given = go_on(inside.switch, came)
    return given  # type: ignore[no-any-return]


@contextmanager
def entered(context: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What asyncio enters with `async with`, entered by a fiber."""
    inside = wait(context.__aenter__())
    try:
        yield inside
    except BaseException as error:
        wait(context.__aexit__(type(error), error, error.__traceback__))
        raise
    wait(context.__aexit__(None, None, None))


class FiberLock:
    """A lock that fibers and threads take alike, and may take again while they have it.

    A thread takes and leaves it as a `ThreadLock`, so Ctrl-C cannot leave it taken. It is left in C then, where no
    fiber that waits can be woken: that one looks again after a moment. Fibers wake each other.
    """

    def __init__(self) -> None:
        self._lock = ThreadLock()
        """Whoever has the lock has this one, a fiber by its thread."""
        self._fiber: Fiber | None = None
        """The fiber that has it, if it is one."""
        self._thread = 0
        self._times = 0
        self._waiting = deque[tuple["asyncio.AbstractEventLoop", "asyncio.Future[None]"]]()

    def take(self, blocking: bool = True) -> bool:
        """Take it; a fiber lets the event loop go on meanwhile. An exception means that it is not taken."""
        fiber = _here.fiber
        if fiber is None:
            return self._is_for_threads(blocking) and self._lock.take(blocking)
        while not self._take(fiber):
            if not blocking:
                return False
            self._wait_for_it()
        return True

    def _is_for_threads(self, blocking: bool) -> bool:
        """False while a fiber of this thread has it: to wait would stop the loop that is to wake that fiber."""
        if self._fiber is None or self._thread != threading.get_ident():
            return True
        if not blocking:
            return False
        raise BadInput(
            "The session is at work in this event loop: await what you called before you go on with it."
        )

    def _take(self, fiber: Fiber) -> bool:
        if self._fiber is fiber:
            self._times += 1
            return True
        thread = threading.get_ident()
        if self._fiber is not None or not self._lock.take(blocking=False):
            return False
        self._fiber, self._thread, self._times = fiber, thread, 1
        return True

    def _wait_for_it(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        self._waiting.append((loop, woken))
        if self._fiber is None:  # a thread has it, or it was left just now and nobody woke this one
            loop.call_later(_MOMENT, _wake, woken)
        wait(woken)

    @property
    def release(self) -> Callable[[], None]:
        """How it is left. Whoever takes it without `with` asks for this first: to ask may be broken off."""
        return self._lock.release if _here.fiber is None else self._leave

    def _leave(self, *error: object) -> None:
        self._times -= 1
        if self._times:
            return
        self._fiber = None
        self._lock.release()
        with suppress(IndexError):  # nobody waits any more: others may wake them, too
            while True:
                loop, woken = self._waiting.popleft()
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_wake, woken)

    def __enter__(self) -> None:
        self.take()

    @property
    def __exit__(self) -> Callable[..., None]:
        """How it is left; `with` asks for this before it takes the lock."""
        return self._lock.__exit__ if _here.fiber is None else self._leave


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
