"""What PostgreSQL costs: appends of the store beside bare psycopg, one row to a transaction, on the same server.

The server is one of our own with its usual durability, or the one that FANFOLD_TEST_POSTGRES names.
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psycopg
import psycopg_pool

import fanfold
from fanfold import Postgres
from fanfold.core.record import Move
from fanfold.stores.store import Batch
from stores import ENTRIES, TEXT, Taken, line, session, timed

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from postgres_server import GIVEN, running

ROUNDS = 5
APPENDS = 1_000


def appends(url: str, schema: str) -> Taken:
    """One append for each message."""
    store = Postgres(url, schema=schema)

    def write() -> None:
        was = None
        for n, entry in enumerate(ENTRIES[:APPENDS]):
            store.append("t", "s", Batch((Move(entry.id, "append", was, 1.5),), (entry,)), expect=n)
            was = entry.id

    taken = timed(write)
    store.close()
    return taken


def bare(url: str, schema: str) -> Taken:
    """One row of as many bytes in one transaction, for each message."""
    body = b"x" * (len(TEXT) + 300)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(
            f"CREATE TABLE {schema}.message (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body bytea)"
        )

        def write() -> None:
            for _ in range(APPENDS):
                connection.execute(f"INSERT INTO {schema}.message (body) VALUES (%s)", (body,))

        return timed(write)


def kept(url: str, schema: str) -> Taken:
    """A whole session on the server."""
    store = Postgres(url, schema=schema)
    taken = session(store)
    store.close()
    return taken


def in_memory(url: str, schema: str) -> Taken:
    """The same session in memory."""
    return session(fanfold.Memory())


def side_by_side(
    url: str, one: Callable[[str, str], Taken], other: Callable[[str, str], Taken], rounds: int
) -> tuple[float, float]:
    """The median ratio of two, run in turns: on the wall, and of processor time of this side."""
    ratios: list[Taken] = []
    for number in range(rounds):
        work = [one, other] if number % 2 else [other, one]
        taken = {each: within(url, each) for each in work}
        ratios.append((taken[one][0] / taken[other][0], taken[one][1] / taken[other][1]))
    return statistics.median(r[0] for r in ratios), statistics.median(r[1] for r in ratios)


def within(url: str, work: Callable[[str, str], Taken]) -> Taken:
    """Work in a schema that is gone afterwards."""
    schema = f"bench_{secrets.token_hex(4)}"
    try:
        return work(url, schema)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {schema} CASCADE")


def reopened(url: str, schema: str, count: int) -> tuple[int, float]:
    """A cold opening of a session of so many messages: its queries, and its processor time beside a warm one's."""
    history = [{"role": ("user", "assistant")[n % 2], "content": f"{n} {TEXT}"} for n in range(count)]
    with look_at(Postgres(url, schema=schema)) as chat:
        chat.merge(history)
    cold, warm, queries = [], [], 0
    for _ in range(ROUNDS):
        store = Postgres(url, schema=schema)
        store.sessions("nobody")  # the pool is open in a process that serves
        asked, names = store.server._ask, []

        def counted(name: str, *values: Any, asked: Any = asked, names: list[str] = names) -> Any:
            names.append(name)
            return asked(name, *values)

        store.server._ask = counted  # type: ignore[method-assign]
        cold.append(timed(lambda store=store: look_at(store).view())[1])  # type: ignore[misc]
        queries = len(names)
        kept = store.tenant("default").tree.entries
        store.tenant("default").states.clear()
        warm.append(timed(lambda store=store: look_at(store).view())[1])  # type: ignore[misc]
        assert kept
        store.close()
    return queries, statistics.median(cold) / statistics.median(warm)


SESSIONS = 300


async def in_turns(work: Callable[[int], Any]) -> float:
    """The median of what many tasks at once wait, each for its own work."""

    async def timed_one(number: int) -> float:
        start = time.perf_counter()
        await work(number)
        return time.perf_counter() - start

    return statistics.median(await asyncio.gather(*(timed_one(number) for number in range(SESSIONS))))


async def requests_at_once(url: str) -> tuple[int, float]:
    """The round trips of a request, and how long one takes among many, beside as many that write one row."""
    schema = f"bench_{secrets.token_hex(4)}"
    store = Postgres(url, schema=schema)
    chats = [
        fanfold.aopen(f"bench {number}", window=10**6, dialect="openai.chat", store=store)
        for number in range(SESSIONS)
    ]
    for chat in chats:
        await chat.merge(
            [{"role": ("user", "assistant")[n % 2], "content": f"{n} {TEXT}"} for n in range(20)]
        )
    ratios, names, asked = [], list[str](), store.server._ask

    def counted(name: str, *values: Any) -> Any:
        names.append(name)
        return asked(name, *values)

    body = b"x" * (len(TEXT) + 300)
    async with psycopg_pool.AsyncConnectionPool(url, kwargs={"autocommit": True}, max_size=8) as pool:
        async with pool.connection() as connection:
            await connection.execute(f"CREATE TABLE {schema}.bare (number bigserial PRIMARY KEY, body bytea)")
        for number in range(ROUNDS):
            await in_turns(lambda n, number=number: chats[n].say(f"{number} {TEXT}"))  # type: ignore[misc]
            names.clear()
            store.server._ask = counted  # type: ignore[method-assign]
            ours = await in_turns(lambda n: chats[n].request(max_tokens=1_000))
            store.server._ask = asked  # type: ignore[method-assign]
            trips = round(len(names) / SESSIONS)

            async def bare(_: int, trips: int = trips) -> None:
                for _ in range(trips):
                    async with pool.connection() as connection:
                        await connection.execute(f"INSERT INTO {schema}.bare (body) VALUES (%s)", (body,))

            ratios.append(ours / await in_turns(bare))
    for chat in chats:
        await chat.close()
    store.close()
    return trips, statistics.median(ratios)


def look_at(store: Postgres) -> fanfold.Session:
    """The session, in a window that holds all of it."""
    return fanfold.open("bench", window=10**9, dialect="openai.chat", store=store)


def main() -> None:
    """Print every ratio."""
    server: Any = nullcontext() if GIVEN else running()
    with server as own:
        url = GIVEN or own.url
        wall, cpu = side_by_side(url, appends, bare, ROUNDS)
        line("appends/s, postgres store / bare psycopg", (1 / wall, 1 / cpu), "bar 0.5")
        for count in (200, 20_000):
            schema = f"bench_{secrets.token_hex(4)}"
            queries, ratio = reopened(url, schema, count)
            print(f"cold opening of {count:,} messages".ljust(44), f"{queries} queries   (bar 8)")
            print(f"cold / warm opening of {count:,}, processor".ljust(44), f"{ratio:6.2f}   (bar 3)")
        trips, ratio = asyncio.run(requests_at_once(url))
        what = f"a request among {SESSIONS} async sessions / {trips} bare round trips"
        print(what.ljust(58), f"{ratio:6.2f}   (bar 3)")
        if "--long" in sys.argv:
            line("session step, postgres / memory", side_by_side(url, kept, in_memory, 3), "no bar")


if __name__ == "__main__":
    main()
