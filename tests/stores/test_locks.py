"""Locks that Ctrl-C cannot leave taken, wherever it comes."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest

from fanfold.stores import fibers
from fanfold.stores.fibers import FiberLock
from fanfold.stores.locks import ThreadLock

KINDS = [ThreadLock, FiberLock]
Lock = ThreadLock | FiberLock


def use(lock: Lock) -> None:
    with lock, lock:
        len("")


def try_it(lock: Lock) -> None:
    leave = lock.release
    if lock.take(blocking=False):
        try:
            len("")
        finally:
            leave()


USES = [use, try_it]


def is_free(lock: Lock) -> bool:
    """Whether another thread gets it."""
    got = []

    def get() -> None:
        if lock.take(blocking=False):
            lock.release()
            got.append(True)

    other = threading.Thread(target=get)
    other.start()
    other.join()
    return bool(got)


def broken_off(work: Callable[[], None], at: int) -> bool:
    """Work with Ctrl-C at the so many-th function that begins or C function that ended; False if it ended before."""
    seen = 0

    def watch(frame: FrameType, event: str, arg: object) -> None:
        nonlocal seen
        if event in ("call", "c_return"):
            seen += 1
            if seen == at:
                raise KeyboardInterrupt

    sys.setprofile(watch)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("work", USES)
def test_a_lock_is_free_wherever_its_use_was_broken_off(
    kind: type[Lock], work: Callable[[Lock], None]
) -> None:
    at, lock = 1, kind()
    while broken_off(lambda lock=lock: work(lock), at):  # type: ignore[misc]
        assert is_free(lock), f"at place {at}"
        at, lock = at + 1, kind()
    assert at > 4


@pytest.mark.parametrize("kind", KINDS)
def test_an_owner_who_is_broken_off_while_he_takes_it_again_still_has_it(kind: type[Lock]) -> None:
    at, lock = 1, kind()
    while True:
        with lock:
            ended = not broken_off(lambda lock=lock: use(lock), at)  # type: ignore[misc]
            assert not is_free(lock), f"at place {at}"
        assert is_free(lock), f"at place {at}"
        if ended:
            break
        at += 1


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that interrupts")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread only"
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("work", USES)
def test_a_lock_is_free_after_signals_at_any_time(kind: type[Lock], work: Callable[[Lock], None]) -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    lock, times = kind(), 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.000_02 + times % 40 * 0.000_002)
                while True:
                    work(lock)
            except KeyboardInterrupt:
                times += 1
            assert is_free(lock)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert times > 50


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system sends no signal to a thread")
def test_a_wait_that_is_broken_off_leaves_the_lock_to_who_has_it() -> None:
    lock, there, done = ThreadLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            there.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    there.wait()
    me = threading.get_ident()
    timer = threading.Timer(0.05, lambda: signal.pthread_kill(me, signal.SIGINT))
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # started with `&`, we would ignore it for ever
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            lock.take()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not is_free(lock)
    done.set()
    other.join()
    assert is_free(lock)


def test_a_fiber_gets_a_lock_that_a_thread_had() -> None:
    lock, there, order = FiberLock(), threading.Event(), list[str]()

    def hold() -> None:
        with lock:
            there.set()
            time.sleep(0.05)
            order.append("thread")

    def get() -> None:
        with lock:
            order.append("fiber")

    async def main() -> None:
        other = threading.Thread(target=hold)
        other.start()
        there.wait()
        await asyncio.gather(fibers.run(get), asyncio.sleep(0))
        other.join()

    asyncio.run(main())
    assert order == ["thread", "fiber"]
