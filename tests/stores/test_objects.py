"""Large blobs in object storage or in a folder: whole or not there, read in ranges, for both databases."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import LocalStore, MemoryStore, S3Store

import fanfold
from fanfold import BadSetting, Corrupt, MissingExtra, NotFound, Postgres, SQLite, StoreFailed
from fanfold.stores.blobs import Objects
from fanfold.testing import check_store

SMALL, LARGE = b"small " * 1_000, bytes(range(256)) * 12_000
HUGE = bytes(range(250)) * 70_000
"""Too large to be created in one request."""
Connect = Callable[..., Postgres]


@pytest.fixture(scope="module")
def s3_address() -> Iterator[str]:
    """An S3 of our own, on this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def s3(address: str, bucket: str = "blobs") -> S3Store:
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{address}/{bucket}", method="PUT")).close()
    return S3Store(
        bucket, prefix="agents", endpoint=address, access_key_id="x", secret_access_key="y", region="us-east-1",
        client_options={"allow_http": True}, retry_config={"max_retries": 1},
    )  # fmt: skip


@pytest.fixture(params=["folder", "files", "memory", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    match request.param:
        case "folder":
            return str(tmp_path / "blobs")
        case "files":
            return LocalStore(tmp_path / "objects", mkdir=True)
        case "memory":
            return MemoryStore()
        case _:
            return s3(request.getfixturevalue("s3_address"))


@pytest.fixture(params=["sqlite", "sealed", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path, blobs: Any) -> Any:
    if request.param == "postgres":
        return request.getfixturevalue("connect")(blobs=blobs)
    return SQLite(tmp_path / "a.db", blobs=blobs, key="0f" * 32 if request.param == "sealed" else None)


@pytest.mark.parametrize("data", [b"", SMALL, LARGE], ids=len)
def test_a_blob_comes_back_whole_and_in_ranges(store: Any, data: bytes) -> None:
    blob = store.put_blob("t", [data[:9], data[9:]])
    assert (blob.size, b"".join(store.get_blob("t", blob.id))) == (len(data), data)
    for start, stop in [(0, 10), (5, 5), (1_048_570, 2_097_160), (5_990, 10**9), (10**9, None)]:
        assert b"".join(store.get_blob("t", blob.id, start, stop)) == data[start:stop]


def test_the_same_content_is_the_same_blob(store: Any) -> None:
    assert store.put_blob("t", [LARGE]) == store.put_blob("t", [LARGE])
    assert len(store.blobs("t")) == 1


def test_a_dropped_blob_is_gone_for_its_tenant_only(store: Any) -> None:
    id = store.put_blob("mine", [LARGE]).id
    store.put_blob("yours", [LARGE])
    store.drop_blobs("mine", [id])
    with pytest.raises(NotFound):
        store.get_blob("mine", id)
    assert b"".join(store.get_blob("yours", id)) == LARGE
    assert store.put_blob("mine", [LARGE]).id == id
    assert b"".join(store.get_blob("mine", id)) == LARGE


def names(store: MemoryStore) -> list[str]:
    return [found["path"] for some in obstore.list(store) for found in some]


def place_in(store: SQLite, id: str) -> str:
    assert isinstance(store.files, Objects)
    return store.files.name("t", id)


def test_two_stores_may_share_a_bucket(tmp_path: Path) -> None:
    objects = MemoryStore()
    one, two = (
        SQLite(tmp_path / "a.db", blobs=objects),
        SQLite(tmp_path / "b.db", blobs=objects, key="0f" * 32),
    )
    blob = one.put_blob("t", [LARGE])
    assert two.put_blob("t", [LARGE]) == blob
    one.drop_blobs("t", [blob.id])
    assert b"".join(two.get_blob("t", blob.id)) == LARGE


def test_a_store_opened_again_finds_its_objects(tmp_path: Path) -> None:
    objects = MemoryStore()
    blob = SQLite(tmp_path / "a.db", blobs=objects).put_blob("t", [LARGE])
    assert b"".join(SQLite(tmp_path / "a.db", blobs=objects).get_blob("t", blob.id)) == LARGE


def test_a_huge_blob_is_brought_in_parts(tmp_path: Path, s3_address: str) -> None:
    store = SQLite(tmp_path / "a.db", blobs=s3(s3_address, "huge"))
    blob = store.put_blob("t", [HUGE])
    assert store.put_blob("t", [HUGE]) == blob
    assert b"".join(store.get_blob("t", blob.id)) == HUGE


def test_only_large_blobs_lie_outside(tmp_path: Path) -> None:
    objects = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=objects)
    store.put_blob("t", [SMALL])
    assert names(objects) == []
    large = store.put_blob("t", [LARGE])
    assert names(objects) == [place_in(store, large.id)]
    assert not (tmp_path / "a.db.blobs").exists()


def test_a_dropped_blob_leaves_no_object(tmp_path: Path) -> None:
    objects = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=objects)
    store.drop_blobs("t", [store.put_blob("t", [LARGE]).id])
    assert names(objects) == []


def test_a_source_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    objects = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=objects)

    def broken() -> Iterator[bytes]:
        yield LARGE
        raise ConnectionError("the tool died")

    with pytest.raises(ConnectionError):
        store.put_blob("t", broken())
    assert (names(objects), store.blobs("t")) == ([], [])


def test_content_deleted_while_it_is_put_again_is_brought_again(tmp_path: Path) -> None:
    objects = MemoryStore()
    place, file = Objects(objects, "own"), tmp_path / "blob"
    file.write_bytes(LARGE)
    place.bring(file, "t", "x")
    place.drop("t", "x")
    place.finish(file, "t", "x")
    assert names(objects) == [place.name("t", "x")]


def test_nothing_of_a_sealed_blob_can_be_read(tmp_path: Path) -> None:
    objects = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=objects, key="0f" * 32)
    blob = store.put_blob("t", [b"zebra-crossing" * 200_000])
    assert b"zebra" not in bytes(obstore.get(objects, place_in(store, blob.id)).bytes())


@pytest.mark.parametrize(
    ("kept", "word"), [(LARGE[:-1], "cut off"), (b"y" + LARGE[1:], "damaged"), (None, "gone")]
)
def test_an_object_that_was_changed_is_noticed(tmp_path: Path, kept: bytes | None, word: str) -> None:
    objects = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=objects)
    blob = store.put_blob("t", [LARGE])
    if kept is None:
        obstore.delete(objects, place_in(store, blob.id))
    else:
        obstore.put(objects, place_in(store, blob.id), kept)
    with pytest.raises(Corrupt, match=word):
        list(store.get_blob("t", blob.id))


def test_object_storage_that_is_away_is_named_and_a_retry_works(tmp_path: Path, s3_address: str) -> None:
    away = S3Store(
        "blobs", endpoint="http://127.0.0.1:1", access_key_id="x", secret_access_key="y", region="us-east-1",
        client_options={"allow_http": True}, retry_config={"max_retries": 0},
    )  # fmt: skip
    store = SQLite(tmp_path / "a.db", blobs=away)
    with pytest.raises(StoreFailed, match="cannot be used"):
        store.put_blob("t", [LARGE])
    assert store.blobs("t") == []
    store.files = Objects(s3(s3_address, "retry"), "own")
    assert store.put_blob("t", [LARGE]).size == len(LARGE)


def test_a_blob_outside_is_not_found_without_its_place(connect: Connect) -> None:
    blob = connect(blobs=MemoryStore()).put_blob("t", [LARGE])
    with pytest.raises(StoreFailed, match="`blobs`"):
        connect().get_blob("t", blob.id)


def test_threads_that_put_the_same_blob_do_not_disturb_each_other(connect: Connect) -> None:
    store, put = connect(blobs=MemoryStore()), []
    threads = [threading.Thread(target=lambda: put.append(store.put_blob("t", [LARGE]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert put == [put[0]] * 4
    assert b"".join(store.get_blob("t", put[0].id)) == LARGE


def test_a_store_with_objects_proves_itself(tmp_path: Path) -> None:
    check_store(SQLite(tmp_path / "a.db", blobs="memory://"))


def test_the_doctor_looks_at_objects_too(tmp_path: Path) -> None:
    objects = MemoryStore()
    store = SQLite(tmp_path / "a.db", blobs=objects)
    blob = store.put_blob("t", [LARGE])
    assert fanfold.doctor(store).healthy
    obstore.delete(objects, place_in(store, blob.id))
    assert "is gone" in str(fanfold.doctor(store))


@pytest.mark.parametrize("blobs", ["nowhere://x", "s3://", "://"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, blobs: str) -> None:
    with pytest.raises(BadSetting, match="no place for blobs"):
        SQLite(tmp_path / "a.db", blobs=blobs)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("obstore"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"fanfold\[objects\]"):
        SQLite(tmp_path / "a.db", blobs="memory://")
