"""When a store fails: a named error, the session as it was, and a retry that works."""

from __future__ import annotations

import io
import resource
import shutil
import signal
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

import fanfold
from builders import tell
from fanfold import Busy, Corrupt, Full, Session, SQLite, StoreFailed
from fanfold.stores.database import failure_of
from fanfold.testing import talk


def open_on(store: SQLite) -> Session:
    return fanfold.open("run", window=9_000, store=store)


def test_a_full_disk_is_named_and_a_retry_works(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    chat = open_on(store)
    tell(chat, *talk(1))
    pages = store.database.plain("PRAGMA page_count")[0][0]
    store.database.plain(f"PRAGMA max_page_count = {pages}")
    before = chat.view().messages
    with pytest.raises(Full, match="room"):
        chat.say("x" * 100_000)
    assert chat.view().messages == before
    store.close()  # the limit is the connection's own
    chat.say("x" * 100_000)
    assert len(chat.view().messages) == len(before) + 1
    chat.close()
    assert len(open_on(store).view().messages) == len(before) + 1


def unwritten() -> sqlite3.OperationalError:
    """What SQLite says of a write that the system refused, whatever the reason."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    return error


def test_a_write_that_failed_where_there_is_room_is_not_called_full(tmp_path: Path) -> None:
    SQLite(tmp_path / "a.db").close()
    failure = failure_of(unwritten(), tmp_path / "a.db")
    assert type(failure) is StoreFailed
    assert "disk I/O error" in str(failure)
    assert [path.name for path in tmp_path.iterdir()] == ["a.db"]


def test_a_write_beyond_the_limit_of_the_process_is_called_full(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(bytes(50_000))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, old[1]))
        failure = failure_of(unwritten(), tmp_path / "a.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    assert type(failure) is Full


def test_what_is_on_a_full_disk_can_be_looked_at(tmp_path: Path) -> None:
    """The register of messages is filled when somebody looks; where that cannot be, it is done from aside."""
    store = SQLite(tmp_path / "a.db")
    chat = open_on(store)
    tell(chat, *talk(3))
    whole, head = chat.view().messages, str(chat.head)
    reader = sqlite3.connect(tmp_path / "a.db")  # so that the journal is not moved into the file
    assert reader.execute("SELECT count(*) FROM line").fetchone()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        journal = (tmp_path / "a.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal, old[1]))
        with pytest.raises(Full):
            chat.say("x" * 100_000)
        again = SQLite(tmp_path / "a.db")
        assert open_on(again).view().messages == whole
        assert again.find("default", head[:9]) == [head]
        assert again.entry("default", head) is not None
        assert fanfold.export_session(again, "run", io.BytesIO()) > len(whole)
        assert str(fanfold.doctor(again)).endswith("All is well.")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    chat.say("x" * 100_000)
    assert again.find("default", str(chat.head)) == [chat.head]
    assert fanfold.doctor(store).findings == ()
    reader.close()


def test_what_somebody_else_writes_to_can_be_looked_at(tmp_path: Path) -> None:
    with open_on(SQLite(tmp_path / "a.db")) as chat:
        tell(chat, *talk(3))
        whole, head = chat.view().messages, str(chat.head)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store = SQLite(tmp_path / "a.db", timeout=0.05)
    assert open_on(store).view().messages == whole
    assert store.find("default", head[:9]) == [head]
    other.execute("ROLLBACK")


def test_a_limit_on_file_size_is_a_full_disk(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    chat = open_on(store)
    chat.say("Hello.")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, old[1]))
        with pytest.raises(Full):
            chat.say("x" * 1_000_000)
        with pytest.raises(Full):
            store.put_blob("t", [b"x" * 3_000_000])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)
    chat.say("y" * 1_000_000)
    assert [message.text[0] for message in chat.view().messages] == ["H", "y"]
    assert store.put_blob("t", [b"x" * 3_000_000]).size == 3_000_000
    assert fanfold.doctor(store).healthy


def test_a_locked_file_is_named_and_a_retry_works(tmp_path: Path) -> None:
    chat = open_on(SQLite(tmp_path / "a.db", timeout=0.05))
    chat.say("Hello.")
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="locked"):
        chat.say("Is anyone there?")
    assert len(chat.view().messages) == 1
    other.execute("ROLLBACK")
    chat.say("Is anyone there?")
    assert len(chat.view().messages) == 2


def test_a_reply_that_could_not_be_stored_can_be_received_again(tmp_path: Path) -> None:
    chat = open_on(SQLite(tmp_path / "a.db", timeout=0.05))
    chat.merge(talk(1, 1)[:2])
    waiting = dict(chat._state.open_calls)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy):
        chat.answer(next(iter(waiting)), "done")
    assert chat._state.open_calls == waiting
    other.execute("ROLLBACK")
    for call in waiting:
        chat.answer(call, "done")
    assert chat._state.open_calls == {}


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"this is a letter to my grandmother\n" * 100)
    with pytest.raises(Corrupt, match="no database"):
        SQLite(tmp_path / "a.db")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="folder"):
        SQLite(tmp_path / "nowhere" / "a.db")


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_file_that_was_cut_off_is_never_taken_for_a_whole_one(tmp_path: Path, part: float) -> None:
    store = SQLite(tmp_path / "a.db")
    with open_on(store) as chat:
        tell(chat, *talk(12))
        whole = chat.view().messages
    store.close()
    data = (tmp_path / "a.db").read_bytes()
    (tmp_path / "a.db").write_bytes(data[: int(len(data) * part)])
    assert not fanfold.doctor(tmp_path / "a.db").healthy
    with suppress(StoreFailed, fanfold.NotFound), open_on(SQLite(tmp_path / "a.db")) as chat:
        assert chat.view().messages == whole


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    store = SQLite(folder / "a.db")
    chat = open_on(store)
    chat.say("Hello.")
    store.close()
    shutil.rmtree(folder)
    with pytest.raises(StoreFailed):
        chat.say("Still there?")
    assert len(chat.view().messages) == 1


def test_after_half_an_erasure_the_session_goes_on(tmp_path: Path) -> None:
    """The content is gone, but somebody reads, so the journal could not be emptied: the erasure counts as written."""
    chat = open_on(SQLite(tmp_path / "a.db", timeout=0.05))
    entry = chat.say("my secret name")
    reader = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM line").fetchone()
    with pytest.raises(Busy, match="Erase once more"):
        chat.erase(entry.id, "asked for")
    assert [message.text for message in chat.view().messages] == ["[erased: asked for]"]
    chat.say("And then?")
    reader.close()
    chat.erase(entry.id, "asked for")
    assert len(chat.view().messages) == 2
