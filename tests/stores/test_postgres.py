"""PostgreSQL: opened again, shared by sessions, apart for tenants, migrated by whoever comes first."""

from __future__ import annotations

import asyncio
import builtins
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from test_sqlite import HOSTILE

import fanfold
from builders import asks, calls, gives, says, tell
from fanfold import BadSetting, Corrupt, Gone, MissingExtra, Moved, NotFound, Postgres, Sealed, StoreFailed
from fanfold.core import record as records
from fanfold.core.message import user
from fanfold.core.record import Answered
from fanfold.stores.store import Batch
from fanfold.stores.tenant_tree import TenantTree
from fanfold.testing import check_store, talk

Connect = Callable[..., Postgres]
MOVE = Batch((records.Move("x"),))
SMALL, LARGE = b"small " * 1_000, bytes(range(256)) * 12_000


def test_a_store_proves_itself(connect: Connect) -> None:
    check_store(connect())


def test_a_sealed_store_proves_itself(connect: Connect) -> None:
    check_store(connect(key="0f" * 32))


def test_a_session_goes_on_where_it_ended(url: str) -> None:
    name = f"run-{os.urandom(4).hex()}"
    with fanfold.open(name, window=4_000, store=url, system="Be brief.") as chat:
        chat.merge(talk(2))
        chat.note("state", "tests are red")
        sent = chat.request(max_tokens=100)
    with fanfold.open(name, window=4_000, store=url) as again:
        assert again.request(max_tokens=100) == sent


def test_within_a_process_the_same_name_is_the_same_store(url: str) -> None:
    with (
        fanfold.open("one", window=4_000, store=url) as one,
        fanfold.open("two", window=4_000, store=url) as two,
    ):
        assert one._state.terms.tenant is two._state.terms.tenant


def test_a_session_opens_from_its_checkpoint(connect: Connect) -> None:
    store = connect()
    with fanfold.open("run", window=10**6, store=store) as chat:
        tell(chat, *talk(3))
        shown = chat.view().messages
    kept = store.checkpoint("default", "run")
    assert kept is not None
    assert kept[0] == store.load("default", "run").seq
    with fanfold.open("run", window=10**6, store=store) as chat:
        assert chat._state.log.resumed_at > 0
        assert chat.view().messages == shown


def test_a_checkpoint_that_came_late_is_not_kept(connect: Connect) -> None:
    store = connect()
    with fanfold.open("run", window=10**6, store=store) as chat:
        chat.say("Hello.")
    kept = store.checkpoint("default", "run")
    assert kept is not None
    store.append("default", "run", Batch((Answered("k", "a", ()),)), expect=None)
    store.keep_checkpoint("default", "run", kept[0] + 5, kept[1])
    assert store.checkpoint("default", "run") == kept


def test_whoever_expects_an_older_version_is_told_so(connect: Connect) -> None:
    store = connect()
    assert store.append("t", "s", MOVE, expect=0).version == 1
    with pytest.raises(Moved, match="somebody wrote first"):
        store.append("t", "s", MOVE, expect=0)
    assert len(store.load("t", "s").records) == 1


def test_whoever_expects_something_of_a_session_nobody_wrote_to_is_told_so(connect: Connect) -> None:
    store = connect()
    with pytest.raises(Moved):
        store.append("t", "s", MOVE, expect=3)
    assert store.sessions("t") == []


def test_a_second_writer_is_noticed_by_one_who_just_wrote(connect: Connect) -> None:
    one, two = connect(), connect()
    one.append("t", "s", MOVE, expect=0)
    two.append("t", "s", MOVE, expect=1)
    with pytest.raises(Moved):
        one.append("t", "s", MOVE, expect=1)
    assert one.append("t", "s", Batch((Answered("k", "a", ()),)), expect=None).was == 2


def test_an_append_whose_answer_was_lost_is_written_once(connect: Connect) -> None:
    store = connect()
    values = store._values("t", "s", MOVE, 0, 0)
    first = store.server.rows_once("append", **values)
    assert store.server.rows_once("append", **values) == first
    assert len(store.load("t", "s").records) == 1


def test_only_what_came_later_is_loaded(connect: Connect) -> None:
    store = connect()
    for n in range(5):
        store.append("t", "s", Batch((Answered(str(n), "", ()),)), expect=0)
    later = store.load("t", "s", after=3)
    assert [record.key for record in later.records if isinstance(record, Answered)] == ["3", "4"]
    assert (later.seq, store.load("t", "s", after=5).records) == (5, [])


def test_the_same_beginning_is_kept_once(connect: Connect, url: str, schema: str) -> None:
    store = connect()
    for name in ("one", "two"):
        with fanfold.open(name, window=9_000, store=store) as chat:
            tell(chat, asks("Mend it."), calls("c1"), gives("c1", "done"), says("Done."))
    with psycopg.connect(url) as plain:
        assert plain.execute(f"SELECT count(*) FROM {schema}.entry").fetchone() == (4,)


def test_hostile_names_are_names_like_others(connect: Connect) -> None:
    store = connect()
    sessions = HOSTILE[::3]
    for tenant in HOSTILE:
        for session in sessions:
            store.append(tenant, session, Batch((Answered(tenant[:9] + session[:9], "", ()),)), expect=0)
    for tenant in HOSTILE:
        assert store.sessions(tenant) == sorted(sessions)
        for session in sessions:
            assert store.load(tenant, session).records == [Answered(tenant[:9] + session[:9], "", ())]


def test_no_tenant_reaches_anything_of_another(connect: Connect) -> None:
    store, tree = connect(), TenantTree()
    entry = tree.add(None, user("secret"))
    store.append("mine", "s", Batch((records.Move(entry.id),), (entry,)), expect=0)
    blob = store.put_blob("mine", [SMALL])
    store.append("yours", "s", Batch((Answered("k", "", ()),)), expect=0)
    for tenant in [*HOSTILE, "yours", "min", "mine "]:
        assert store.entry(tenant, entry.id) is None
        assert list(store.path(tenant, entry.id)) == []
        assert store.find(tenant, "") == []
        assert store.load(tenant, "s").records in ((), [Answered("k", "", ())])
        assert store.blobs(tenant) == []
        store.drop_blobs(tenant, [blob.id])
        with pytest.raises(NotFound):
            store.get_blob(tenant, blob.id)
    assert store.entry("mine", entry.id) == entry
    assert b"".join(store.get_blob("mine", blob.id)) == SMALL


def test_a_hostile_id_finds_nothing_and_breaks_nothing(connect: Connect) -> None:
    store, tree = connect(), TenantTree()
    entry = tree.add(None, user("hi"))
    store.append("t", "s", Batch((records.Move(entry.id),), (entry,)), expect=0)
    for id in HOSTILE:
        assert store.entry("t", id) is None
        assert store.find("t", id) == ([entry.id] if entry.id.startswith(id) else [])
        with pytest.raises(NotFound):
            store.get_blob("t", id)
        store.drop_blobs("t", [id])


def test_a_path_ends_where_it_is_told_to(connect: Connect) -> None:
    store, tree = connect(), TenantTree()
    entries = [tree.add(None, user("0"))]
    for n in range(1, 50):
        entries.append(tree.add(entries[-1].id, user(str(n))))
    store.append("t", "s", Batch((), tuple(entries)), expect=0)
    assert list(store.path("t", entries[-1].id)) == entries[::-1]
    assert list(store.path("t", entries[-1].id, stop=entries[20].id)) == entries[:20:-1]
    assert list(store.path("t", entries[3].id, stop=entries[3].id)) == []


def test_threads_may_share_a_store(connect: Connect) -> None:
    store = connect()

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
def test_a_forked_child_uses_connections_of_its_own(connect: Connect) -> None:
    store = connect()
    store.append("t", "s", MOVE, expect=0)
    child = os.fork()
    if child == 0:
        done = 1
        try:
            store.append("t", "s", MOVE, expect=1)
            store.close()
            done = 0
        finally:
            os._exit(done)
    assert os.waitpid(child, 0)[1] == 0
    assert store.load("t", "s").version == 2


def test_a_closed_store_connects_again_when_it_is_used(connect: Connect) -> None:
    store = connect()
    store.append("t", "s", MOVE, expect=0)
    store.close()
    assert store.load("t", "s").version == 1


def test_many_may_start_on_a_new_schema_at_once(url: str, schema: str, connect: Connect) -> None:
    code = (
        "import sys; from fanfold import Postgres; from fanfold.stores.store import Batch;"
        "from fanfold.core.record import Answered; store = Postgres(sys.argv[1], schema=sys.argv[2]);"
        "store.append('t', sys.argv[3], Batch((Answered('k', '', ()),)), expect=0)"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, url, schema, str(n)]) for n in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    assert len(connect().sessions("t")) == 4


OLDER = Path(__file__).parent / "postgres_schema_3.sql"


@pytest.fixture
def older(connect: Connect, url: str, schema: str) -> Connect:
    """A schema as an earlier release left it."""
    with psycopg.connect(url) as plain:
        plain.execute(re.sub(r"\bfanfold\b", schema, OLDER.read_text(encoding="utf-8")))  # type: ignore[arg-type]
    return connect


def test_an_older_schema_is_migrated_and_reads_as_before(older: Connect) -> None:
    store = older()
    with (
        fanfold.open("run", window=9_000, store=store) as run,
        fanfold.open("other", window=9_000, store=store) as other,
    ):
        assert [message.text for message in run.view().messages] == ["Hello.", "Hi."]
        assert [message.text for message in other.view().messages] == ["Hello.", "Good day."]
        run.say("And now?")
        run.erase(run.view().rows[0].id, "asked to")
        assert "[erased" in other.view().messages[0].text
    (blob,) = store.blobs("default")
    assert b"".join(store.get_blob("default", blob.id)) == b"a small blob"
    assert len(fanfold.open("run", window=9_000, store=older()).view().messages) == 3
    assert fanfold.doctor(store).findings == ()


FIRST = "DROP FUNCTION {0}.append, {0}.owner; DROP TABLE {0}.hold"


@pytest.mark.parametrize(("seen", "newer"), [(1, FIRST), (2, "DROP TABLE {0}.hold")])
def test_a_still_older_schema_is_migrated(
    older: Connect, url: str, schema: str, seen: int, newer: str
) -> None:
    with psycopg.connect(url) as plain:
        plain.execute(newer.format(schema))  # type: ignore[arg-type]
        plain.execute(f"DELETE FROM {schema}.migration WHERE number > {seen}")
    store = older()
    assert store.append("default", "run", MOVE, expect=2).version == 3
    assert store.put_blob("default", [b"held"], holder="me").size == 4


def test_many_may_start_on_an_older_schema_at_once(older: Connect) -> None:
    with ThreadPoolExecutor(6) as starters:
        stores = list(starters.map(lambda _: older(), range(6)))
    assert [store.append("t", str(n), MOVE, expect=0).version for n, store in enumerate(stores)] == [1] * 6


def test_a_newer_schema_is_refused_with_a_way_out(connect: Connect, url: str, schema: str) -> None:
    connect().close()
    with psycopg.connect(url) as plain:
        plain.execute(f"INSERT INTO {schema}.migration VALUES (99)")
    with pytest.raises(StoreFailed, match=r"schema 99.*Update fanfold"):
        connect()


def test_another_programs_schema_is_not_touched(connect: Connect, url: str, schema: str) -> None:
    with psycopg.connect(url) as plain:
        plain.execute(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.theirs (x integer)")
    with pytest.raises(StoreFailed, match="another program"):
        connect()


@pytest.mark.parametrize("name", ["Robert'); --", "", "a.b", "x" * 64])
def test_a_schema_is_a_plain_name(url: str, name: str) -> None:
    with pytest.raises(BadSetting, match="schema"):
        Postgres(url, schema=name)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(BadSetting, match="no address"):
        fanfold.open("run", window=9_000, store="postgresql://[")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("psycopg"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"fanfold\[postgres\]"):
        Postgres("postgresql://localhost/x")


def test_importing_fanfold_does_not_import_psycopg() -> None:
    code = "import sys, fanfold; print('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stdout.strip() == b"False"


def pieces(data: bytes, size: int = 70_001) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("key", [None, "0f" * 32])
@pytest.mark.parametrize("data", [b"", b"x", SMALL, LARGE])
def test_a_blob_comes_back_whole_and_in_ranges(connect: Connect, data: bytes, key: str | None) -> None:
    store = connect(key=key)
    blob = store.put_blob("t", pieces(data))
    assert (blob.size, b"".join(store.get_blob("t", blob.id))) == (len(data), data)
    for start, stop in [(0, 10), (5, 5), (100, 4_000), (1_048_570, 2_097_160), (5_990, 10**9), (10**9, None)]:
        assert b"".join(store.get_blob("t", blob.id, start, stop)) == data[start:stop]


def test_the_same_content_is_the_same_blob(connect: Connect) -> None:
    store = connect()
    assert store.put_blob("t", pieces(LARGE)) == store.put_blob("t", [LARGE])
    assert len(store.blobs("t")) == 1


def test_a_source_that_breaks_off_leaves_nothing(connect: Connect) -> None:
    store = connect()

    def broken() -> Iterator[bytes]:
        yield LARGE
        raise ConnectionError("the tool died")

    with pytest.raises(ConnectionError):
        store.put_blob("t", broken())
    assert store.blobs("t") == []


def test_content_that_was_changed_is_noticed_when_it_is_read_whole(
    connect: Connect, url: str, schema: str
) -> None:
    store = connect()
    changed, cut = store.put_blob("t", [SMALL]), store.put_blob("t", [LARGE])
    with psycopg.connect(url) as plain:
        plain.execute(f"UPDATE {schema}.piece SET data = overlay(data placing 'y' from 1) WHERE blob = %s",
                      [changed.id.encode()])  # fmt: skip
        plain.execute(f"DELETE FROM {schema}.piece WHERE number = 1")
    with pytest.raises(Corrupt, match="damaged"):
        list(store.get_blob("t", changed.id))
    with pytest.raises(Corrupt, match="missing"):
        list(store.get_blob("t", cut.id))


@pytest.mark.parametrize(("key", "word"), [(None, "give its `key`"), ("1f" * 32, "another key")])
def test_without_the_key_the_store_is_not_opened(connect: Connect, key: str | None, word: str) -> None:
    connect(key="0f" * 32)
    with pytest.raises(Sealed, match=word):
        connect(key=key)


def test_what_was_erased_stays_erased_for_others(connect: Connect) -> None:
    here = fanfold.open("run", window=9_000, store=connect())
    entry = here.say("zebra is my name")
    here.erase(entry.id, "a person asked")
    there = fanfold.open("new", window=9_000, store=connect())
    with pytest.raises(Gone, match="again=True"):
        there.say("zebra is my name")
    assert there.head is None
    there.say("zebra is my name", again=True)
    assert there.view().messages[0].text == "zebra is my name"


def test_a_session_open_elsewhere_sees_the_erasure_when_it_looks_again(connect: Connect) -> None:
    here = fanfold.open("run", window=9_000, store=connect())
    entry = here.say("zebra is my name")
    there = fanfold.open("run", window=9_000, store=connect(), on_moved="reapply")
    here.erase(entry.id, "a person asked")
    there.say("Go on.")
    assert [message.text for message in there.view().messages] == ["[erased: a person asked]", "Go on."]


def test_async_sessions_keep_their_order(connect: Connect) -> None:
    store = connect()

    async def run() -> list[str]:
        async with fanfold.aopen("run", window=9_000, store=store) as chat:
            await asyncio.gather(*(chat.say(str(n)) for n in range(10)))
            return [message.text for message in (await chat.view()).messages]

    assert asyncio.run(run()) == [str(n) for n in range(10)]


def test_the_loop_goes_on_while_the_server_is_waited_for(connect: Connect, url: str, schema: str) -> None:
    store = connect()

    async def run() -> bool:
        async with fanfold.aopen("run", window=9_000, store=store) as chat:
            await chat.say("first")
            with psycopg.connect(url) as other:
                other.execute(f"SELECT 1 FROM {schema}.session FOR UPDATE")
                said = asyncio.create_task(chat.say("second"))
                for _ in range(10):
                    await asyncio.sleep(0.005)
                waited = not said.done()
            await said
            return waited

    assert asyncio.run(run())


def test_whoever_says_it_while_it_is_erased_meets_the_stub(connect: Connect, url: str, schema: str) -> None:
    here, there = connect(), connect()
    chat = fanfold.open("run", window=9_000, store=here)
    entry = chat.say("zebra is my name")
    batch, met = Batch((records.Move(entry.id),), (entry,)), list[object]()

    def say_it_too() -> None:
        try:
            met.append(there.append("default", "new", batch, expect=0))
        except Gone as gone:
            met.extend(gone.stubs)

    erasing, saying = (
        threading.Thread(target=chat.erase, args=(entry.id, "no")),
        threading.Thread(target=say_it_too),
    )
    with psycopg.connect(url, autocommit=True) as watch, psycopg.connect(url) as other:
        other.execute(f"SELECT 1 FROM {schema}.session FOR UPDATE")
        for waiting, thread in enumerate((erasing, saying), 1):
            thread.start()
            while len(watch.execute(WAITING, [f"%{schema}%"]).fetchall()) < waiting:
                time.sleep(0.005)
    for thread in (erasing, saying):
        thread.join()
    assert met == [here.entry("default", entry.id)]
    assert there.sessions("default") == ["run"]


WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"


def test_what_was_learned_is_taken_over_from_the_server(connect: Connect) -> None:
    with fanfold.open("run", window=9_000, model="some-model", store=connect()) as chat:
        chat.say("Hello. " * 50)
        chat.request()
        usage = {"prompt_tokens": 2 * chat.view().tokens, "completion_tokens": 5}
        message = {"role": "assistant", "content": "Hi."}
        chat.receive({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
        taught = chat._state.learned.inherited()
    other = fanfold.open("other", window=9_000, model="some-model", store=connect())
    assert other._state.learned == taught
    assert taught != type(taught)()
