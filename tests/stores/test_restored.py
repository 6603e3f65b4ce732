"""A store that is brought back from a copy while sessions are open: no hole, nothing mixed up, and it is said."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import fanfold
from builders import texts
from fanfold import Pool, SQLite, StoreFailed

POLICIES = ("raise", "reapply", "branch")


def copy(source: Path, target: Path) -> None:
    """What `sqlite3 FILE ".restore COPY"` does."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def open_run(store: Any, policy: str = "raise") -> fanfold.Session:
    """The session that all tests are about."""
    return fanfold.open("run", window=9_000, store=store, on_moved=policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("others", [0, 2, 4])
def test_a_restored_file_is_told_and_gets_no_hole(tmp_path: Path, policy: str, others: int) -> None:
    path, kept = tmp_path / "a.db", tmp_path / "kept.db"
    chat = open_run(SQLite(path), policy)
    for n in range(4):
        chat.say(f"kept {n}")
    copy(path, kept)
    for n in range(4):
        chat.say(f"lost {n}")
    copy(kept, path)
    with open_run(SQLite(path)) as other:
        for n in range(others):
            other.say(f"other {n}")
    with pytest.raises(StoreFailed, match="brought back from a copy"):
        chat.say("after")
    chat.say("after")
    expected = [f"kept {n}" for n in range(4)] + [f"other {n}" for n in range(others)] + ["after"]
    assert texts(chat) == expected
    with open_run(SQLite(path)) as again:
        assert texts(again) == expected
    assert fanfold.doctor(path).findings == ()


def test_a_pool_says_so_once_and_goes_on_with_what_is_there(tmp_path: Path) -> None:
    path, kept = tmp_path / "a.db", tmp_path / "kept.db"
    with Pool(SQLite(path), window=9_000) as pool:
        with pool.session("run") as chat:
            chat.say("kept")
            copy(path, kept)
            chat.say("lost")
        copy(kept, path)
        with pytest.raises(StoreFailed, match="brought back from a copy"), pool.session("run"):
            pass
        with pool.session("run") as chat:
            chat.say("after")
            assert texts(chat) == ["kept", "after"]


def test_a_request_of_a_restored_session_is_not_written_behind_a_hole(tmp_path: Path) -> None:
    path, kept = tmp_path / "a.db", tmp_path / "kept.db"
    chat = open_run(SQLite(path))
    chat.say("kept")
    copy(path, kept)
    chat.say("lost")
    copy(kept, path)
    with pytest.raises(StoreFailed, match="brought back from a copy"):
        chat.request(max_tokens=50)
    assert chat.request(max_tokens=50)["messages"] == [{"role": "user", "content": "kept"}]
    with open_run(SQLite(path)) as again:
        assert texts(again) == ["kept"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_restored_server_is_told_and_gets_no_hole(
    connect: Callable[..., Any], url: str, schema: str, policy: str
) -> None:
    chat = open_run(connect(), policy)
    chat.say("kept")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"CREATE TABLE {schema}.kept AS SELECT * FROM {schema}.session")  # type: ignore[arg-type]
        chat.say("lost")
        columns = "seq, version"
        other.execute(
            f"DELETE FROM {schema}.record WHERE seq > (SELECT seq FROM {schema}.kept);"  # type: ignore[arg-type]
            f"UPDATE {schema}.session SET ({columns}) = (SELECT {columns} FROM {schema}.kept);"
        )
    with pytest.raises(StoreFailed, match="brought back from a copy"):
        chat.say("after")
    chat.say("after")
    assert texts(chat) == ["kept", "after"]
    with open_run(connect()) as again:
        assert texts(again) == ["kept", "after"]
