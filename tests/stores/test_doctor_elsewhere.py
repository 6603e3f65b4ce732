"""The doctor on a PostgreSQL server, and with blobs in object storage."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import obstore
import psycopg
import pytest
from obstore.store import MemoryStore

import fanfold
from builders import calls, tell
from fanfold import Postgres, SQLite
from fanfold.stores.doctor import report as reporting
from fanfold.testing import talk

Connect = Callable[..., Postgres]
LARGE = b"0123456789" * 200_000


def kept(store: Any) -> Any:
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, *talk(2))
        chat.note("state", "red")
    store.put_blob("t", [LARGE])
    store.put_blob("t", [b"small"])
    return store


def test_a_healthy_server_is_told_to_be_well(connect: Connect) -> None:
    report = fanfold.doctor(kept(connect()))
    assert report.findings == ()
    assert (report.sessions, report.lines, report.blobs) == (1, 26, 2)


def test_notes_of_a_store_about_erasures_are_no_session(connect: Connect) -> None:
    store = kept(connect())
    with fanfold.open("run", store=store) as chat:
        chat.erase(chat.view().rows[0].id, "asked to forget")
    report = fanfold.doctor(store)
    assert (report.sessions, report.tenants) == (1, 1)


def test_a_server_that_is_not_there_is_reported_not_raised() -> None:
    report = fanfold.doctor("postgresql://127.0.0.1:1/none?connect_timeout=2")
    assert "cannot be reached" in str(report)


DAMAGE = [
    ("UPDATE {}.record SET body = 'x' WHERE seq = 3", "cannot be read"),
    ("UPDATE {}.record SET seq = 999 WHERE seq = 3", "the session ends at"),
    ("UPDATE {0}.entry SET body = (SELECT body FROM {0}.entry LIMIT 1)", "is damaged"),
    ("DELETE FROM {}.record WHERE seq = 3", "1 record missing before it"),
    ("DELETE FROM {}.record WHERE seq = 26", "1 record missing at its end"),
    ("UPDATE {}.session SET name = '\\xff00'::bytea", "cannot be read"),
    ("DELETE FROM {0}.entry WHERE parent IS NULL", "is missing"),
    ("UPDATE {}.piece SET data = 'x' WHERE number = 1", "missing"),
    ("UPDATE {}.piece SET data = overlay(data placing 'X' from 1)", "damaged"),
]


@pytest.mark.parametrize(("sql", "says"), DAMAGE)
def test_damage_on_a_server_is_named(connect: Connect, url: str, schema: str, sql: str, says: str) -> None:
    store = kept(connect())
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(sql.format(schema))  # type: ignore[arg-type]
    report = fanfold.doctor(store)
    assert not report.healthy
    assert says in str(report)


def test_an_output_on_a_server_whose_blob_is_missing_is_named(
    connect: Connect, url: str, schema: str
) -> None:
    store = kept(connect())
    with fanfold.open("tools", window=9_000, store=store) as chat:
        tell(chat, calls("c1"))
        chat.answer("c1", b"\x00" * 100_000)
    assert fanfold.doctor(store).findings == ()
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"DELETE FROM {schema}.blob WHERE size = 100000")  # type: ignore[arg-type]
    report = fanfold.doctor(store)
    assert not report.healthy
    assert "session 'tools', record 4: the blob" in str(report)


def test_a_checkpoint_on_a_server_that_cannot_be_read_is_forgotten(
    connect: Connect, url: str, schema: str
) -> None:
    store = kept(connect())
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"UPDATE {schema}.checkpoint SET body = 'x'")  # type: ignore[arg-type]
    assert not fanfold.doctor(store, repair=False).healthy
    report = fanfold.doctor(store)
    assert report.healthy
    assert "checkpoint" in str(report)
    assert fanfold.doctor(store).findings == ()


def names(bucket: MemoryStore) -> list[str]:
    return [found["path"] for some in obstore.list(bucket) for found in some]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_objects_are_looked_over_and_those_of_nobody_cleared_away(
    kind: str, tmp_path: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=bucket) if kind == "sqlite" else connect(blobs=bucket)
    kept(store)
    (there,) = names(bucket)
    stray = there.rpartition("/")[0] + "/stray"
    obstore.put(bucket, stray, b"left by somebody who died")
    assert fanfold.doctor(store).findings == ()  # it may be on its way still
    monkeypatch.setattr(reporting, "ABANDONED", -timedelta(hours=1).total_seconds())
    obstore.put(bucket, "another store's/ab/cd", b"not ours")
    (finding,) = fanfold.doctor(store).findings
    assert (finding.unused, finding.repaired) == (True, False)
    assert stray in names(bucket)
    (finding,) = fanfold.doctor(store, clear=True).findings
    assert finding.repaired
    assert sorted(names(bucket)) == sorted([there, "another store's/ab/cd"])
    obstore.put(bucket, there, b"X" + LARGE[1:])
    assert "damaged" in str(fanfold.doctor(store))
    obstore.delete(bucket, there)
    assert "gone" in str(fanfold.doctor(store))


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_folder_beside_a_server_is_looked_over_and_what_is_nobodys_cleared_away(
    connect: Connect, tmp_path: Path
) -> None:
    store = kept(connect(blobs=tmp_path))
    (there,) = files_in(tmp_path)
    strays = [there.with_name("stray"), there.parent.parent / "unfinished-0123", tmp_path / "another" / "ab"]
    for stray in strays:
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"left by somebody who died")
    assert fanfold.doctor(store).findings == ()  # they may be on their way still
    for path in (there, *strays):
        os.utime(path, (0, 0))
    assert [finding.repaired for finding in fanfold.doctor(store).findings] == [False, True]
    report = fanfold.doctor(store, clear=True)
    assert [finding.repaired for finding in report.findings] == [True]
    assert report.healthy
    assert sorted(files_in(tmp_path)) == sorted([there, strays[2]])
    assert b"".join(store.get_blob("t", store.blobs("t")[0].id)) == LARGE
