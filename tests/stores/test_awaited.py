"""Sessions on PostgreSQL in asyncio: no thread waits for the server, and nothing is left behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest

import fanfold
from conftest import drop
from fanfold import AsyncSession, Pool, Postgres, StoreFailed
from fanfold.stores import fibers
from fanfold.stores.fibers import FiberLock
from fanfold.stores.loops import pool_class
from postgres_server import PostgresServer, running

Connect = Callable[..., Postgres]
OPTIONS = {"window": 50_000, "dialect": "openai.chat"}


def words(view: Any) -> list[str]:
    return [message.text for message in view.messages]


class NoThreads(ThreadPoolExecutor):
    """The caller's executor: nobody may use it."""

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a verb waits in the default executor")


@pytest.fixture
def url_of_ours(url: str) -> str:
    """The server under a name of our own, by which its connections are counted."""
    return f"{url}&application_name=awaited"


@pytest.fixture
def ours(url_of_ours: str, schema: str, connect: Connect) -> Connect:
    """Stores whose connections are counted."""
    connect()  # removes the schema at the end
    return lambda: Postgres(url_of_ours, schema=schema)


def connections(url: str) -> int:
    """How many connections of ours the server has."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'awaited'"
    with psycopg.connect(url) as connection:
        found = connection.execute(sql).fetchone()
    assert found is not None
    return int(found[0])


async def until_none_is_left(url: str) -> None:
    for _ in range(3_000):
        if not connections(url):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{connections(url)} connections are left")


def test_many_sessions_wait_at_once_and_no_thread_does(ours: Connect, url: str) -> None:
    store = ours()
    before = set(threading.enumerate())

    async def talk(number: int) -> list[str]:
        async with fanfold.aopen(f"run {number}", store=store, **OPTIONS) as chat:
            await chat.say(f"Hello {number}.")
            await chat.request()
            await chat.receive(
                {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}}]}
            )
            return words(await chat.view())

    async def main() -> list[list[str]]:
        asyncio.get_running_loop().set_default_executor(NoThreads(1))
        done = await asyncio.gather(*(talk(number) for number in range(60)))
        assert set(threading.enumerate()) <= before
        return done

    assert asyncio.run(main()) == [[f"Hello {number}.", "Hi."] for number in range(60)]
    store.close()
    asyncio.run(until_none_is_left(url))


def test_many_sessions_that_begin_at_once_share_a_few_connections(
    url_of_ours: str, url: str, schema: str, connect: Connect
) -> None:
    """A process that was just started is asked by many at once, and has no connection yet."""
    connect().close()
    store, most, done = Postgres(url_of_ours, schema=schema, connections=3), 0, False

    async def watch() -> None:
        nonlocal most
        sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'awaited'"
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            while not done:
                cursor = await connection.execute(sql)
                most = max(most, *(await cursor.fetchone() or ()))

    async def main() -> None:
        nonlocal done
        watching = asyncio.ensure_future(watch())
        chats = [fanfold.aopen(f"run {number}", store=store, **OPTIONS) for number in range(40)]
        await asyncio.gather(*(chat.say("Hello.") for chat in chats))
        done = True
        await watching

    asyncio.run(main())
    store.close()
    assert 1 <= most <= 6  # those of the pool, and those that looked at the schema before


def test_of_many_that_begin_at_once_the_first_are_done_before_the_last_begin(connect: Connect) -> None:
    store, told = connect(), list[str]()

    def note(what: str) -> float:
        told.append(what)
        return 1.0

    async def talk(number: int, chat: AsyncSession) -> None:
        await chat.say("Hello.")
        told.append(f"{number} done")

    async def main() -> None:
        chats = [
            fanfold.aopen(f"run {n}", store=store, clock=partial(note, f"{n} begun"), **OPTIONS)
            for n in range(60)
        ]
        await asyncio.gather(*(chat.view() for chat in chats))
        await asyncio.gather(*(talk(n, chat) for n, chat in enumerate(chats)))

    asyncio.run(main())
    assert told.index("0 done") < told.index("59 begun")


def test_whoever_waits_for_the_server_holds_up_others_for_a_moment_only(
    url: str, schema: str, connect: Connect
) -> None:
    store = connect()

    async def main() -> None:
        chats = [fanfold.aopen(f"run {number}", store=store, **OPTIONS) for number in range(40)]
        await asyncio.gather(*(chat.say("first") for chat in chats))
        with psycopg.connect(url) as other:
            other.execute(f"LOCK TABLE {schema}.session IN EXCLUSIVE MODE")
            saying = [asyncio.ensure_future(chat.say("second")) for chat in chats[1:]]
            assert words(await asyncio.wait_for(chats[0].view(), 5)) == ["first"]
            assert not any(one.done() for one in saying)
        await asyncio.gather(*saying)

    asyncio.run(main())


def test_the_loop_goes_on_while_the_server_lets_a_verb_wait(url: str, schema: str, connect: Connect) -> None:
    store = connect()

    async def main() -> None:
        async with fanfold.aopen("run", store=store, **OPTIONS) as chat:
            await chat.say("first")
            with psycopg.connect(url) as other:
                other.execute(f"LOCK TABLE {schema}.session IN EXCLUSIVE MODE")
                saying = asyncio.ensure_future(chat.say("second"))
                for _ in range(20):
                    await asyncio.sleep(0.005)
                assert not saying.done()
            await saying
            assert words(await chat.view()) == ["first\n\nsecond"] or words(await chat.view()) == [
                "first",
                "second",
            ]

    asyncio.run(main())


def test_a_verb_that_was_given_up_is_done_and_the_next_comes_after_it(
    url: str, schema: str, connect: Connect
) -> None:
    store = connect()

    async def main() -> None:
        async with fanfold.aopen("run", store=store, **OPTIONS) as chat:
            await chat.say("first")
            with psycopg.connect(url) as other:
                other.execute(f"LOCK TABLE {schema}.session IN EXCLUSIVE MODE")
                saying = asyncio.ensure_future(chat.say("given up"))
                await asyncio.sleep(0.05)
                saying.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await saying
            await chat.say("last")
            said = "".join(words(await chat.view()))
            assert [said.count(word) for word in ("first", "given up", "last")] == [1, 1, 1]
            assert said.index("given up") < said.index("last")

    asyncio.run(main())


def test_a_loop_that_ends_in_the_middle_tears_nothing(url: str, schema: str, connect: Connect) -> None:
    """`asyncio.run` cancels what is still under way; the next loop finds the session whole."""
    store = connect()

    async def break_off(pool: Pool) -> None:
        async with pool.session("run") as chat:
            await chat.say("first")
        other = psycopg.connect(url)
        other.execute(f"LOCK TABLE {schema}.session IN EXCLUSIVE MODE")
        asyncio.get_running_loop().call_later(0.05, other.close)

        async def use() -> None:
            async with pool.session("run") as chat:
                await chat.say("broken off")

        asyncio.ensure_future(use())  # noqa: RUF006
        await asyncio.sleep(0.02)

    async def go_on(pool: Pool) -> str:
        async with pool.session("run") as chat:
            await chat.say("last")
            return "".join(words(await chat.view()))

    pool = Pool(store, **OPTIONS)
    asyncio.run(break_off(pool))
    said = asyncio.run(go_on(pool))
    assert said.replace("broken off", "", 1) == "firstlast"
    pool.close()
    assert fanfold.doctor(store).healthy


def test_a_loop_ends_while_its_pool_connects(url: str) -> None:
    """A worker of the pool that is cancelled while it connects must not go on: the loop would wait for it for ever."""
    connecting = threading.Event()

    async def never_ready(connection: object) -> None:
        connecting.set()
        await asyncio.sleep(3_600)

    async def break_off() -> None:
        pool = pool_class()(url, min_size=1, configure=never_ready, open=False)
        await pool.open(wait=False)
        while not connecting.is_set():
            await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(break_off()), daemon=True)
    thread.start()
    thread.join(20)
    assert connecting.is_set()
    assert not thread.is_alive()


def test_tasks_and_threads_share_a_session_of_a_pool(connect: Connect) -> None:
    pool = Pool(connect(), **OPTIONS)

    def talk(number: int) -> None:
        with pool.session("run") as chat:
            chat.say(f"<thread {number}>")

    async def atalk(number: int) -> None:
        async with pool.session("run") as chat:
            await chat.say(f"<task {number}>")

    async def main() -> None:
        threads = [asyncio.to_thread(talk, number) for number in range(10)]
        await asyncio.gather(*threads, *(atalk(number) for number in range(10)))
        async with pool.session("run") as chat:
            said = "".join(words(await chat.view()))
        for number in range(10):
            assert said.count(f"<thread {number}>") == said.count(f"<task {number}>") == 1
        assert pool.counters.misses == 1

    asyncio.run(main())
    pool.close()


def test_closed_pools_leave_no_connection_and_no_thread(ours: Connect, url: str) -> None:
    before = set(threading.enumerate())

    async def main() -> None:
        store = ours()
        async with Pool(store, **OPTIONS) as pool:
            async with pool.session("run") as chat:
                await chat.say("Hello.")
            assert connections(url)
        store.close()
        with pytest.raises(fanfold.Closed):
            async with pool.session("run"):
                pass
        await until_none_is_left(url)

    asyncio.run(main())
    assert set(threading.enumerate()) <= before


def test_a_store_opened_by_name_is_closed_with_the_last_session(url_of_ours: str, url: str) -> None:
    async def main() -> None:
        chats = [fanfold.aopen(f"by name {number}", store=url_of_ours, **OPTIONS) for number in range(5)]
        await asyncio.gather(*(chat.say("Hello.") for chat in chats))
        assert connections(url)
        await asyncio.gather(*(chat.close() for chat in chats))
        await until_none_is_left(url)

    asyncio.run(main())
    drop(url, "fanfold")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running("fsync=off", "shared_buffers=16MB") as server:
        yield server


def test_a_server_that_goes_away_is_named_and_nothing_is_torn(server: PostgresServer) -> None:
    async def main() -> None:
        store = Postgres(server.url, timeout=20.0)
        chats: list[AsyncSession] = [fanfold.aopen(f"run {n}", store=store, **OPTIONS) for n in range(5)]
        await asyncio.gather(*(chat.say("<before>") for chat in chats))
        server.stop()
        failed = await asyncio.gather(*(chat.say("<away>") for chat in chats), return_exceptions=True)
        assert all(isinstance(error, StoreFailed) for error in failed), failed
        server.start()
        for chat in chats:
            await chat.say("<after>")
            assert "".join(words(await chat.view())).replace("\n", "") == "<before><after>"
            await chat.close()
        store.close()

    asyncio.run(main())


def test_a_lock_is_waited_for_by_fibers_and_refused_where_the_loop_would_stand_still() -> None:
    lock, order = FiberLock(), list[str]()

    def hold(name: str) -> None:
        with lock, lock:
            order.append(f"{name} in")
            fibers.wait(asyncio.sleep(0.01))
            order.append(f"{name} out")

    async def main() -> None:
        both = [asyncio.ensure_future(fibers.run(hold, name)) for name in ("one", "two")]
        await asyncio.sleep(0)
        with pytest.raises(fanfold.BadInput, match="await"):
            lock.take()
        assert not lock.take(blocking=False)
        threaded = asyncio.to_thread(lock.take)
        await asyncio.gather(*both)
        assert await threaded

    asyncio.run(main())
    assert order == ["one in", "one out", "two in", "two out"]


def test_what_is_raised_while_a_fiber_waits_is_raised_in_its_code() -> None:
    def work() -> str:
        try:
            fibers.wait(fail())
        except ValueError as error:
            return str(error)
        return ""

    async def fail() -> None:
        raise ValueError("no")

    assert asyncio.run(fibers.run(work)) == "no"
