"""What is short is done in the event loop; what may wait for somebody is done beside it."""

import asyncio
import json
import sqlite3
import threading
import time
from contextlib import contextmanager

import pytest

from fanfold.core.errors import Busy
from fanfold.gateway.work import SHORT, run_short
from fanfold.session.pool import Pool
from tests.gateway.gate import Gate, Upstream
from tests.gateway.test_courses import said, written
from tests.gateway.test_erased import REPLY

SESSION = ("default", "work")


@pytest.fixture
def pool(tmp_path):
    with Pool(f"sqlite:{tmp_path}/agent.db", model="gpt-5.2") as pool:
        yield pool


def live(pool):
    with pool.session("work") as chat:
        chat.say("Where is the bug?")


def is_in_loop(pool, size=10, work=threading.get_ident):
    """Whether work is done in the thread of the event loop."""
    return asyncio.run(run_short(pool, SESSION, size, work)) == threading.get_ident()


@contextmanager
def writing(file):
    """Somebody else writes for a while."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


def test_a_live_session_that_nobody_uses_is_worked_on_in_the_loop(pool):
    assert not is_in_loop(pool)
    live(pool)
    assert is_in_loop(pool)
    assert not is_in_loop(pool, size=SHORT + 1)
    with pool.session("work"):
        assert not is_in_loop(pool)
    assert is_in_loop(pool)


def test_while_a_thread_is_at_the_file_nobody_waits_for_it_in_the_loop(pool):
    live(pool)
    held, done = threading.Event(), threading.Event()

    def hold():
        with pool.store.database.lock:
            held.set()
            done.wait(60)

    holding = threading.Thread(target=hold)
    holding.start()
    held.wait(60)
    try:
        assert not is_in_loop(pool)
    finally:
        done.set()
        holding.join()


def test_work_that_would_wait_for_another_writer_is_done_beside_the_loop(pool, tmp_path):
    """In the loop it fails at once, and leaves the session as it was; a thread waits until the other one is ready."""
    live(pool)
    threads = list[int]()

    def say():
        threads.append(threading.get_ident())
        with pool.session("work") as chat:
            chat.say("And behind that?")

    async def work_meanwhile():
        with writing(tmp_path / "agent.db"):
            saying = asyncio.ensure_future(run_short(pool, SESSION, 10, say))
            began = time.monotonic()
            while len(threads) < 2:
                await asyncio.sleep(0.001)
            assert time.monotonic() - began < 30  # else it would have waited for as long as a store waits
            assert not saying.done()
        await saying

    asyncio.run(work_meanwhile())
    assert threads[0] == threading.get_ident() != threads[1]
    with pool.session("work") as chat:
        assert [row.messages[0].text for row in chat.view().rows] == ["Where is the bug?", "And behind that?"]


def test_a_store_says_at_once_that_somebody_else_writes(pool, tmp_path):
    live(pool)
    with pool.session("work") as chat, writing(tmp_path / "agent.db"):
        began = time.process_time()
        with pytest.raises(Busy), pool.store.database.at_once():
            chat.say("And behind that?")
        assert time.process_time() - began < 10
        assert [row.messages[0].text for row in chat.view().rows] == ["Where is the bug?"]


def test_settings_are_not_read_again_in_the_middle_of_a_step(tmp_path):
    """A signal comes at any moment: what it asks for is done when the loop comes round."""
    done, before = threading.Event(), list[bool]()

    def ask(gateway):
        gateway.between(done.set)
        before.append(done.is_set())

    with Gate() as gate:
        gate.gateway.between(lambda: ask(gate.gateway))
        assert done.wait(60)
    assert before == [False]
    gate.gateway.between(done.clear)
    assert not done.is_set(), "where nothing is served it is done at once"


def test_others_are_served_while_somebody_writes_to_the_store(tmp_path):
    path, file = "/v1/chat/completions", tmp_path / "agent.db"
    history = [said(path, "user", "Where is the bug?")]
    told = REPLY["choices"][0]["message"]
    with (
        Upstream(pieces=[json.dumps(REPLY).encode()]) as upstream,
        Gate(upstream.url, store=f"sqlite:{file}") as gate,
    ):
        for step in range(3):
            assert gate.post(path, written(path, history))[0] == 200
            history += [told, said(path, "user", f"And behind {step}?")]
        answers = []
        with writing(file):
            asking = threading.Thread(target=lambda: answers.append(gate.post(path, written(path, history))))
            asking.start()
            for _ in range(20):
                assert gate.send("GET", "/healthz")[0] == 200
            assert not answers
        asking.join(60)
        (status, headers, _), *_ = answers
        assert (status, "x-fanfold-bypassed" in headers) == (200, False)
        assert len(gate.gateway.conversations.pool.summaries()) == 1
