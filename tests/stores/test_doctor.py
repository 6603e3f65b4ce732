"""The doctor sees damage, repairs what can be repaired, and says what cannot."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
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
    assert str(report).endswith("1 session, 26 lines, 2 blobs looked over\nAll is well.")


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("UPDATE line SET record = x'c1' WHERE key % 4294967296 = 4", "cannot be read"),
        ("UPDATE line SET version = 99 WHERE key % 4294967296 = 4", "counts as version 99"),
        ("DELETE FROM line WHERE key % 4294967296 = 4", "missing"),
        (
            "UPDATE line SET message = (SELECT message FROM line LIMIT 1) WHERE key % 4294967296 = 3",
            "is damaged",
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
    assert "What is damaged has to come from a copy." in str(report)


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


def test_files_that_belong_to_nobody_are_listed_and_deleted_when_told(tmp_path: Path) -> None:
    """After a loss they may be all that is left (19.5); only what was never finished goes by itself."""
    store = kept(tmp_path)
    path, file = store.files.unfinished()
    os.close(file)
    os.utime(path, (0, 0))
    stray = tmp_path / "a.db.blobs" / "ab" / "cd"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"x")
    report = fanfold.doctor(store)
    assert sorted((finding.repaired, finding.unused) for finding in report.findings) == [
        (False, True),
        (True, True),
    ]
    assert report.healthy
    assert "unused: cd belongs to no blob" in str(report)
    assert "--clear" in str(report)
    assert not path.exists()
    assert stray.exists()
    assert fanfold.doctor(store, repair=False, clear=True).healthy
    assert stray.exists()
    assert [finding.repaired for finding in fanfold.doctor(store, clear=True).findings] == [True]
    assert not stray.exists()


def test_the_file_of_a_blob_that_was_lost_is_not_deleted_by_the_doctor(tmp_path: Path) -> None:
    """It is the last remnant (19.5)."""
    store = kept(tmp_path)
    change(store, "DELETE FROM blob WHERE data IS NULL")
    fanfold.doctor(store)
    (place,) = (path for path in (tmp_path / "a.db.blobs").rglob("*") if path.is_file())
    assert place.read_bytes() == LARGE


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
    assert not fanfold.doctor(store, repair=False).healthy
    assert not fanfold.doctor(store, repair=False).healthy


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
    assert not fanfold.doctor(store, repair=False).healthy
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


def test_a_table_whose_description_is_damaged_is_named(tmp_path: Path) -> None:
    store = kept(tmp_path)
    store.close()
    data = store.file.read_bytes()
    store.file.write_bytes(
        data.replace(b"    seq INTEGER NOT NULL,\n    body", b"    Seq INTEGER NOT NULL,\n    bo4y")
    )
    assert "the table checkpoint" in str(fanfold.doctor(store))


DAMAGED_NAMES = [
    ("UPDATE session SET name = x'ff00fe'", "its name cannot be read"),
    ("UPDATE session SET name = x'72756f'", "its name is not 'ruo', as it says"),
    ("DELETE FROM session", "has lines, but no name that can be read"),
    ("UPDATE tenant SET name = x'ff00fe' WHERE number = 1", "its name cannot be read"),
    ("UPDATE line SET id = x'ff00fe' WHERE id IS NOT NULL", "no text"),
    ("UPDATE blob SET id = x'ff00fe' WHERE data IS NULL", "no text"),
    ("UPDATE line SET record = NULL", "is gone"),
    ("UPDATE line SET record = 7, message = 'x', version = 'x'", "is gone"),
    ("DELETE FROM line WHERE key = (SELECT max(key) FROM line)", "lines at its end are missing"),
]


@pytest.mark.parametrize(("sql", "says"), DAMAGED_NAMES)
def test_the_doctor_does_not_fall_over_names_and_ids_that_cannot_be_read(
    tmp_path: Path, sql: str, says: str
) -> None:
    """(19.5)"""
    store = kept(tmp_path)
    assert store.find("default", "")
    change(store, sql)
    report = fanfold.doctor(store)
    assert not report.healthy
    assert says in str(report)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE session SET name = x'ff00fe' WHERE number = 1",
        "UPDATE tenant SET name = x'ff00fe' WHERE number = 1",
        "UPDATE line SET id = x'ff00fe' WHERE tenant = 1 AND id IS NOT NULL",
        "UPDATE line SET message = x'00' WHERE tenant = 1 AND id IS NOT NULL",
        "DELETE FROM line WHERE key = (SELECT max(key) FROM line WHERE tenant = 1)",
        "DELETE FROM checkpoint; UPDATE line SET record = NULL WHERE key = (1 << 32) + 3",
        "DELETE FROM checkpoint; DELETE FROM line WHERE key = (1 << 32) + 3",
    ],
)
def test_a_damaged_session_opens_and_says_so_when_it_is_used(tmp_path: Path, sql: str) -> None:
    """(19.5) `open` works, `request` raises `Corrupt` with its name, and other sessions go on."""
    store = kept(tmp_path)
    with fanfold.open("other", window=9_000, store=store, tenant="another") as chat:
        chat.say("Good day.")
    store.close()
    with closing(sqlite3.connect(store.file)) as other:
        other.executescript(sql)
    store = SQLite(store.file)
    with fanfold.open("run", window=9_000, store=store, system="New rules.") as chat:
        for use in (lambda: chat.request(max_tokens=100), chat.view, lambda: chat.say("Still here?")):
            with pytest.raises(fanfold.Corrupt, match="'run' is damaged"):
                use()
    with fanfold.open("other", window=9_000, store=store, tenant="another") as chat:
        assert chat.request(max_tokens=100)["messages"] == [{"role": "user", "content": "Good day."}]


def unruled(path: Path, table: str, column: str, *sqls: str) -> None:
    """Change a file as a flipped bit does, which asks no rule of a column."""
    rule = f"{column} INTEGER NOT NULL"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        (was,) = other.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        described(other, table, was.replace(rule, f"{column} INTEGER"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for sql in sqls:
            assert other.execute(sql).rowcount
        described(other, table, was)


def described(connection: sqlite3.Connection, table: str, sql: str) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, table))


NOBODY_S = "UPDATE line SET tenant = NULL WHERE key = "


@pytest.mark.parametrize("forget", [(), ("DELETE FROM checkpoint",)], ids=["resumed", "read"])
@pytest.mark.parametrize(
    ("table", "column", "sql", "says"),
    [
        ("line", "tenant", f"{NOBODY_S} (2 << 32) + 3", "line 3: it belongs to another tenant"),
        ("line", "tenant", f"{NOBODY_S} (SELECT max(key) FROM line WHERE key >> 32 = 2)", "another tenant"),
        ("waiting", "key", "UPDATE waiting SET key = NULL WHERE session = 2", "NULL value in waiting.key"),
    ],
    ids=["in the middle", "at the end", "what waits"],
)
def test_a_line_that_belongs_to_nobody_stops_its_own_session_only(
    tmp_path: Path, table: str, column: str, sql: str, says: str, forget: tuple[str, ...]
) -> None:
    """(19.5) The doctor names it, its session raises `Corrupt` when used, and others go on."""
    store = SQLite(tmp_path / "a.db")
    for name in ("other", "run"):  # the register has what was said before the last session began
        with fanfold.open(name, window=9_000, store=store, system=name) as chat:
            chat.say(f"Words of {name}'s own come first.")
            tell(chat, *talk(2))
            chat.say(f"This is {name}.")
    store.close()
    unruled(store.file, table, column, sql, *forget)
    before = lines(store.file)
    store = SQLite(store.file)
    with (
        fanfold.open("run", window=9_000, store=store, system="New rules.") as chat,
        pytest.raises(fanfold.Corrupt, match="'run' is damaged"),
    ):
        chat.request(max_tokens=100)
    with fanfold.open("other", store=store) as chat:
        assert chat.view().messages[-1].text == "This is other."
        chat.say("Going on.")
    assert lines(store.file)[: len(before)] == before
    assert says in str(fanfold.doctor(store, repair=False))


def lines(path: Path) -> list[tuple[object, ...]]:
    """What is kept of the damaged session."""
    with closing(sqlite3.connect(path)) as other:
        return other.execute("SELECT * FROM line WHERE key >> 32 = 2 ORDER BY key").fetchall()


def test_what_a_damaged_file_refuses_is_called_damage(tmp_path: Path) -> None:
    """(19.5) The register knows a message whose line is lost, and the same words are said again."""
    store = SQLite(tmp_path / "a.db")
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("Good day.")
    assert store.find("default", "")
    change(store, "DELETE FROM line WHERE id IS NOT NULL")
    with (
        fanfold.open("again", window=9_000, store=SQLite(store.file)) as chat,
        pytest.raises(fanfold.Corrupt, match="damaged"),
    ):
        chat.say("Good day.")


OPENING = "UPDATE line SET record = NULL WHERE key = (1 << 32) + 1"


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE line SET record = NULL WHERE key = (1 << 32) + 3",
        "UPDATE line SET record = NULL WHERE key < (SELECT max(key) - 3 FROM line)",
        "UPDATE line SET message = x'00' WHERE id IS NOT NULL",
        "UPDATE line SET version = 'x' WHERE key = (SELECT max(key) FROM line)",
        "DELETE FROM line WHERE key BETWEEN (1 << 32) + 2 AND (1 << 32) + 9",
        f"{OPENING}; UPDATE line SET record = NULL WHERE key = (1 << 32) + 7",
    ],
)
def test_a_damaged_session_without_a_checkpoint_opens_as_it_was_opened(tmp_path: Path, sql: str) -> None:
    """(19.5) It was killed before it kept one. What it was last opened with is read, whatever else cannot be."""
    store = kept(tmp_path)
    with fanfold.open("run", window=8_000, dialect="anthropic", store=store) as chat:
        chat.say("Once more.")
    store.close()
    with closing(sqlite3.connect(store.file)) as other:
        other.executescript(f"DELETE FROM checkpoint; {sql}")
    with fanfold.open("run", store=SQLite(store.file)) as chat:
        terms = chat._state.terms
        assert (terms.budget.window, terms.dialect.name) == (8_000, "anthropic")
        with pytest.raises(fanfold.Corrupt, match="'run' is damaged"):
            chat.request(max_tokens=100)


def test_a_session_whose_opening_is_damaged_says_so_at_once(tmp_path: Path) -> None:
    """(19.5) Without a checkpoint nobody knows its window then."""
    store = kept(tmp_path)
    store.close()
    with closing(sqlite3.connect(store.file)) as other:
        other.executescript(f"DELETE FROM checkpoint; {OPENING}")
    with pytest.raises(fanfold.Corrupt, match="damaged"):
        fanfold.open("run", store=SQLite(store.file))


def test_a_damaged_checkpoint_costs_only_time(tmp_path: Path) -> None:
    """(19.5)"""
    store = kept(tmp_path)
    before = fanfold.open("run", window=9_000, store=store).request(max_tokens=100)
    change(store, "UPDATE checkpoint SET body = substr(body, 1, 40) || x'00' || substr(body, 42)")
    assert fanfold.open("run", window=9_000, store=SQLite(store.file)).request(max_tokens=100) == before


def test_a_new_session_does_not_take_the_lines_of_one_that_was_lost_for_its_own(tmp_path: Path) -> None:
    """(19.5)"""
    store = kept(tmp_path)
    change(store, "DELETE FROM session")
    with fanfold.open("new", window=9_000, store=SQLite(store.file)) as chat:
        chat.say("Hello.")
        assert [message.text for message in chat.view().messages] == ["Hello."]
    assert store.load("default", "new").seq < 5


@pytest.mark.parametrize("damage", ["UPDATE session SET name = x'ff00fe'", "DELETE FROM session"])
def test_nothing_is_deleted_that_a_session_names_which_cannot_be_read(tmp_path: Path, damage: str) -> None:
    """(19.5) Its blobs are in use, for all that anybody knows."""
    store = kept(tmp_path)
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.add(calls("c1"))
        chat.answer("c1", "a line\n" * 200_000)
    change(store, damage)
    used = store.blobs("default")
    assert used
    with pytest.raises(fanfold.Corrupt):
        store.drop_blobs("default", [blob.id for blob in used])
    assert store.blobs("default") == used
    assert store.sessions("default") == []


def test_a_changed_range_of_a_blob_is_not_read(tmp_path: Path) -> None:
    """(19.5) A range is checked by itself, in the file and beside it."""
    store = kept(tmp_path)
    large, small = sorted(store.blobs("t"), key=lambda blob: -blob.size)
    change(store, "UPDATE blob SET data = CAST('smell' AS BLOB) WHERE data IS NOT NULL")
    place = store.files.path("t", large.id)
    place.write_bytes(LARGE[:700_000] + b"X" + LARGE[700_001:])
    assert b"".join(store.get_blob("t", large.id, 5, 9)) == LARGE[5:9]
    for blob, start in ((large, 700_005), (small, 0)):
        with pytest.raises(fanfold.Corrupt, match="damaged"):
            b"".join(store.get_blob("t", blob.id, start, start + 3))
