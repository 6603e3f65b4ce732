"""A pool on a server: what waits for the network waits beside the event loop, and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

import fanfold
from fanfold import Pool, Postgres
from postgres_server import PostgresServer, running

Connect = Callable[..., Postgres]
WINDOW = {"window": 50_000, "dialect": "openai.chat"}


def test_many_tasks_talk_in_many_sessions(connect: Connect) -> None:
    async def talk(pool: Pool, number: int) -> None:
        async with pool.session(f"run {number % 10}") as chat:
            await chat.say(f"<{number}>")

    async def main() -> None:
        async with Pool(connect(), **WINDOW) as pool:
            await asyncio.gather(*(talk(pool, number) for number in range(60)))
            assert (pool.counters.open, pool.counters.misses, pool.counters.used) == (10, 10, 0)
            for run in range(10):
                async with pool.session(f"run {run}") as chat:
                    whole = "".join(message.text for message in (await chat.view()).messages)
                assert all(f"<{number}>" in whole for number in range(run, 60, 10))

    asyncio.run(main())


def test_two_processes_write_to_one_session_in_turns(connect: Connect) -> None:
    """(23) What one wrote is there for the next verb of the other, whoever comes second."""
    pools = [Pool(connect(), **WINDOW) for _ in range(2)]
    for number in range(12):
        with pools[number % 2].session("run") as chat:
            chat.say(f"<{number}>")
            chat.request()
    for pool in pools:
        with pool.session("run") as chat:
            whole = "".join(message.text for message in chat.view().messages)
            assert whole == "".join(f"<{number}>" for number in range(12))
            assert chat.stats()["requests"] == 12
        pool.close()


def test_whoever_is_cancelled_while_entering_uses_nothing(connect: Connect) -> None:
    async def main() -> None:
        async with Pool(connect(), **WINDOW) as pool:

            async def enter() -> None:
                async with pool.session("run") as chat:
                    await chat.say("never")

            for _ in range(20):
                entering = asyncio.create_task(enter())
                await asyncio.sleep(0)
                entering.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await entering
            for _ in range(200):
                if not pool.counters.used:
                    break
                await asyncio.sleep(0.02)
            assert pool.counters.used == 0
            async with pool.session("run") as chat:
                await chat.say("here")

    asyncio.run(main())


@pytest.fixture(scope="module")
def server() -> object:
    with running("fsync=off", "shared_buffers=16MB") as server:
        yield server


def test_a_server_that_goes_away_is_named_and_nothing_is_torn(server: PostgresServer) -> None:
    before = set(threading.enumerate())
    pool = Pool(Postgres(server.url, timeout=20.0), **WINDOW)
    with pool.session("run") as chat:
        chat.say("before")
    server.stop()
    with pytest.raises(fanfold.StoreFailed, match="reached"), pool.session("run") as chat:
        pass
    server.start()
    with pool.session("run") as chat:
        chat.say("after")
        assert [message.text for message in chat.view().messages][-1].endswith("after")
    assert pool.counters.used == 0
    store = pool.store
    pool.close()
    store.close()
    assert not [one for one in threading.enumerate() if one not in before and "store" not in one.name]
