"""What a store is asked for by a process that holds many sessions, and lets go of them again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Memory, Postgres, SQLite, Store
from fanfold.stores.store import Stored
from fanfold.testing import talk

Connect = Callable[..., Postgres]

VAST = 10**9
"""A window in which everything stays in view."""


def history(count: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"message {n}"} for n in range(count)]


def open_wide(store: Store, name: str = "run", **options: Any) -> fanfold.Session:
    return fanfold.open(name, window=VAST, dialect="openai.chat", store=store, **options)


class CountedPostgres:
    """Counts the round trips that a store makes, those of opening its pool aside."""

    def __init__(self, store: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        ask = store.server._ask

        def counted(name: str, *values: Any) -> Any:
            self.names.append(name)
            return ask(name, *values)

        monkeypatch.setattr(store.server, "_ask", counted)


@pytest.mark.parametrize("closed", [True, False], ids=["with a checkpoint", "without"])
@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_a_session_is_opened_with_a_few_queries_however_long_it_is(
    count: int, closed: bool, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = open_wide(connect())
    chat.merge(history(count))
    if closed:
        chat.close()
    store = connect()
    queries = CountedPostgres(store, monkeypatch)
    again = open_wide(store)
    assert len(again.view().rows) == count
    assert len(queries.names) <= 8, queries.names


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_the_first_reduction_of_a_session_that_was_opened_again_takes_a_few_queries(
    count: int, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_wide(connect()) as chat:
        chat.merge(history(count))
        chat.compact(force=True)
    store = connect()
    queries = CountedPostgres(store, monkeypatch)
    again = open_wide(store)
    assert len(again.view().rows) < count
    again.say("And now?")
    queries.names.clear()
    assert again.compact(force=True, dry_run=True).before
    assert len(queries.names) <= 8, queries.names


class _Watched:
    """Counts the records that are read."""

    read = 0

    def load(self, *args: Any, **options: Any) -> Stored:
        stored: Stored = super().load(*args, **options)  # type: ignore[misc]
        self.read += len(stored.records)
        return stored


class WatchedMemory(_Watched, Memory):
    pass


class WatchedSQLite(_Watched, SQLite):
    pass


class WatchedPostgres(_Watched, Postgres):
    pass


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Any]]:
    """Stores on one place, as several processes have them."""
    if request.param == "sqlite":
        yield lambda: WatchedSQLite(tmp_path / "a.db")
        return
    url, schema = request.getfixturevalue("url"), request.getfixturevalue("schema")
    request.getfixturevalue("connect")
    made: list[Postgres] = []

    def connect() -> Postgres:
        made.append(WatchedPostgres(url, schema=schema))
        return made[-1]

    yield connect
    for store in made:
        store.close()


@pytest.mark.parametrize("resumed", [True, False])
def test_after_a_foreign_append_only_the_new_records_are_read(resumed: bool, make: Callable[[], Any]) -> None:
    here, there = make(), make()
    chat = open_wide(here, on_moved="reapply")
    chat.merge(history(300))
    if resumed:
        chat.close()
        chat = open_wide(here, on_moved="reapply")
    other = open_wide(there)
    other.say("from elsewhere")
    other.request()
    here.read = 0
    chat.say("mine")
    texts = [message.text for message in chat.view().messages]
    assert texts[-2:] == ["from elsewhere", "mine"]
    assert here.read < 10


def test_what_others_wrote_beside_is_taken_in_without_reading_all(make: Callable[[], Any]) -> None:
    here, there = make(), make()
    chat = open_wide(here)
    chat.merge(history(300))
    other = open_wide(there)
    other.request()
    here.read = 0
    chat.say("mine")
    assert here.read < 10
    assert chat.stats()["requests"] == 1
    whole = open_wide(make(), "run").stats()
    assert chat.stats() == whole


def test_two_who_asked_at_once_agree_on_the_order_of_their_requests(make: Callable[[], Any]) -> None:
    chat = open_wide(make())
    chat.merge(history(4))
    other = open_wide(make())
    other.request(temperature=0.5)
    chat.request(temperature=0.7)
    assert [chat.sent(n)[0].params["temperature"] for n in (0, 1)] == [0.5, 0.7]


def test_figures_of_a_long_session_are_read_from_its_checkpoint(make: Callable[[], Any]) -> None:
    with open_wide(make()) as chat:
        chat.merge(history(40))
        chat.fold(tuple(row.id for row in chat.view().rows[:4]), "They talked.")
        chat.request()
        before = chat.stats()
    store = make()
    again = open_wide(store)
    store.read = 0
    assert again.stats() == before
    assert store.read == 0
    again._state.read_whole()
    assert again.stats() == before


@pytest.mark.parametrize("make_store", [Memory, lambda: None], ids=["memory", "sqlite"])
def test_closed_sessions_leave_nothing_behind(make_store: Callable[[], Any], tmp_path: Path) -> None:
    store = make_store() or SQLite(tmp_path / "a.db")
    for number in range(20):
        with open_wide(store, f"run {number}") as chat:
            chat.say(f"I am {number}")
            chat.merge([*history(1), *talk(3)])
    assert not store.tenant("default").tree.entries


def test_an_open_session_keeps_what_it_needs_when_others_close(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    stays = open_wide(store, "stays")
    stays.merge(history(50))
    shown = stays.view().messages
    for number in range(40):
        with open_wide(store, f"run {number}") as chat:
            chat.merge([{"role": "user", "content": f"run {number}"}, *history(100)])
    tree = store.tenant("default").tree
    assert len(tree.entries) < 50 + 1_000 + 50 + 101
    assert set(stays._state.path) <= tree.entries.keys()
    stays.say("more")
    assert stays.view().messages[:-1] == shown


def test_entries_are_read_many_at_once(make: Callable[[], Any]) -> None:
    store = make()
    chat = open_wide(store)
    chat.merge(history(30))
    ids = chat._state.path
    found = {entry.id: entry for entry in store.read_entries("default", [*ids, "nobody"])}
    assert found == {id: store.entry("default", id) for id in ids}
    assert list(store.read_entries("others", ids)) == []
