"""Outputs that take their time to come in hold up nobody: neither the caller's threads nor other sessions (19.19)."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import calls
from fanfold import AsyncSession, Memory, Postgres, SQLite
from fanfold.session import outputs as streaming
from fanfold.session.threads import SEARCHES, STORE, STREAMS, Threads

Connect = Callable[..., Postgres]


class FarAway(Memory):
    """A store that is waited for beside the event loop."""

    remote = True


STORES: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: Memory(),
    "sqlite": lambda folder: SQLite(folder / "a.db"),
    "far away": lambda folder: FarAway(),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return STORES[request.param](tmp_path)


@pytest.fixture
def short_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stream of more than some bytes needs a thread that waits for it."""
    monkeypatch.setattr(streaming, "AHEAD", 100)


async def opened(name: str, store: Any, *, number: int = 1) -> AsyncSession:
    """A session in which as many calls wait for an answer."""
    chat = fanfold.aopen(name, window=400_000, meter="characters/4", store=store)
    for n in range(number):
        await chat.add(calls(f"c{n}"))
    return chat


async def through_threads(chunks: int = 5, size: int = 100) -> AsyncIterator[bytes]:
    """Chunks that are made in the default executor, as file and HTTP libraries do it."""
    for n in range(chunks):
        yield await asyncio.to_thread(lambda n=n: bytes([97 + n]) * size)


async def held_back(gate: asyncio.Event) -> AsyncIterator[bytes]:
    yield b"x" * 200
    await gate.wait()
    yield b"y"


@pytest.mark.parametrize("size", [100, 1 << 20], ids=["short", "long"])
def test_many_streams_at_once_that_need_the_default_executor_come_to_an_end(size: int, store: Any) -> None:
    """(19.19)"""

    async def run() -> list[int]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        chat = await opened("run", store, number=6)
        answers = (chat.answer(f"c{n}", through_threads(size=size)) for n in range(6))
        await asyncio.wait_for(asyncio.gather(*answers), 60)
        return sorted(output.size for output in await chat.outputs())

    assert asyncio.run(run()) == [5 * size] * 6


@pytest.mark.usefixtures("short_ahead")
def test_nothing_of_ours_runs_in_the_default_executor(store: Any) -> None:
    """(19.19) It is the caller's: it may be full, for as long as it likes."""
    over = threading.Event()

    async def run() -> list[int]:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, over.wait, 20)
        gate = asyncio.Event()
        gate.set()
        async with await opened("run", store, number=3) as chat:
            await asyncio.wait_for(chat.answer("c0", held_back(gate)), 10)
            await asyncio.wait_for(chat.answer("c1", iter([b"z" * 300])), 10)
            await asyncio.wait_for(chat.answer("c2", "text"), 10)
            sizes = [output.size for output in await chat.outputs()]
        over.set()
        await busy
        return sizes

    try:
        assert asyncio.run(run()) == [4, 300, 201]
    finally:
        over.set()


@pytest.mark.usefixtures("short_ahead")
def test_more_slow_streams_than_there_are_threads_do_not_hold_up_other_sessions(connect: Connect) -> None:
    """(19.19)"""
    assert slow_streams(connect(), STREAMS.most + 10) == ["said at once", "answered at once"]


def test_slow_streams_that_are_short_need_no_threads_at_all(connect: Connect) -> None:
    """(19.19)"""
    before = at_work()
    assert slow_streams(connect(), 20, watch=lambda: at_work() == before) == [
        "said at once",
        "answered at once",
    ]


def at_work() -> int:
    return sum(thread.name.startswith("fanfold-stream") for thread in threading.enumerate())


def slow_streams(store: Postgres, number: int, watch: Callable[[], bool] = lambda: True) -> list[str]:
    """What another session says while as many streams do not end."""

    async def run() -> list[str]:
        gate = asyncio.Event()
        slow = await opened("slow", store, number=number)
        answers = [asyncio.ensure_future(slow.answer(f"c{n}", held_back(gate))) for n in range(number)]
        await asyncio.sleep(0.3)
        async with await opened("other", store) as chat:
            await asyncio.wait_for(chat.say("said at once"), 60)
            await asyncio.wait_for(chat.answer("c0", "answered at once"), 60)
            messages = (await chat.view()).messages
        assert watch()
        assert not any(answer.done() for answer in answers)
        gate.set()
        await asyncio.wait_for(asyncio.gather(*answers), 60)
        assert len(await slow.outputs()) == number
        await slow.close()
        return [messages[1].text, messages[-1].results[0].text]

    return asyncio.run(run())


@pytest.mark.parametrize("ahead", [100, streaming.AHEAD], ids=["in a thread", "in the loop"])
def test_an_answer_that_is_given_up_stops_its_stream(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "AHEAD", ahead)

    async def run() -> str:
        begun, ended = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def endless() -> AsyncIterator[bytes]:
            try:
                yield b"x" * 200
                begun.set()
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                ended.set_result("stopped")
                raise

        chat = await opened("run", Memory())
        answer = asyncio.ensure_future(chat.answer("c0", endless()))
        await asyncio.wait_for(begun.wait(), 60)
        answer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answer
        stopped = await asyncio.wait_for(ended, 60)
        await chat.answer("c0", "another")
        return str(stopped)

    assert asyncio.run(run()) == "stopped"


@pytest.mark.usefixtures("short_ahead")
def test_the_errors_of_a_stream_are_its_own() -> None:
    async def late() -> AsyncIterator[bytes]:
        yield b"x" * 200
        raise TimeoutError("the line was dead")

    async def run() -> None:
        chat = await opened("run", Memory())
        with pytest.raises(TimeoutError, match="the line was dead"):
            await chat.answer("c0", late())
        await chat.answer("c0", "another")

    asyncio.run(run())


@pytest.mark.usefixtures("short_ahead")
def test_a_thread_does_not_wait_for_a_loop_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_LOOK", 0.05)
    loop = asyncio.new_event_loop()

    kept: list[object] = []

    async def begin() -> None:
        chat = await opened("run", Memory())
        kept.append(asyncio.ensure_future(chat.answer("c0", held_back(asyncio.Event()))))
        until = time.monotonic() + 60
        while not waiting_threads() and time.monotonic() < until:
            await asyncio.sleep(0.01)

    loop.run_until_complete(begin())
    assert waiting_threads() == 1
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # they end in the middle, and that is what is tried
    loop.close()
    until = time.monotonic() + 60
    while waiting_threads() and time.monotonic() < until:
        time.sleep(0.02)
    assert waiting_threads() == 0


def waiting_threads() -> int:
    """How many threads wait for the next chunk of an async iterator."""
    frames = sys._current_frames().values()
    return sum(any(code.co_name == "_wait_for" for code in codes(frame)) for frame in frames)


def codes(frame: Any) -> Iterator[Any]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def test_every_kind_of_work_has_its_own_bounded_threads() -> None:
    """(19.19)"""
    seen: set[str] = set()

    async def run() -> None:
        def work() -> None:
            seen.add(threading.current_thread().name.rpartition("_")[0])
            time.sleep(0.001)

        few = Threads("few", 3)
        await asyncio.gather(*(kind.run(work) for kind in (few, STORE, STREAMS, SEARCHES) for _ in range(30)))

    asyncio.run(run())
    assert seen == {"fanfold-few", "fanfold-store", "fanfold-stream", "fanfold-search"}
    few = [thread for thread in threading.enumerate() if thread.name.startswith("fanfold-few")]
    assert len(few) <= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    asyncio.run(STORE.run(int))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = asyncio.run(asyncio.wait_for(STORE.run(int), 5))
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
