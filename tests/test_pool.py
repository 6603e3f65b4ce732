"""Many sessions in one process: live once each, used by many, evicted when nobody does."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Memory, Pool, SQLite
from fanfold.session.state import State

WINDOW = {"window": 50_000, "dialect": "openai.chat"}


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def pool(path: Path) -> Iterator[Pool]:
    with Pool(f"sqlite:{path}", **WINDOW) as pool:
        yield pool


def texts(chat: Any) -> list[str]:
    return [message.text for message in chat.view().messages]


def test_a_session_is_opened_once_and_stays_live(pool: Pool) -> None:
    with pool.session("run") as chat:
        chat.say("one")
    with pool.session("run") as again, pool.session("run") as too:
        assert again is chat is too
        again.say("two")
    assert texts(chat) == ["one", "two"]
    assert (pool.counters.open, pool.counters.hits, pool.counters.misses) == (1, 2, 1)
    assert pool.counters.bytes > 0


def test_tenants_have_sessions_of_the_same_name(pool: Pool) -> None:
    with pool.session("run", tenant="a") as one, pool.session("run", tenant="b") as other:
        one.say("only a")
        assert other.view().rows == ()
    assert pool.counters.open == 2


def test_threads_share_a_session_and_nothing_is_lost(pool: Pool) -> None:
    def talk(writer: int) -> None:
        for number in range(20):
            with pool.session(f"run {number % 3}") as chat:
                chat.say(f"{writer}: {number}")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(talk, range(8)))
    said: list[str] = []
    for run in range(3):
        with pool.session(f"run {run}") as chat:
            said += (line for text in texts(chat) for line in text.splitlines() if line)
    for writer in range(8):
        mine = [line for line in said if line.startswith(f"{writer}: ")]
        assert sorted(mine) == sorted(f"{writer}: {number}" for number in range(20))


def test_tasks_share_a_session(pool: Pool) -> None:
    async def talk(number: int) -> None:
        async with pool.session("run") as chat:
            await asyncio.sleep(0)
            await chat.say(f"<{number}>")

    async def many() -> None:
        await asyncio.gather(*map(talk, range(50)))

    asyncio.run(many())
    with pool.session("run") as chat:
        whole = "".join(texts(chat))
    assert all(f"<{number}>" in whole for number in range(50))
    assert (pool.counters.open, pool.counters.misses) == (1, 1)


def test_idle_sessions_are_evicted_and_opened_again(path: Path) -> None:
    clock = Clock()
    with Pool(SQLite(path), idle=60, clock=clock, **WINDOW) as pool:
        for name in ("a", "b"):
            with pool.session(name) as chat:
                chat.say(f"I am {name}")
            clock.now += 40
        clock.now += 10
        assert pool.evict() == 1
        assert (pool.counters.open, pool.counters.evicted) == (1, 1)
        with pool.session("a") as chat:
            assert texts(chat) == ["I am a"]


def test_where_memory_is_short_the_longest_idle_go_first(path: Path) -> None:
    with Pool(SQLite(path), memory=300_000, **WINDOW) as pool:
        for number in range(30):
            with pool.session(f"run {number}") as chat:
                chat.say("word " * 4_000)
        counters = pool.counters
        assert counters.bytes <= 300_000
        assert 0 < counters.open < 30
        assert counters.evicted == 30 - counters.open
        misses = counters.misses
        with pool.session("run 29"):
            assert pool.counters.misses == misses, "the newest is live"


def test_a_session_in_use_is_never_evicted(path: Path) -> None:
    clock = Clock()
    with Pool(SQLite(path), memory=0, idle=1, clock=clock, **WINDOW) as pool:
        with pool.session("used") as chat:
            chat.say("first")
            clock.now += 100
            with pool.session("other") as other:
                other.say("x")
            assert pool.evict() == 0
            chat.say("second")
            assert pool.counters.used == 1
        assert pool.counters.open == 0


def test_entering_takes_in_what_another_process_wrote(pool: Pool, path: Path) -> None:
    with pool.session("run") as chat:
        chat.say("here")
    with Pool(SQLite(path), **WINDOW) as elsewhere, elsewhere.session("run") as other:
        other.note("state", "red")
        other.say("there")
    with pool.session("run") as chat:
        assert "there" in "".join(texts(chat))
        assert any(row.kind == "note" for row in chat.view().rows)


def test_a_verb_is_done_again_where_another_process_wrote_first(pool: Pool, path: Path) -> None:
    with pool.session("run") as chat, Pool(SQLite(path), **WINDOW) as elsewhere:
        chat.say("one")
        with elsewhere.session("run") as other:
            other.say("two")
        chat.say("three")
        whole = "".join(texts(chat))
        assert whole.index("one") < whole.index("two") < whole.index("three")


def test_other_options_open_a_session_anew_unless_it_is_used(pool: Pool) -> None:
    with pool.session("run") as chat:
        chat.say("hello")
        with (
            pytest.raises(fanfold.BadInput, match="in use with other options"),
            pool.session("run", window=9_000),
        ):
            pass
    with pool.session("run", window=9_000) as smaller:
        assert smaller.view().room != chat._state.shown().room
        assert texts(smaller) == ["hello"]
    assert pool.counters.open == 1


def test_a_closed_session_is_opened_again(pool: Pool) -> None:
    with pool.session("run") as chat:
        chat.say("one")
        chat.close()
    assert pool.counters.open == 0
    with pool.session("run") as again:
        assert texts(again) == ["one"]


def test_a_closed_pool_says_so_and_lets_those_inside_end(path: Path) -> None:
    store = SQLite(path)
    pool = Pool(store, **WINDOW)
    with pool.session("run") as chat:
        pool.close()
        chat.say("last words")
        with pytest.raises(fanfold.Closed, match="pool is closed"), pool.session("other"):
            pass
    assert (pool.counters.open, store.idle) == (0, True)
    with fanfold.open("run", store=store, **WINDOW) as again:
        assert texts(again) == ["last words"]


def test_what_cannot_be_opened_leaves_nothing_behind(pool: Pool) -> None:
    with pytest.raises(fanfold.FanfoldError), pool.session("run", dialect="klingon"):
        pass
    with pytest.raises(fanfold.BadSetting, match="widow"):
        pool.session("run", widow=3)
    assert pool.counters.open == pool.counters.used == 0
    with pool.session("run") as chat:
        chat.say("fine")


def test_a_store_opened_by_name_stays_open_with_its_pool(path: Path) -> None:
    pool = Pool(f"sqlite:{path}", idle=0, **WINDOW)
    with pool.session("run") as chat:
        chat.say("one")
    assert pool.counters.open == 0
    assert pool.store.database._connection is not None  # type: ignore[attr-defined]
    pool.close()
    assert pool.store.database._connection is None  # type: ignore[attr-defined]


def test_eviction_and_use_race_without_harm() -> None:
    """Threads enter and leave while everything is evicted at once: nobody finds a session that is closed."""
    store = Memory()
    with Pool(store, memory=0, idle=0, **WINDOW) as pool:
        stop = threading.Event()

        def evict() -> None:
            while not stop.is_set():
                pool.evict()

        def talk(writer: int) -> None:
            for number in range(60):
                with pool.session(f"run {number % 2}") as chat:
                    chat.say(f"<{writer}:{number}>")

        evicting = threading.Thread(target=evict)
        evicting.start()
        try:
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(talk, range(4)))
        finally:
            stop.set()
            evicting.join()
        whole = ""
        for run in range(2):
            with pool.session(f"run {run}") as chat:
                whole += "".join(texts(chat))
        assert all(f"<{w}:{n}>" in whole for w in range(4) for n in range(60))
        assert pool.counters.open == 0


def states() -> list[State]:
    return [thing for thing in gc.get_objects() if isinstance(thing, State)]


def test_a_closed_session_is_freed_at_once_and_not_when_python_looks_for_circles(path: Path) -> None:
    output = "\n".join(f"src/m{line}.py:{line}: found" for line in range(600))
    gc.collect()
    gc.disable()
    others = states()  # a test that failed before keeps its own
    try:
        with Pool(f"sqlite:{path}", window=12_000, dialect="openai.chat", memory=0) as pool:
            for number in range(3):
                with pool.session(f"run-{number}") as chat:
                    chat.say("Where is the bug?")
                    for step in range(6):
                        chat.request()
                        call = {"id": f"c{step}", "type": "function"}
                        call["function"] = {"name": "grep", "arguments": "{}"}
                        said = {"role": "assistant", "content": None, "tool_calls": [call]}
                        chat.receive({"choices": [{"message": said, "finish_reason": "tool_calls"}]})
                        chat.answer(f"c{step}", output)
                    assert any(row.why for row in chat.view().rows)
                    chat.cache()
            del chat
            assert pool.counters.evicted == 3
            assert [state for state in states() if not any(state is other for other in others)] == []
    finally:
        gc.enable()
