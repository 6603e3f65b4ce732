"""An erasure reads the sessions that have the entry and no others, and those go on meanwhile."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from test_erased_bytes import all_bytes
from test_upgrading import older

import fanfold
from builders import asks, calls, says, tell
from fanfold import Memory, Postgres, SQLite
from fanfold.core.message import user
from fanfold.core.record import Move
from fanfold.core.tree import Tree
from fanfold.stores.rewriting import Rewriting
from fanfold.stores.store import Batch

Connect = Callable[..., Postgres]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return Memory()
    if request.param == "sqlite":
        return SQLite(tmp_path / "a.db")
    return request.getfixturevalue("connect")()


def looked_at(store: Any, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The sessions that are read from now on."""
    read, load = set[str](), store.load

    def loading(tenant: str, session: str, **rest: Any) -> Any:
        read.add(session)
        return load(tenant, session, **rest)

    monkeypatch.setattr(store, "load", loading)
    return read


def test_only_sessions_that_have_the_entry_are_read(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = fanfold.open("run", window=9_000, store=store)
    tell(chat, asks("Hello."), says("Hi."))
    secret = chat.say("The password is hunter2.")
    chat.fork("fork").close()
    for n in range(20):
        with fanfold.open(f"other-{n}", window=9_000, store=store) as other:
            tell(other, asks("Hello."), says("Hi."), asks(f"Something else, {n}."))
    assert sorted(store.referring("default", [secret.id])) == ["fork", "run"]
    read = looked_at(store, monkeypatch)
    chat.erase(secret.id, "a secret")
    assert read <= {"run", "fork"}
    with fanfold.open("fork", window=9_000, store=store) as fork:
        assert fork.view().messages[-1].text == "[erased: a secret]"


def test_a_blob_that_another_session_needs_stays_and_only_that_one_is_read(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        with fanfold.open(name, window=9_000, store=store) as chat:
            tell(chat, asks(f"Go {name}."))
            if name != "three":
                tell(chat, calls("c1"))
                chat.answer("c1", "the same line\n" * 200_000)
    chat = fanfold.open("one", window=9_000, store=store)
    read = looked_at(store, monkeypatch)
    chat.erase("o1", "a secret")
    assert "three" not in read
    with fanfold.open("two", window=9_000, store=store) as other:
        assert other.output("o1").lines(1, 1) == ["the same line"]
        other.erase("o1", "a secret")
    assert store.blobs("default") == []


def test_a_file_from_before_knows_what_its_sessions_name(tmp_path: Path) -> None:
    store = SQLite(older(tmp_path / "a.db", "schema_8"))
    with fanfold.open("other", window=9_000, store=store) as chat:
        secret = chat.view().rows[2].id
        assert store.referring("default", [secret]) == ["run", "other"]
        chat.erase(secret, "a secret")
    with fanfold.open("run", window=9_000, store=store) as chat:
        assert "[erased: a secret]" in [message.text for message in chat.view().messages]
    store.close()
    assert b"zebra-7f3a" not in all_bytes(tmp_path)
    assert fanfold.doctor(store).findings == ()


def test_a_schema_from_before_knows_what_its_sessions_name(connect: Connect, url: str, schema: str) -> None:
    store = connect()
    with fanfold.open("run", window=9_000, store=store) as chat:
        secret = chat.say("hunter2")
        chat.fork("fork").close()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"TRUNCATE {schema}.reference; UPDATE {schema}.seal SET format = 3")  # type: ignore[arg-type]
    assert connect().referring("default", [secret.id]) == ["run", "fork"]


MARK = "<mark-%06d>"


def interleaved(store: SQLite, count: int) -> dict[str, str]:
    """Messages of many sessions in turn, of many sizes: pages are split, and keep what was moved away."""
    chance, heads, marks = random.Random(7), dict[str, list[str]](), dict[str, str]()
    tree = Tree()
    for n in range(count):
        session = f"s{chance.randrange(30)}"
        path = heads.setdefault(session, [])
        mark = MARK % n
        noise = chance.randbytes(chance.choice((25, 100, 500))).hex()
        entry = tree.add(path[-1] if path else None, user(f"{session} {mark} {noise}{mark}"))
        store.append("default", session, Batch((Move(entry.id),), (entry,)), expect=len(path))
        path.append(entry.id)
        marks[entry.id] = mark
    return marks


def test_nothing_is_left_in_pages_from_which_rows_were_moved(tmp_path: Path) -> None:
    """SQLite overwrites what is deleted, but not what it copied to another page before."""
    store = SQLite(tmp_path / "a.db")
    marks = interleaved(store, 1_500)
    doomed = random.Random(8).sample(sorted(marks), 300)
    for id in doomed:
        entry = store.entry("default", id)
        assert entry is not None
        store.erase("default", entry.to_stub("asked"), lambda session, records: None)
    store.database.empty_journal()
    assert any(marks[id].encode() in all_bytes(tmp_path) for id in doomed), "nothing was put to the test"
    store.scour()
    left = all_bytes(tmp_path)
    assert [marks[id] for id in doomed if marks[id].encode() in left] == []
    assert all(mark.encode() in left for id, mark in marks.items() if id not in doomed)
    assert fanfold.doctor(store).findings == ()


class Writer(threading.Thread):
    """Somebody else who writes all the time."""

    def __init__(self, store: Any, name: str, tenant: str) -> None:
        super().__init__()
        self.store, self.session, self.tenant = store, name, tenant
        self.said: list[str] = []
        self.stopping = threading.Event()
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with fanfold.open(self.session, window=10**8, store=self.store, tenant=self.tenant) as chat:
                while not self.stopping.is_set():
                    self.said.append(f"{self.session} says {len(self.said)}")
                    chat.say(self.said[-1])
        except Exception as error:
            self.error = error
            raise


def others_go_on(mine: Any, theirs: Any, tenant: str, steps: Callable[[Callable[[], None]], None]) -> None:
    """Somebody erases; between each two steps of that, somebody else says something, and none of it is lost."""
    writer = Writer(theirs, "busy", tenant)
    writer.start()
    try:
        with fanfold.open("run", window=9_000, store=mine) as chat:
            entry = chat.say("hunter2")
            progress = list[int]()
            steps(lambda: progress.append(len(writer.said)))
            chat.erase(entry.id, "a secret")
    finally:
        writer.stopping.set()
        writer.join(60)
    assert writer.error is None
    assert len(progress) > 6, "there were no steps"
    assert len(set(progress)) > 2, f"nobody else wrote meanwhile: {progress}"
    with fanfold.open("busy", window=10**8, store=mine, tenant=tenant) as chat:
        assert [message.text for message in chat.view().messages] == writer.said
    assert fanfold.doctor(mine).findings == ()


@pytest.mark.parametrize("tenant", [pytest.param("default", marks=pytest.mark.slow), "another"])
def test_others_write_to_the_file_while_its_tables_are_written_anew(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    interleaved(mine, 4_000)

    def steps(told: Callable[[], None]) -> None:
        go_on = Rewriting._go_on
        monkeypatch.setattr(Rewriting, "_go_on", lambda self: (told(), go_on(self))[1])

    others_go_on(mine, theirs, tenant, steps)


@pytest.mark.parametrize("tenant", ["default", pytest.param("another", marks=pytest.mark.slow)])
def test_others_write_to_the_server_while_its_tables_are_written_anew(
    connect: Connect, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = connect(), connect()
    interleaved(mine, 1_500)  # type: ignore[arg-type]

    def steps(told: Callable[[], None]) -> None:
        run = mine.server.run
        monkeypatch.setattr(mine.server, "run", lambda *words: (told(), run(*words))[1])

    others_go_on(mine, theirs, tenant, steps)


def test_whoever_is_killed_leaves_nothing_that_the_next_one_cannot_take_up(tmp_path: Path) -> None:
    marks = interleaved(SQLite(tmp_path / "a.db"), 600)
    store = SQLite(tmp_path / "a.db")
    before = {name: store.load("default", name).records for name in store.sessions("default")}
    count, killed = 0, 0
    while True:
        rewriting = Rewriting(store.database)
        for _ in range(count):
            with store.database.writing():
                rewriting._go_on()
        if store.database.rows("rewriting")[0][0] == store.database.rows("rewriting")[0][1]:
            killed += 1
        store.close()  # here it ends
        store = SQLite(tmp_path / "a.db")
        assert {name: store.load("default", name).records for name in before} == before
        if killed > 1:
            break
        count += 1
    store.scour()
    assert all(store.entry("default", id) is not None for id in marks)
    assert fanfold.doctor(store).findings == ()


def test_two_who_write_the_tables_anew_do_it_together(tmp_path: Path) -> None:
    one, two = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    marks = interleaved(one, 2_000)
    threads = [threading.Thread(target=store.scour) for store in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    begun, done, *_ = one.database.rows("rewriting")[0]
    assert (begun, done) in ((1, 1), (2, 2))
    assert all(one.entry("default", id) is not None for id in marks)


def test_the_server_takes_no_samples_after_a_table_was_written_anew(
    connect: Connect, url: str, schema: str
) -> None:
    store = connect()
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.erase(chat.say("hunter2").id, "a secret")
    store.put_blob("default", [b"a blob"])
    store.drop_blobs("default", [blob.id for blob in store.blobs("default")])
    asked = (
        "SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
        "WHERE attstattarget = 0 AND relnamespace = %s::regnamespace ORDER BY 1, 2"
    )
    with psycopg.connect(url) as other:
        unsampled = other.execute(asked, (schema,)).fetchall()
    assert unsampled == [
        ("checkpoint", "body"), ("entry", "body"), ("piece", "data"), ("record", "body"), ("record", "token"),
        ("session", "summary"), ("signature", "bits"),
    ]  # fmt: skip
