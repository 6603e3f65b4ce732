"""Finding the session of a re-sent history on a server: by its index, with a bounded number of queries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fanfold import Pool, Postgres

Connect = Callable[..., Postgres]
WINDOW = {"window": 50_000, "dialect": "openai.chat"}


def talk(*texts: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def test_a_session_is_found_by_another_process(connect: Connect) -> None:
    with Pool(connect(), **WINDOW) as pool, Pool(connect(), **WINDOW) as elsewhere:
        for name, last in (("one", "Yes."), ("two", "No."), ("three", "No.")):
            with pool.session(name) as chat:
                chat.merge(talk("Is it?", last))
        found = elsewhere.find(talk("Is it?", "Yes.", "Sure?"))
        assert (found.session, found.matched, found.at_head) == ("one", 2, True)
        tied = asyncio.run(elsewhere.afind(talk("Is it?", "No.", "Sure?")))
        assert tied.candidates == ("three", "two")
        with pool.session("three") as chat:
            chat.rewind(0)
        assert elsewhere.find(talk("Is it?", "No.", "Sure?")).session == "two"


def test_looking_takes_two_queries_at_most(connect: Connect) -> None:
    store = connect()
    with Pool(store, **WINDOW) as pool:
        for n in range(50):
            with pool.session(f"s{n}") as chat:
                chat.merge(talk(f"Begin {n}", "Yes."))
        asked = list[str]()
        rows = store.server.rows
        store.server.rows = lambda name, **values: asked.append(name) or rows(name, **values)  # type: ignore[assignment, func-returns-value]
        long = talk("Begin 7", "Yes.", *(f"more {n}" for n in range(400)))
        assert pool.find(long).session == "s7"
        assert asked == ["tracks", "tracks"]


def test_sessions_are_listed_with_one_query(connect: Connect) -> None:
    store = connect()
    with Pool(store, **WINDOW) as pool:
        for n in range(20):
            with pool.session(f"s{n:02}", labels={"client": "codex"}) as chat:
                chat.merge(talk(f"Begin {n}", "Yes."))
                chat.request()
        asked = list[str]()
        rows = store.server.rows
        store.server.rows = lambda name, **values: asked.append(name) or rows(name, **values)  # type: ignore[assignment, func-returns-value]
        found = pool.summaries()
        assert asked == ["summaries"]
    assert sorted(one.name for one in found) == [f"s{n:02}" for n in range(20)]
    assert {(one.client, one.messages, one.requests) for one in found} == {("codex", 2, 1)}


def test_a_list_survives_another_key(connect: Connect) -> None:
    store = connect(key="1" * 64)
    with Pool(store, **WINDOW) as pool, pool.session("run", labels={"client": "codex"}) as chat:
        chat.merge(talk("Begin", "Yes."))
    store.rekey("2" * 64)
    assert [one.client for one in connect(key="2" * 64).summaries("default")] == ["codex"]
