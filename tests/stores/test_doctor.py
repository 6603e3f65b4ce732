"""The doctor sees damage, mends what can be mended, and says what cannot."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

import fanfold
from builders import calls, tell
from fanfold import SQLite
from fanfold.testing import talk

LARGE = b"0123456789" * 200_000


def kept(tmp_path: Path) -> SQLite:
    store = SQLite(tmp_path / "a.db")
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, *talk(2))
        chat.note("state", "red")
    store.put_blob("t", [LARGE])
    store.put_blob("t", [b"small"])
    return store


def change(store: SQLite, sql: str) -> None:
    store.close()
    other = sqlite3.connect(store.file)
    other.execute(sql)
    other.commit()
    other.close()


def test_a_healthy_store_is_told_to_be_well(tmp_path: Path) -> None:
    report = fanfold.doctor(kept(tmp_path))
    assert report.healthy
    assert str(report).endswith("1 sessions, 26 lines, 2 blobs looked over\nAll is well.")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("UPDATE line SET record = x'c1' WHERE key % 4294967296 = 4", "cannot be read"),
        ("UPDATE line SET version = 99 WHERE key % 4294967296 = 4", "counts as version 99"),
        ("DELETE FROM line WHERE key % 4294967296 = 4", "missing"),
        (
            "UPDATE line SET body = (SELECT body FROM line LIMIT 1) WHERE key % 4294967296 = 3",
            "what its id says",
        ),
        ("UPDATE line SET id = x'61' WHERE key % 4294967296 = 3", "is missing"),
        ("UPDATE blob SET data = x'00' WHERE data IS NOT NULL", "damaged"),
    ],
)
def test_damage_in_a_row_is_named(tmp_path: Path, sql: str, says: str) -> None:
    store = kept(tmp_path)
    change(store, sql)
    report = fanfold.doctor(store)
    assert not report.healthy
    assert says in str(report)
    assert str(report).endswith("from a copy.")


@pytest.mark.parametrize("size", [100_000, 2_000_000])
def test_an_output_whose_blob_is_missing_is_named(tmp_path: Path, size: int) -> None:
    store = kept(tmp_path)
    with fanfold.open("tools", window=9_000, store=store) as chat:
        tell(chat, calls("c1"))
        chat.answer("c1", b"\x00" * size)
    assert fanfold.doctor(store).findings == ()
    change(store, f"DELETE FROM blob WHERE size = {size}")
    report = fanfold.doctor(store)
    assert not report.healthy
    assert "session 'tools', line 4: the blob" in str(report)
    with fanfold.open("tools", window=9_000, store=store) as chat:
        chat.erase("o1", "lost")
    assert fanfold.doctor(store).healthy


@pytest.mark.parametrize("content", [None, LARGE[:-1], b"X" + LARGE[1:]])
def test_damage_in_a_blob_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    store = kept(tmp_path)
    place = next(path for path in (tmp_path / "a.db.blobs").rglob("*") if path.is_file())
    place.unlink() if content is None else place.write_bytes(content)
    assert not fanfold.doctor(store).healthy


def test_files_that_belong_to_nobody_are_cleared_away(tmp_path: Path) -> None:
    store = kept(tmp_path)
    path, file = store.files.unfinished()
    os.close(file)
    os.utime(path, (0, 0))
    stray = tmp_path / "a.db.blobs" / "ab" / "cd"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x")
    report = fanfold.doctor(store)
    assert [finding.mended for finding in report.findings] == [True, True]
    assert report.healthy
    assert not path.exists()
    assert not stray.exists()


def test_a_blob_that_is_being_taken_in_is_left_alone(tmp_path: Path) -> None:
    store = kept(tmp_path)
    path, file = store.files.unfinished()
    os.close(file)
    assert fanfold.doctor(store).findings == ()
    assert path.exists()


def test_a_checkpoint_that_cannot_be_read_is_forgotten(tmp_path: Path) -> None:
    store = kept(tmp_path)
    change(store, "UPDATE checkpoint SET body = x'c1'")
    report = fanfold.doctor(store)
    assert report.healthy
    assert "checkpoint" in str(report)
    assert fanfold.open("run", window=9_000, store=store).view().messages


def test_told_only_to_look_the_doctor_changes_nothing(tmp_path: Path) -> None:
    store = kept(tmp_path)
    change(store, "UPDATE checkpoint SET body = x'c1'")
    assert not fanfold.doctor(store, mend=False).healthy
    assert not fanfold.doctor(store, mend=False).healthy


def test_a_damaged_register_is_made_anew(tmp_path: Path) -> None:
    store = kept(tmp_path)
    assert store.find("default", "")  # whoever looks fills it
    store.close()
    other = sqlite3.connect(store.file)
    root = other.execute("SELECT rootpage FROM sqlite_master WHERE name = 'register'").fetchone()[0]
    size = other.execute("PRAGMA page_size").fetchone()[0]
    other.close()
    with store.file.open("r+b") as file:
        file.seek((root - 1) * size + size - 60)
        file.write(b"damage")
    report = fanfold.doctor(store)
    assert report.findings
    assert report.healthy, str(report)
    assert fanfold.doctor(store).findings == ()


@pytest.mark.parametrize("sql", ["DELETE FROM register", "UPDATE register SET key = key + 1"])
def test_a_register_that_contradicts_the_lines_is_made_anew(tmp_path: Path, sql: str) -> None:
    store = kept(tmp_path)
    assert store.find("default", "")
    change(store, sql)
    assert not fanfold.doctor(store, mend=False).healthy
    assert fanfold.doctor(store).healthy
    assert fanfold.doctor(store).findings == ()


def test_a_file_that_is_no_database_is_reported_not_raised(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"hello " * 1_000)
    assert "no database" in str(fanfold.doctor(tmp_path / "a.db"))


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(fanfold.NotFound):
        fanfold.doctor(f"sqlite:{tmp_path / 'a.db'}")
    assert not (tmp_path / "a.db").exists()


def test_the_doctor_can_be_called_more_than_once(tmp_path: Path) -> None:
    with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path}/agent.db") as chat:
        chat.say("Hello")
    assert all(fanfold.doctor(tmp_path / "agent.db").healthy for _ in range(2))


def open_files(folder: Path) -> list[str]:
    """The files in a folder that this process has open."""
    links = (Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return [
        str(link.readlink()) for link in links if link.is_symlink() and link.readlink().is_relative_to(folder)
    ]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not say which files are open")
def test_the_doctor_leaves_no_file_open(tmp_path: Path) -> None:
    SQLite(tmp_path / "a.db").close()
    fanfold.doctor(tmp_path / "a.db")
    fanfold.doctor(f"sqlite:{tmp_path / 'a.db'}")
    assert open_files(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not say which files are open")
def test_a_file_that_is_opened_anew_because_it_changed_is_open_once(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    before = open_files(tmp_path)
    store.database._seen = ()  # as where nothing can be written, and somebody put another file in its place
    store.load("t", "s")
    assert open_files(tmp_path) == before
