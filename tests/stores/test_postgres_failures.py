"""When the server fails: a named error, the session as it was, and a retry that works."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import fanfold
from builders import tell
from conftest import hurry
from fanfold import Busy, Postgres, Session, StoreFailed
from fanfold.testing import talk
from postgres_server import PostgresServer, running

Connect = Callable[..., Postgres]


@pytest.fixture(scope="module")
def mortal() -> Iterator[PostgresServer]:
    """A server that may be stopped without harm to others."""
    with running("fsync=off", "shared_buffers=16MB") as server:
        yield server


def open_on(store: Postgres) -> Session:
    return fanfold.open("run", window=9_000, store=store)


def lose_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'fanfold' AND pid <> pg_backend_pid()"
        )


def test_a_lost_connection_is_made_anew_without_anybody_noticing(mortal: PostgresServer) -> None:
    chat = open_on(Postgres(mortal.url, schema="lost"))
    chat.say("first")
    lose_connections(mortal.url)
    chat.say("second")
    assert [message.text for message in chat.view().messages] == ["first", "second"]
    assert len(chat._state.terms.tenant.store.load("default", "run").records) == 3


KILLER = """
import sys, time, psycopg
server = psycopg.connect(sys.argv[1], autocommit=True)
waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%cut.append%'"
while not (found := server.execute(waiting).fetchall()):
    time.sleep(0.01)
server.execute("SELECT pg_terminate_backend(%s)", found[0])
time.sleep(0.1)
holding = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
server.execute(holding)
"""


def test_an_append_cut_off_in_the_middle_is_written_once(mortal: PostgresServer) -> None:
    store = Postgres(mortal.url, schema="cut")
    chat = open_on(store)
    chat.say("first")
    with psycopg.connect(mortal.url) as other:
        other.execute("SELECT 1 FROM cut.session FOR UPDATE")
        killer = subprocess.Popen([sys.executable, "-c", KILLER, mortal.url])
        chat.say("second")
        assert killer.wait() == 0
        other.close()
    assert [message.text for message in open_on_again(store)] == ["first", "second"]


def open_on_again(store: Postgres) -> Any:
    other = Postgres(store.server._info, schema="cut")
    try:
        return open_on(other).view().messages
    finally:
        other.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_a_server_that_is_away_is_named_and_a_retry_works(
    mortal: PostgresServer, how: signal.Signals
) -> None:
    store = Postgres(mortal.url, schema=f"away_{how.name.lower()}", timeout=20)
    chat = open_on(store)
    tell(chat, *talk(1))
    before = chat.view().messages
    mortal.stop(how)
    try:
        with pytest.raises(StoreFailed, match="cannot be reached"):
            chat.say("Still there?")
        with pytest.raises(StoreFailed, match="cannot be reached"):
            chat.say("And now?")
        assert chat.view().messages == before
    finally:
        mortal.start()
    chat.say("Still there?")
    assert len(chat.view().messages) == len(before) + 1
    chat.close()
    store.close()
    assert len(open_on(store).view().messages) == len(before) + 1


def test_a_restarted_server_is_not_noticed(mortal: PostgresServer) -> None:
    store = Postgres(mortal.url, schema="restarted")
    chat = open_on(store)
    chat.say("first")
    mortal.stop()
    mortal.start()
    chat.say("second")
    assert len(chat.view().messages) == 2


LOST = """
import sys, fanfold, psycopg
from fanfold.core.record import Answered
from fanfold.stores import Batch
store = fanfold.Postgres(sys.argv[1], schema="midway")
batch = Batch((Answered("k", "t", ()),))
def batches():
    yield batch
    with psycopg.connect(sys.argv[1], autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'fanfold' AND pid <> pg_backend_pid()")
    yield batch
try:
    store.create("t", "run", batches())
except fanfold.StoreFailed as error:
    print(len(store.load("t", "run").records), error)
print(store.create("t", "run", [batch, batch]).seq)
"""


def test_a_session_cut_off_in_the_middle_is_not_there_by_half(mortal: PostgresServer) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST, mortal.url], capture_output=True, timeout=120, text=True
    )
    assert done.stderr == ""
    failed, made = done.stdout.splitlines()
    assert failed.startswith("0 ")
    assert "cannot be reached" in failed
    assert made == "2"


def drop_blobs_lost(store: Postgres, url: str) -> None:
    """Let the connection be lost while a blob is dropped."""
    rows = type(store.server).rows

    def lost(server: Any, name: str, **values: Any) -> Any:
        lose_connections(url)
        return rows(server, name, **values)

    store.server.rows = lost.__get__(store.server)  # type: ignore[method-assign]
    try:
        with pytest.raises(StoreFailed, match="cannot be reached"):
            store.drop_blobs("t", [blob.id for blob in store.blobs("t")])
    finally:
        del store.server.rows  # type: ignore[method-assign]


def test_a_blob_whose_dropping_was_cut_off_is_whole(mortal: PostgresServer) -> None:
    store = Postgres(mortal.url, schema="dropping")
    blob = store.put_blob("t", [b"x" * 3_000_000])
    drop_blobs_lost(store, mortal.url)
    assert b"".join(store.get_blob("t", blob.id)) == b"x" * 3_000_000
    assert store.drop_blobs("t", [blob.id]) == []
    assert store.blobs("t") == []
    store.close()


def test_a_server_that_is_not_there_is_named_at_once() -> None:
    with pytest.raises(StoreFailed, match="cannot be reached"):
        Postgres("postgresql://nobody:secret@127.0.0.1:1/none", timeout=2)


def test_no_error_tells_the_password() -> None:
    with pytest.raises(StoreFailed) as caught:
        Postgres("postgresql://nobody:sesame@127.0.0.1:1/none", timeout=2)
    assert "sesame" not in str(caught.value)


def test_a_session_that_is_held_by_somebody_is_named_and_a_retry_works(
    connect: Connect, url: str, schema: str
) -> None:
    chat = open_on(store := connect(connections=1))
    chat.say("first")
    hurry(store)
    with psycopg.connect(url) as other:
        other.execute(f"SELECT 1 FROM {schema}.session FOR UPDATE")
        with pytest.raises(Busy, match="Try again"):
            chat.say("second")
        assert len(chat.view().messages) == 1
    chat.say("second")
    assert len(chat.view().messages) == 2


def test_a_user_who_may_not_write_is_told_so(connect: Connect, url: str, schema: str) -> None:
    connect().close()
    with psycopg.connect(url, autocommit=True) as plain:
        plain.execute(f"CREATE ROLE {schema}_reader; GRANT USAGE ON SCHEMA {schema} TO {schema}_reader")
        plain.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_reader")
    joined = url + ("&" if "?" in url else "?") + f"options=-c%20role%3D{schema}_reader"
    reader = Postgres(joined, schema=schema)
    try:
        with pytest.raises(StoreFailed, match="cannot be written"):
            open_on(reader).say("Hello.")
    finally:
        reader.close()
        with psycopg.connect(url, autocommit=True) as plain:
            plain.execute(f"DROP OWNED BY {schema}_reader; DROP ROLE {schema}_reader")


def test_a_server_that_only_lets_look_is_looked_at(connect: Connect, url: str, schema: str) -> None:
    with open_on(connect()) as chat:
        tell(chat, *talk(2))
        whole = chat.view().messages
    joined = url + ("&" if "?" in url else "?") + "options=-c%20default_transaction_read_only%3Don"
    replica = Postgres(joined, schema=schema)
    try:
        chat = open_on(replica)
        assert chat.view().messages == whole
        assert fanfold.doctor(replica).findings == ()
        assert fanfold.export_session(replica, "run", io.BytesIO()) > len(whole)
        for verb in (lambda: chat.say("Hello."), lambda: chat.erase(str(chat.head), "no")):
            with pytest.raises(StoreFailed, match="cannot be written"):
                verb()
        assert chat.view().messages == whole
    finally:
        replica.close()


def test_a_failed_erasure_changes_nothing(connect: Connect, url: str, schema: str) -> None:
    chat = open_on(store := connect(connections=1))
    entry = chat.say("Keep me.")
    hurry(store)
    with psycopg.connect(url) as other:
        other.execute(f"SELECT 1 FROM {schema}.session FOR UPDATE")
        with pytest.raises(Busy):
            chat.erase(entry.id, "no")
    assert chat.view().messages[0].text == "Keep me."
    assert open_on(connect()).view().messages[0].text == "Keep me."


def test_a_process_that_does_not_close_its_store_ends_quietly(
    url: str, schema: str, connect: Connect
) -> None:
    code = (
        "import sys, fanfold; store = fanfold.Postgres(sys.argv[1], schema=sys.argv[2])\n"
        "fanfold.open('run', window=9_000, store=store).say('Hello.')"
    )
    done = subprocess.run([sys.executable, "-c", code, url, schema], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(connect().load("default", "run").records) == 2


def test_a_lost_connection_leaves_nothing_on_the_screen(mortal: PostgresServer) -> None:
    code = (
        "import sys, fanfold, psycopg; store = fanfold.Postgres(sys.argv[1], schema='silent')\n"
        "chat = fanfold.open('run', window=9_000, store=store); chat.say('first')\n"
        "other = psycopg.connect(sys.argv[1], autocommit=True)\n"
        "other.execute('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()')\n"
        "chat.say('second')"
    )
    done = subprocess.run([sys.executable, "-c", code, mortal.url], capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
