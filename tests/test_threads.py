"""Threads beside an event loop: work goes in, results come out, and nothing is forgotten."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

from fanfold.session.threads import Threads


def test_results_and_errors_come_back():
    async def ask():
        work = Threads("test", 2)
        assert await work.run(pow, 2, exp=10) == 1024
        with pytest.raises(ZeroDivisionError):
            await work.run(divmod, 1, 0)
        return await work.run(threading.current_thread)

    assert asyncio.run(ask()).name == "fanfold-test_0"


def test_so_many_work_at_once_and_no_more():
    begun, go_on = threading.Semaphore(0), threading.Event()

    def wait() -> str:
        begun.release()
        go_on.wait(30)
        return threading.current_thread().name

    async def ask():
        work = Threads("test", 3)
        waiting = [work.start(wait) for _ in range(8)]
        assert all(begun.acquire(timeout=30) for _ in range(3))
        assert not begun.acquire(timeout=0.05)
        go_on.set()
        return await asyncio.gather(*waiting)

    assert set(asyncio.run(ask())) == {f"fanfold-test_{n}" for n in range(3)}


def test_a_thread_that_is_free_is_used_again():
    async def ask():
        work = Threads("test", 8)
        return {await work.run(threading.get_ident) for _ in range(20)}

    assert len(asyncio.run(ask())) == 1


def test_what_was_given_up_before_its_turn_is_not_begun():
    go_on, done = threading.Event(), []

    async def ask():
        work = Threads("test", 1)
        first, second = work.start(go_on.wait, 30), work.start(done.append, "second")
        second.cancel()
        go_on.set()
        await first
        await work.run(done.append, "third")

    asyncio.run(ask())
    assert done == ["third"]


def test_a_result_is_not_kept_by_the_thread_that_made_it():
    class Big:
        pass

    async def ask():
        seen = weakref.ref(await Threads("test", 1).run(Big))
        for _ in range(500):  # until the thread waits again
            if seen() is None:
                break
            await asyncio.sleep(0.01)
            gc.collect()
        return seen()

    assert asyncio.run(ask()) is None


def test_a_process_ends_when_what_waits_is_done():
    script = """
import asyncio, time
from fanfold.session.threads import Threads

def work(number):
    time.sleep(0.1)
    print(number, flush=True)

async def main():
    threads = Threads("test", 1)
    for number in range(3):
        threads.start(work, number)

asyncio.run(main())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ran.stdout.split(), ran.stderr, ran.returncode) == (["0", "1", "2"], "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks only where the system can")
def test_a_forked_child_has_threads_of_its_own():
    work = Threads("test", 2)
    assert asyncio.run(work.run(os.getpid)) == os.getpid()
    child = os.fork()
    if not child:
        os._exit(0 if asyncio.run(asyncio.wait_for(work.run(os.getpid), 30)) == os.getpid() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
