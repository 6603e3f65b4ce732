"""Threads that write to one file at the same time share a transaction; each is told when its own is durable."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dying import Tell, in_a_child

import fanfold
from fanfold import Full, Moved, SQLite
from fanfold.core.message import user
from fanfold.core.record import Answered, Move
from fanfold.stores.store import Batch, Stored
from fanfold.stores.tenant_tree import TenantTree

WRITERS = 16


def lines_of(name: str, count: int = 1, words: int = 5) -> Batch:
    """A unit of work of so many lines, with a message each."""
    tree, parent, entries = TenantTree(), None, []
    for n in range(count):
        entries.append(tree.add(parent, user(f"{name} {n} " + "word " * words)))
        parent = entries[-1].id
    return Batch(tuple(Move(entry.id) for entry in entries), tuple(entries))


class Together:
    """Units that wait for one another: nobody writes before all of them are in line."""

    def __init__(self, store: SQLite) -> None:
        self.store = store
        self.commits = 0
        self.ended: dict[str, Stored | Exception] = {}

    def write(self, units: Sequence[tuple[str, Batch, int | None]]) -> None:
        threads = [threading.Thread(target=self._append, args=unit) for unit in units]
        with self.store.database.lock:
            for thread in threads:
                thread.start()
            until = time.monotonic() + 30
            while len(self.store.commits) < len(threads) and time.monotonic() < until:
                time.sleep(0.001)
            self.store.database.connection().set_trace_callback(self._count)
        for thread in threads:
            thread.join()

    def _count(self, sql: str) -> None:
        self.commits += sql.startswith("COMMIT")

    def _append(self, session: str, batch: Batch, expect: int | None) -> None:
        try:
            self.ended[session] = self.store.append("t", session, batch, expect=expect)
        except Exception as error:
            self.ended[session] = error


def test_what_waits_is_written_in_one_transaction(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    together = Together(store)
    together.write([(f"s{n}", lines_of(f"s{n}", 2), 0) for n in range(WRITERS)])
    assert together.commits == 1
    again = SQLite(tmp_path / "a.db")
    for n in range(WRITERS):
        assert len(again.load("t", f"s{n}").records) == 2
    assert fanfold.doctor(store).healthy


def test_one_that_came_second_takes_no_other_back(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    store.append("t", "late", lines_of("first"), expect=0)
    together = Together(store)
    units = [(f"s{n}", lines_of(f"s{n}", 3), 0) for n in range(5)]
    together.write([*units[:2], ("late", lines_of("late", 3), 0), *units[2:]])
    assert together.commits == 1
    assert isinstance(together.ended["late"], Moved)
    assert len(store.load("t", "late").records) == 1
    assert [len(store.load("t", f"s{n}").records) for n in range(5)] == [3] * 5


def test_two_at_one_session_are_judged_one_after_the_other(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    ended: list[Any] = []

    class Both(Together):
        def _append(self, session: str, batch: Batch, expect: int | None) -> None:
            try:
                ended.append(self.store.append("t", "run", batch, expect=expect))
            except Moved as moved:
                ended.append(moved)

    Both(store).write([(name, lines_of(name, 2), 0) for name in ("one", "two")])
    assert sorted(isinstance(end, Moved) for end in ended) == [False, True]
    assert len(store.load("t", "run").records) == 2
    assert fanfold.doctor(store).healthy


def test_of_lines_that_meet_one_that_is_taken_none_is_left(tmp_path: Path) -> None:
    """The place of the second of three lines is taken by another process, which nobody saw."""
    store, elsewhere = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    store.append("t", "run", lines_of("begin"), expect=0)
    elsewhere.append("t", "run", Batch((Answered("k", "t", ()),)), expect=None)
    together = Together(store)
    together.write([("run", lines_of("more", 3), 1), ("other", lines_of("other"), 0)])
    assert together.commits == 1
    assert [type(record) for record in store.load("t", "run").records] == [Move, Answered, Move, Move, Move]


def test_one_without_room_is_told_and_the_others_are_written(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    store.append("t", "s0", lines_of("begin"), expect=0)
    [(pages,)] = store.database.plain("PRAGMA page_count")
    store.database.plain(f"PRAGMA max_page_count = {pages + 20}")
    connect = store.database._connect

    def connect_within() -> (
        None
    ):  # a connection that failed is given up, and the next one has no limit of its own
        connect()
        store.database.connection().execute(f"PRAGMA max_page_count = {pages + 20}")

    store.database._connect = connect_within  # type: ignore[method-assign]
    together = Together(store)
    vast = ("vast", lines_of("vast", words=100_000), 0)
    together.write([("s1", lines_of("s1"), 0), vast, ("s2", lines_of("s2"), 0)])
    assert isinstance(together.ended["vast"], Full)
    assert [len(store.load("t", name).records) for name in ("s1", "vast", "s2")] == [1, 0, 1]


def test_a_commit_that_fails_is_told_to_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SQLite(tmp_path / "a.db")
    store.append("t", "s0", lines_of("begin"), expect=0)
    plain = store.database.plain

    def refuse(sql: str) -> list[tuple[Any, ...]]:
        if sql == "COMMIT":
            raise Full("There is no room left.")
        return plain(sql)

    monkeypatch.setattr(store.database, "plain", refuse)
    together = Together(store)
    together.write([(f"s{n}", lines_of(f"s{n}"), 0) for n in range(1, 4)])
    assert [type(together.ended[f"s{n}"]) for n in range(1, 4)] == [Full] * 3
    monkeypatch.undo()
    assert store.sessions("t") == ["s0"]
    store.append("t", "s1", lines_of("s1"), expect=0)


def test_whoever_can_be_interrupted_writes_for_nobody_else(tmp_path: Path) -> None:
    """Ctrl-C reaches the main thread, where nobody could tell what of the others' is written."""
    store = SQLite(tmp_path / "a.db")
    store.append("t", "main", lines_of("begin"), expect=0)
    other = threading.Thread(target=lambda: store.append("t", "other", lines_of("other"), expect=0))
    with store.database.lock:
        other.start()
        while not len(store.commits):
            time.sleep(0.001)
        store.append("t", "main", lines_of("more"), expect=1)
        assert not store.load("t", "other").records
    other.join()
    assert len(store.load("t", "other").records) == 1


def test_a_forked_child_writes_nothing_of_its_parents(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    store.append("t", "run", lines_of("begin"), expect=0)
    store.commits._line.append(waiting := _of_another_process(store))
    told, _ = in_a_child(partial(_write_in_a_thread, store), 10)
    store.commits._line.remove(waiting)
    assert told == ["written"]
    assert not store.load("t", "parents").records


def _of_another_process(store: SQLite) -> Any:
    from fanfold.stores.commits import WaitingWrite

    return WaitingWrite(lambda: store.append("t", "parents", lines_of("parents"), expect=0))


def _write_in_a_thread(store: SQLite, tell: Tell) -> None:
    thread = threading.Thread(target=lambda: store.append("t", "run", lines_of("more"), expect=1))
    thread.start()
    thread.join()
    tell("written")


def _talk_in_threads(path: Path, seed: int, tell: Tell) -> None:
    store = SQLite(path, durability="full")
    start = threading.Barrier(8)

    def talk(name: str) -> None:
        chat = fanfold.open(name, window=9_000, store=store)
        start.wait()
        for n in range(10_000):
            tell(f"{name} {chat.say(f'{seed} {name} {n}').id}")

    for number in range(8):
        threading.Thread(target=talk, args=(f"chat{number}",)).start()
    time.sleep(60)


@pytest.mark.parametrize(
    "kills", [pytest.param(6, id="6"), pytest.param(60, id="60", marks=pytest.mark.slow)]
)
def test_killed_among_threads_nothing_acknowledged_is_lost(tmp_path: Path, kills: int) -> None:
    chance, told = random.Random(kills), list[str]()
    for seed in range(kills):
        told += in_a_child(partial(_talk_in_threads, tmp_path / "a.db", seed), chance.uniform(0.2, 0.6))[0]
    assert told
    store = SQLite(tmp_path / "a.db")
    for number in range(8):
        name = f"chat{number}"
        with fanfold.open(name, window=9_000, store=store) as chat:
            path = chat._state.log.tree.path(chat.head)
        said = [line.split()[1] for line in told if line.startswith(f"{name} ")]
        assert [id for id in path if id in set(said)] == said
    assert fanfold.doctor(store).healthy


def test_async_sessions_on_a_durable_file_wait_for_the_disk_together(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db", durability="full")
    commits = 0

    def count(sql: str) -> None:
        nonlocal commits
        commits += sql.startswith("COMMIT")

    async def talk() -> None:
        chats = [fanfold.aopen(f"chat{n}", window=9_000, store=store) for n in range(WRITERS)]
        await asyncio.gather(*(chat.say("Hello.") for chat in chats))
        store.database.connection().set_trace_callback(count)
        with store.database.lock:
            said = [asyncio.ensure_future(chat.say("More.")) for chat in chats]
            while len(store.commits) < WRITERS:
                await asyncio.sleep(0.001)
        await asyncio.gather(*said)

    asyncio.run(talk())
    assert commits == 1
