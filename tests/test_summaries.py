"""A list of sessions: what each is about in a few figures, without opening any."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanfold import Memory, Pool, SQLite
from fanfold.stores.store import Store, Tenants

MODEL = {"model": "gpt-5.2", "window": 50_000}


class Clock:
    """A clock that is set by hand."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "sealed"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return Memory()
    return SQLite(tmp_path / "a.db", key="1" * 64 if request.param == "sealed" else None)


@pytest.fixture
def pool(store: Store) -> Iterator[Pool]:
    with Pool(store, **MODEL) as pool:
        yield pool


def answer(text: str, prompt: int = 1_000, cached: int = 600) -> dict[str, Any]:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": usage,
    }


def work(pool: Pool, name: str, requests: int = 2, **options: Any) -> None:
    with pool.session(name, **options) as chat:
        for number in range(requests):
            chat.say(f"Question {number}")
            chat.request()
            chat.receive(answer("Yes."))


def test_sessions_are_listed_with_their_figures(pool: Pool, clock: Clock) -> None:
    work(pool, "older", labels={"client": "codex", "parent": "main"}, clock=clock)
    clock.now = 2_000.0
    work(pool, "newer", requests=1, clock=clock)
    newer, older = pool.summaries()
    assert [newer.name, older.name] == ["newer", "older"]
    assert (older.client, older.parent, older.model, older.dialect) == (
        "codex",
        "main",
        "gpt-5.2",
        "openai.chat",
    )
    assert (older.messages, older.requests, older.edits, older.seen) == (4, 2, 0, 1_000.0)
    assert (older.prompt, older.cached, older.output, older.cached_share) == (2_000, 1_200, 100, 0.6)
    assert 0 < older.fill < 0.1
    assert older.cost is not None
    assert 0 < older.cost < 0.01
    assert newer.seen == 2_000.0


def test_a_fork_and_a_subagent_name_their_parent(pool: Pool) -> None:
    with pool.session("main") as chat:
        chat.say("Hello.")
        with chat.fork("fork") as fork:
            fork.say("Go on.")
    assert {one.name: one.parent for one in pool.summaries()} == {"main": "", "fork": "main"}


def test_words_without_a_request_are_counted_from_time_to_time(pool: Pool) -> None:
    with pool.session("run") as chat:
        for number in range(200):
            chat.say(f"Word {number}")
    [run] = pool.summaries()
    assert 200 - 64 <= run.messages <= 200
    pool.close()
    assert [one.messages for one in pool.store.summaries("default")] == [200]


def test_another_process_sees_the_list(tmp_path: Path) -> None:
    with Pool(SQLite(tmp_path / "a.db"), **MODEL) as pool:
        work(pool, "run")
        with Pool(SQLite(tmp_path / "a.db"), **MODEL) as elsewhere:
            assert elsewhere.summaries() == pool.summaries() == asyncio.run(elsewhere.asummaries())


def test_sessions_without_a_summary_are_read() -> None:
    class Plain(Memory):
        summaries = Tenants.summaries

    with Pool(Plain(), **MODEL) as pool:
        work(pool, "run", labels={"client": "pi"})
        [run] = pool.summaries()
    assert (run.name, run.messages, run.requests, run.client, run.prompt) == ("run", 4, 2, "pi", 2_000)


def test_summaries_survive_another_key(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    store = SQLite(tmp_path / "a.db", key="1" * 64)
    with Pool(store, **MODEL) as pool:
        work(pool, "run")
    before = store.summaries("default")
    store.rekey("2" * 64)
    assert store.summaries("default") == before
    store.close()
    assert SQLite(tmp_path / "a.db", key="2" * 64).summaries("default") == before
    assert b"gpt-5.2" not in (tmp_path / "a.db").read_bytes()


def test_what_it_would_have_cost_to_send_everything_is_told(pool: Pool) -> None:
    with pool.session("run") as chat:
        for number in range(12):
            chat.say(f"Question {number}: " + "many words " * 400)
            sent = chat.request().sent
            if number == 5:
                rows = tuple(row.id for row in chat.view().rows[:8])
                chat.fold(rows, "Asked four times.")
            chat.receive(answer("Yes.", prompt=sent.tokens, cached=sent.tokens * 9 // 10))
    (told,) = pool.summaries()
    assert told.cost is not None
    assert told.unmanaged is not None
    everything = sum(810 * (number + 1) for number in range(12))
    assert told.prompt < 0.75 * everything
    # All but the last request's length would have come from the cache, at a tenth of the price; 50 tokens a reply.
    expected = ((everything - 810 * 12) * 0.175 + 810 * 12 * 1.75 + 12 * 50 * 14) / 1e6
    assert told.unmanaged == pytest.approx(expected, rel=0.1)


def test_where_nothing_was_edited_it_costs_the_same_unmanaged(pool: Pool) -> None:
    with pool.session("run") as chat:
        for number in range(3):
            chat.say(f"Question {number}")
            sent = chat.request().sent
            chat.receive(answer("Yes.", prompt=sent.tokens, cached=0))
    (told,) = pool.summaries()
    assert told.unmanaged == told.cost
