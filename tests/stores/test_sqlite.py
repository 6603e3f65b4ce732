"""SQLite: one file, opened again, shared by sessions, apart for tenants, migrated when old."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fanfold
from builders import asks, calls, gives, says, tell
from fanfold import BadSetting, Memory, Message, Moved, SQLite, StoreFailed, Text
from fanfold.core import record as records
from fanfold.core.message import user
from fanfold.core.record import Answered
from fanfold.stores.store import Batch, Store
from fanfold.stores.tenant_tree import TenantTree
from fanfold.testing import check_store, talk

HOSTILE = [
    "",
    "'; DROP TABLE line; --",
    'a"b',
    "a\x00b",
    "../../etc/passwd",
    "..",
    "/",
    "a/b\\c",
    "%",
    "_",
    "x" * 100_000,
    "漢字 🙂",
    "\ud800",
    "a",
    "A",
    "a ",
]


def test_a_session_goes_on_where_it_ended(tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path / 'agent.db'}"
    with fanfold.open("run", window=4_000, store=place, system="Be brief.") as chat:
        chat.merge(talk(2))
        chat.note("state", "tests are red")
        sent = chat.request(max_tokens=100)
    with fanfold.open("run", window=4_000, store=place) as again:
        assert again.request(max_tokens=100) == sent


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_store_proves_itself(kind: str, tmp_path: Path) -> None:
    check_store(Memory() if kind == "memory" else SQLite(tmp_path / "a.db"))


def test_one_file_is_left_when_the_last_session_is_closed(tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path / 'agent.db'}"
    with (
        fanfold.open("one", window=4_000, store=place) as one,
        fanfold.open("two", window=4_000, store=place) as two,
    ):
        tell(one, asks("Hello."))
        tell(two, asks("Hello."))
    assert os.listdir(tmp_path) == ["agent.db"]


def test_within_a_process_the_same_name_is_the_same_store(tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path / 'agent.db'}"
    one = fanfold.open("one", window=4_000, store=place)
    two = fanfold.open("two", window=4_000, store=place)
    assert one._state.terms.tenant is two._state.terms.tenant


def test_all_files_are_for_their_owner_only(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "agent.db")
    store.put_blob("t", [b"x" * 3_000_000])
    with fanfold.open("run", window=4_000, store=store) as chat:
        chat.say("Hello.")
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert {path.name[:11] for path in files} >= {"agent.db", "agent.db-wa", "agent.db-sh"}
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
        assert (tmp_path / "agent.db.blobs").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "sqlite", "sqlite:", "oracle:x", "agent.db"])
def test_a_name_that_is_no_store_is_refused(name: str) -> None:
    with pytest.raises(BadSetting, match="no store"):
        fanfold.open("run", window=4_000, store=name)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_whoever_expects_an_older_version_is_told_so(kind: str, tmp_path: Path) -> None:
    store: Store = Memory() if kind == "memory" else SQLite(tmp_path / "a.db")
    move = Batch((records.Move("x"),))
    assert store.append("t", "s", move, expect=0).version == 1
    with pytest.raises(Moved, match="somebody wrote first"):
        store.append("t", "s", move, expect=0)
    assert len(store.load("t", "s").records) == 1


def test_a_second_writer_is_noticed_by_one_who_just_wrote(tmp_path: Path) -> None:
    one, two = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    move = Batch((records.Move("x"),))
    one.append("t", "s", move, expect=0)
    two.append("t", "s", move, expect=1)
    with pytest.raises(Moved):
        one.append("t", "s", move, expect=1)
    assert one.append("t", "s", Batch((Answered("k", "a", ()),)), expect=None).was == 2


def test_the_same_beginning_is_kept_once(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    for name in ("one", "two"):
        with fanfold.open(name, window=9_000, store=store) as chat:
            tell(chat, asks("Mend it."), calls("c1"), gives("c1", "done"), says("Done."))
    assert sqlite3.connect(tmp_path / "a.db").execute("SELECT count(id) FROM line").fetchone() == (4,)


def test_hostile_names_are_names_like_others(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    for tenant in HOSTILE:
        for session in HOSTILE[::3]:
            store.append(tenant, session, Batch((Answered(tenant[:9] + session[:9], "", ()),)), expect=0)
    for tenant in HOSTILE:
        assert store.sessions(tenant) == sorted(HOSTILE[::3])
        for session in HOSTILE[::3]:
            assert store.load(tenant, session).records == [Answered(tenant[:9] + session[:9], "", ())]


def test_no_tenant_reaches_the_entries_of_another(tmp_path: Path) -> None:
    store, tree = SQLite(tmp_path / "a.db"), TenantTree()
    entry = tree.add(None, user("secret"))
    store.append("mine", "s", Batch((records.Move(entry.id),), (entry,)), expect=0)
    store.append("yours", "s", Batch((Answered("k", "", ()),)), expect=0)
    for tenant in [*HOSTILE, "yours", "min", "mine "]:
        assert store.entry(tenant, entry.id) is None
        assert list(store.path(tenant, entry.id)) == []
        assert store.find(tenant, "") == []
        assert store.load(tenant, "s").records in ((), [], [Answered("k", "", ())])
    assert store.entry("mine", entry.id) == entry


@pytest.mark.parametrize("id", HOSTILE)
def test_a_hostile_id_finds_nothing_and_breaks_nothing(id: str, tmp_path: Path) -> None:
    store, tree = SQLite(tmp_path / "a.db"), TenantTree()
    entry = tree.add(None, user("hi"))
    store.append("t", "s", Batch((records.Move(entry.id),), (entry,)), expect=0)
    assert store.entry("t", id) is None
    assert store.find("t", id) == ([entry.id] if entry.id.startswith(id) else [])
    with pytest.raises(fanfold.NotFound):
        store.get_blob("t", id)
    store.drop_blobs("t", [id])


def test_a_path_ends_where_it_is_told_to(tmp_path: Path) -> None:
    store, tree = SQLite(tmp_path / "a.db"), TenantTree()
    entries = [tree.add(None, user("0"))]
    for n in range(1, 50):
        entries.append(tree.add(entries[-1].id, user(str(n))))
    store.append("t", "s", Batch((), tuple(entries)), expect=0)
    assert list(store.path("t", entries[-1].id)) == entries[::-1]
    assert list(store.path("t", entries[-1].id, stop=entries[20].id)) == entries[:20:-1]
    assert list(store.path("t", entries[3].id, stop=entries[3].id)) == []


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")

    def work(number: int) -> None:
        with fanfold.open(f"run-{number}", window=9_000, store=store) as chat:
            for n in range(25):
                chat.say(f"{number} {n}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(store.load("default", f"run-{n}").records) for n in range(4)] == [26] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_uses_a_connection_of_its_own(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    store.append("t", "s", Batch((records.Move("x"),)), expect=0)
    child = os.fork()
    if child == 0:
        done = 1
        try:
            store.append("t", "s", Batch((records.Move("y"),)), expect=1)
            done = 0
        finally:
            os._exit(done)
    assert os.waitpid(child, 0)[1] == 0
    assert store.load("t", "s").version == 2


def older(path: Path, schema: int) -> None:
    """A file as an earlier release wrote it."""
    old = sqlite3.connect(path)
    old.executescript((Path(__file__).parent / f"schema_{schema}.sql").read_text(encoding="utf-8"))
    old.close()


@pytest.mark.parametrize("schema", [1, 3])
def test_an_older_file_is_migrated_and_reads_as_before(tmp_path: Path, schema: int) -> None:
    older(tmp_path / "old.db", schema)
    with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path / 'old.db'}") as chat:
        assert [message.text for message in chat.view().messages] == ["Hello.", "Hi."]
        chat.say("And now?")
    with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path / 'old.db'}") as chat:
        assert len(chat.view().messages) == 3
    assert fanfold.doctor(tmp_path / "old.db").healthy


def test_sessions_of_an_older_file_share_messages_and_blobs_keep_their_names(tmp_path: Path) -> None:
    older(tmp_path / "old.db", 3)
    store = SQLite(tmp_path / "old.db")
    with (
        fanfold.open("run", window=9_000, store=store) as run,
        fanfold.open("other", window=9_000, store=store) as other,
    ):
        assert run.view().rows[0].id == other.view().rows[0].id
        assert other.view().messages[1].text == "Good day."
        run.erase(run.view().rows[0].id, "asked to")
        assert "[erased" in other.view().messages[0].text
    (blob,) = store.blobs("default")
    assert b"".join(store.get_blob("default", blob.id)) == b"a small blob"


def test_an_older_release_that_has_the_file_open_cannot_write_past_the_register(tmp_path: Path) -> None:
    older(tmp_path / "old.db", 3)
    held = sqlite3.connect(tmp_path / "old.db", isolation_level=None)
    SQLite(tmp_path / "old.db")
    with pytest.raises(sqlite3.OperationalError, match="entry"):
        held.execute(
            "INSERT INTO line (key, tenant, version, record, id, parent, entry) VALUES (1,1,1,'','','','')"
        )


def test_what_two_processes_say_alike_is_kept_once(tmp_path: Path) -> None:
    one, two = SQLite(tmp_path / "a.db"), SQLite(tmp_path / "a.db")
    with (
        fanfold.open("one", window=9_000, store=one) as first,
        fanfold.open("two", window=9_000, store=two) as second,
    ):
        said = [(first.say(text).id, second.say(text).id) for text in ("Hello.", "And then?", "Good.")]
    assert all(a == b for a, b in said)
    assert sorted(one.find("default", "")) == sorted(a for a, _ in said)
    assert sqlite3.connect(tmp_path / "a.db").execute(
        "SELECT count(id), count(message) FROM line"
    ).fetchone() == (3, 3)
    assert fanfold.doctor(tmp_path / "a.db").findings == ()


def test_a_newer_file_is_refused_with_a_way_out(tmp_path: Path) -> None:
    SQLite(tmp_path / "a.db").close()
    newer = sqlite3.connect(tmp_path / "a.db")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(StoreFailed, match=r"schema 99.*Update fanfold"):
        SQLite(tmp_path / "a.db")


def test_another_programs_database_is_not_touched(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreFailed, match="another program"):
        SQLite(tmp_path / "a.db")


def test_many_may_start_on_a_new_file_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from fanfold import SQLite; from fanfold.stores.store import Batch;"
        "from fanfold.core.record import Answered;"
        "SQLite(sys.argv[1]).append('t', sys.argv[2], Batch((Answered('k', '', ()),)), expect=0)"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "a.db"), str(n)]) for n in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert len(SQLite(tmp_path / "a.db").sessions("t")) == 4


@pytest.mark.parametrize("schema", [1, 3])
def test_many_may_start_on_an_older_file_at_once(tmp_path: Path, schema: int) -> None:
    older(tmp_path / "old.db", schema)
    code = (
        "import sys, fanfold; store = fanfold.SQLite(sys.argv[1])\n"
        "fanfold.open(sys.argv[2], window=9_000, store=store).say('Hello.')"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "old.db"), str(n)]) for n in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert fanfold.doctor(tmp_path / "old.db").findings == ()


def test_every_statement_says_in_a_sentence_what_it_does() -> None:
    folder = Path(fanfold.__file__).parent / "stores" / "sql"
    for path in folder.rglob("*.sql"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith("-- "), path.name
        assert first.endswith("."), path.name


def test_a_message_is_found_again_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    with fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db")) as chat:
        entry = chat.say("Hello.")
        assert isinstance(entry.message, Message)
        assert entry.message.parts == (Text("Hello."),)
        chat.say("Bye.")
        assert chat.rewind(entry.id[:10]) == entry.id


def test_a_file_that_was_made_anew_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    for tenant in ("one", "two"):
        store.append(tenant, "s", Batch((Answered("k", tenant, ()),)), expect=0)
    store.close()
    (tmp_path / "a.db").unlink()
    SQLite(tmp_path / "a.db").append("two", "s", Batch((Answered("k", "anew", ()),)), expect=0)
    assert store.sessions("one") == []
    store.append("one", "s", Batch((Answered("k", "one", ()),)), expect=0)
    assert [record.text for record in store.load("two", "s").records] == ["anew"]  # type: ignore[union-attr]
    assert [record.text for record in store.load("one", "s").records] == ["one"]  # type: ignore[union-attr]
