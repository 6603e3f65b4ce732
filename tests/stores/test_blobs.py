"""Blobs: whole or not there, the same content once, read in ranges."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold import Corrupt, Memory, NotFound, SQLite
from fanfold.stores.blobs import Spool
from fanfold.stores.store import Store

SMALL, LARGE = b"small " * 1_000, bytes(range(256)) * 12_000


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Memory() if request.param == "memory" else SQLite(tmp_path / "a.db")


def pieces(data: bytes, size: int = 70_001) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("data", [b"", b"x", SMALL, LARGE])
def test_a_blob_comes_back_as_it_was(store: Store, data: bytes) -> None:
    blob = store.put_blob("t", pieces(data))
    assert blob.size == len(data)
    assert b"".join(store.get_blob("t", blob.id)) == data


@pytest.mark.parametrize("data", [SMALL, LARGE])
@pytest.mark.parametrize(
    ("start", "stop"), [(0, 10), (5, 5), (100, 4_000), (5_990, 99_999_999), (10**9, None)]
)
def test_a_range_of_a_blob_is_that_slice(store: Store, data: bytes, start: int, stop: int | None) -> None:
    blob = store.put_blob("t", pieces(data))
    assert b"".join(store.get_blob("t", blob.id, start, stop)) == data[start:stop]


def test_the_same_content_is_the_same_blob(store: Store) -> None:
    assert store.put_blob("t", pieces(LARGE)) == store.put_blob("t", [LARGE])
    assert len(store.blobs("t")) == 1


def test_no_tenant_reaches_the_blobs_of_another(store: Store) -> None:
    small, large = store.put_blob("mine", [SMALL]), store.put_blob("mine", [LARGE])
    store.put_blob("yours", [b"other"])
    for blob in (small, large):
        with pytest.raises(NotFound):
            store.get_blob("yours", blob.id)
        store.drop_blobs("yours", [blob.id])
        assert b"".join(store.get_blob("mine", blob.id))


@pytest.mark.parametrize("data", [SMALL, LARGE])
def test_a_dropped_blob_is_gone_for_its_tenant_only(store: Store, data: bytes) -> None:
    for tenant in ("mine", "yours"):
        store.put_blob(tenant, [data])
    id = store.blobs("mine")[0].id
    store.drop_blobs("mine", [id])
    with pytest.raises(NotFound):
        store.get_blob("mine", id)
    assert b"".join(store.get_blob("yours", id)) == data


def test_a_source_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")

    def broken() -> Iterator[bytes]:
        yield LARGE
        raise ConnectionError("the tool died")

    with pytest.raises(ConnectionError):
        store.put_blob("t", broken())
    assert store.blobs("t") == []
    assert [path for path in (tmp_path / "a.db.blobs").rglob("*") if path.is_file()] == []


def test_a_file_that_was_cut_off_is_no_blob(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    blob = store.put_blob("t", [LARGE])
    place = store.files.path("t", blob.id)
    place.write_bytes(LARGE[:-1])
    with pytest.raises(Corrupt, match="cut off"):
        list(store.get_blob("t", blob.id, 0, 10))


def test_content_that_was_changed_is_noticed_when_it_is_read_whole(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    blob = store.put_blob("t", [LARGE])
    store.files.path("t", blob.id).write_bytes(b"y" + LARGE[1:])
    with pytest.raises(Corrupt, match="damaged"):
        list(store.get_blob("t", blob.id))


def test_no_name_becomes_a_path(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    for tenant in ("../..", "/etc", "a\x00b", "\ud800", "x" * 5_000):
        blob = store.put_blob(tenant, [LARGE])
        place = store.files.path(tenant, blob.id)
        assert place.is_file()
        assert place.parent.parent == tmp_path / "a.db.blobs"


def test_what_a_killed_process_left_among_the_temporary_files_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (old, _), (young, _) = Spool().unfinished(), Spool().unfinished()
    os.utime(old, (0, 0))
    new, _ = Spool().unfinished()
    assert set(tmp_path.iterdir()) == {young, new}
    assert new.stat().st_mode & 0o777 == 0o600
