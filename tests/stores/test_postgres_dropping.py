"""Dropping blobs on a server: whatever fails on the way, nothing is left of them once it was done again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from test_postgres_erasing import is_there

import fanfold
from builders import asks, calls, gives, tell
from conftest import hurry
from fanfold import Busy, Postgres, StoreFailed
from fanfold.core.record import Answered
from fanfold.stores import Batch, Blob, Hold
from postgres_server import PostgresServer

Connect = Callable[..., Postgres]
LARGE = b"a large blob\n" * 200_000


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_could_not_be_written_anew_is_when_it_is_dropped_once_more(
    own_server: PostgresServer, schema: str
) -> None:
    store, mark = Postgres(own_server.url, schema=schema, connections=1), "bongo-3b1d-horn"
    blob = store.put_blob("t", [mark.encode() * 1_000])
    hurry(store)
    with psycopg.connect(own_server.url) as other:
        other.execute(f"SELECT 1 FROM {schema}.piece")
        with pytest.raises(Busy):
            store.drop_blobs("t", [blob.id])
    assert is_there(own_server, mark)
    store.drop_blobs("t", [blob.id])
    assert not is_there(own_server, mark)
    store.close()


def test_an_output_erased_once_more_is_nowhere_either(own_server: PostgresServer, schema: str) -> None:
    store, mark = Postgres(own_server.url, schema=schema, connections=1), "gaur-90fe-dewlap"
    chat = fanfold.open("run", window=9_000, store=store)
    tell(chat, asks("Look."), calls("c1"))
    chat.answer("c1", f"{mark}\n" * 100_000)
    hurry(store)
    with psycopg.connect(own_server.url) as other:
        other.execute(f"SELECT 1 FROM {schema}.piece")
        with pytest.raises(Busy):
            chat.erase("o1", "asked for")
    chat.erase("o1", "asked for")
    assert not is_there(own_server, mark)
    chat.close()
    store.close()


def test_one_connection_is_enough_for_everything(connect: Connect) -> None:
    store = connect(connections=1, timeout=30)
    fanfold.testing.check_store(store)
    chat = fanfold.open("run", window=9_000, store=store)
    tell(chat, asks("Look."), calls("c1"), gives("c1", "much " * 50_000), asks("And again."))
    chat.erase("o1", "asked for")
    assert not chat.gc(delete=True, hidden=True)
    assert store.blobs("default") == []


def test_many_who_erase_at_once_do_not_wait_for_each_others_connections(connect: Connect) -> None:
    store, hands = connect(connections=2, timeout=30), 6
    blobs = [store.put_blob("t", [f"blob {n}".encode()]) for n in range(hands)]
    store.append("t", "s", Batch((Answered("k", "t", ()),)), expect=None)
    together = threading.Barrier(hands)

    def drop(blob: Blob) -> list[Hold]:
        together.wait()
        return store.drop_blobs("t", [blob.id])

    with ThreadPoolExecutor(hands) as threads:
        assert list(threads.map(drop, blobs)) == [[]] * hands
    assert store.blobs("t") == []


def test_a_blob_whose_dropping_was_not_committed_is_whole(
    connect: Connect, url: str, schema: str, tmp_path: Path
) -> None:
    store = connect(blobs=tmp_path)
    blob = store.put_blob("t", [LARGE])
    with psycopg.connect(url, autocommit=True) as plain:
        plain.execute(
            f"CREATE FUNCTION {schema}.no() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'not today'; END $$; CREATE CONSTRAINT TRIGGER late AFTER DELETE "
            f"ON {schema}.blob DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {schema}.no()"
        )
        with pytest.raises(StoreFailed, match="not today"):
            store.drop_blobs("t", [blob.id])
        assert b"".join(store.get_blob("t", blob.id)) == LARGE
        plain.execute(f"DROP TRIGGER late ON {schema}.blob")
    store.drop_blobs("t", [blob.id])
    assert files_in(tmp_path) == []


def test_a_file_whose_blob_is_not_listed_any_more_goes_when_it_is_dropped_once_more(
    connect: Connect, url: str, schema: str, tmp_path: Path
) -> None:
    store = connect(blobs=tmp_path)
    blob = store.put_blob("t", [LARGE])
    with psycopg.connect(url, autocommit=True) as plain:
        plain.execute(f"DELETE FROM {schema}.blob")  # as somebody leaves it who is killed right after
    assert len(files_in(tmp_path)) == 1
    store.drop_blobs("t", [blob.id])
    assert files_in(tmp_path) == []


def test_a_file_that_cannot_be_deleted_is_named(connect: Connect, tmp_path: Path) -> None:
    store = connect(blobs=tmp_path)
    blob = store.put_blob("t", [LARGE])
    path = files_in(tmp_path)[0]
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreFailed, match="cannot be"):
        store.drop_blobs("t", [blob.id])
    path.rmdir()
    assert store.drop_blobs("t", [blob.id]) == []
