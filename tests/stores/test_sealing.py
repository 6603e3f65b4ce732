"""Encryption at rest: nothing readable in the files, everything readable with the key, nothing without it."""

from __future__ import annotations

import builtins
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, says, tell
from fanfold import BadSetting, Corrupt, MissingExtra, Sealed, SQLite
from fanfold.stores.sealing import CHUNK, Key
from fanfold.testing import check_store

KEY = "0f" * 32
MARK = "zebra-7f3a-crossing"


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def sealed(tmp_path: Path, key: bytes | str | None = KEY) -> SQLite:
    return SQLite(tmp_path / "a.db", key=key)


def test_a_sealed_store_proves_itself(tmp_path: Path) -> None:
    check_store(sealed(tmp_path))


def test_nothing_in_the_files_can_be_read(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    with fanfold.open("run", window=9_000, store=store, system=f"rules {MARK}") as chat:
        tell(chat, asks(f"hello {MARK}"), calls("c1", arguments=f'{{"key": "{MARK}"}}'))
        tell(chat, gives("c1", f"{MARK} " * 400), says(f"{MARK}!"))
        chat.note("state", MARK)
        chat.request(max_tokens=100, context=f"hint {MARK}")
        chat.erase(chat.view().rows[2].id, f"because of {MARK}")
    for size in (1_000, 3_000_000):
        store.put_blob("t", [MARK.encode() * (size // 20)])
    assert MARK.encode() not in all_bytes(tmp_path)
    store.close()
    assert MARK.encode() not in all_bytes(tmp_path)


def test_a_checkpoint_is_sealed_too(tmp_path: Path) -> None:
    with fanfold.open("run", window=10**6, store=sealed(tmp_path)) as chat:
        chat.note("state", MARK)
        for n in range(520):
            chat.say(f"{n} {MARK}")
    assert sqlite3.connect(tmp_path / "a.db").execute("SELECT count(*) FROM checkpoint").fetchone() == (1,)
    assert MARK.encode() not in all_bytes(tmp_path)
    with fanfold.open("run", window=10**6, store=sealed(tmp_path)) as chat:
        assert len(chat.view().messages) == 521


def test_a_session_goes_on_with_its_key(tmp_path: Path) -> None:
    with fanfold.open("run", window=9_000, store=sealed(tmp_path)) as chat:
        chat.say("Hello.")
    with fanfold.open("run", window=9_000, store=sealed(tmp_path, bytes.fromhex(KEY))) as chat:
        assert [message.text for message in chat.view().messages] == ["Hello."]


@pytest.mark.parametrize(("key", "word"), [(None, "give its `key`"), ("1f" * 32, "another key")])
def test_without_the_key_the_store_is_not_opened(tmp_path: Path, key: str | None, word: str) -> None:
    sealed(tmp_path).close()
    with pytest.raises(Sealed, match=word):
        sealed(tmp_path, key)


def test_a_store_that_is_not_sealed_takes_no_key(tmp_path: Path) -> None:
    sealed(tmp_path, None).close()
    with pytest.raises(Sealed, match="not sealed"):
        sealed(tmp_path)


@pytest.mark.parametrize("key", ["", "secret", "zz" * 32, b"short", "0f" * 31])
def test_a_key_that_is_none_is_refused(tmp_path: Path, key: bytes | str) -> None:
    with pytest.raises(BadSetting, match="32 bytes"):
        sealed(tmp_path, key)
    assert not (tmp_path / "a.db").exists()


def test_the_same_message_is_sealed_differently_each_time() -> None:
    assert Key(KEY).close(b"record", b"x") != Key(KEY).close(b"record", b"x")


def test_what_was_sealed_as_one_thing_does_not_open_as_another() -> None:
    with pytest.raises(Corrupt, match="changed"):
        Key(KEY).open(b"entry", Key(KEY).close(b"record", b"x"))


def test_a_changed_row_is_noticed(tmp_path: Path) -> None:
    with fanfold.open("run", window=9_000, store=sealed(tmp_path)) as chat:
        chat.say("Hello.")
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("UPDATE line SET record = CAST(substr(record, 1, length(record) - 1) || x'00' AS BLOB)")
    other.commit()
    with pytest.raises(Corrupt, match="changed"):
        sealed(tmp_path).load("default", "run")


SIZES = [
    0,
    1,
    CHUNK - 1,
    CHUNK,
    CHUNK + 1,
    3 * CHUNK,
    40 * CHUNK + 7,
]


@pytest.mark.parametrize("size", SIZES)
def test_a_sealed_blob_comes_back_whole_and_in_ranges(tmp_path: Path, size: int) -> None:
    store, data = sealed(tmp_path), (bytes(range(251)) * (size // 251 + 1))[:size]
    blob = store.put_blob("t", [data[:10], data[10:]])
    assert (blob.size, b"".join(store.get_blob("t", blob.id))) == (size, data)
    for start, stop in [
        (0, 1),
        (CHUNK - 1, CHUNK + 1),
        (CHUNK, 2 * CHUNK),
        (size - 3, None),
        (5, 5),
    ]:
        start = max(0, start)
        assert b"".join(store.get_blob("t", blob.id, start, stop)) == data[start:stop], (start, stop)


def test_a_sealed_blob_has_the_id_of_its_content(tmp_path: Path) -> None:
    assert sealed(tmp_path).put_blob("t", [b"x"]) == fanfold.Memory().put_blob("t", [b"x"])


def test_a_blob_whose_end_is_missing_is_noticed() -> None:
    wrap = Key(KEY).wrap()
    kept = b"".join(wrap.chunks([bytes(3 * CHUNK)]))
    cut = kept[: Key(KEY).size(2 * CHUNK)]
    with pytest.raises(Corrupt):
        list(Key(KEY).range(lambda start, stop: [cut[start:stop]], wrap.proof, 2 * CHUNK, 0, 2 * CHUNK))


def test_chunks_that_changed_places_are_noticed(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    blob = store.put_blob("t", [bytes(40 * CHUNK)])
    place = store.files.path("t", blob.id)
    kept = place.read_bytes()
    one, two = (
        kept[17 : 17 + CHUNK + 16],
        kept[17 + CHUNK + 16 : 17 + 2 * (CHUNK + 16)],
    )
    place.write_bytes(kept[:17] + two + one + kept[17 + 2 * (CHUNK + 16) :])
    with pytest.raises(Corrupt):
        list(store.get_blob("t", blob.id, 0, 10))


def test_a_range_of_a_sealed_blob_reads_only_what_it_needs() -> None:
    wrap, read = Key(KEY).wrap(), []
    kept = b"".join(wrap.chunks([bytes(50 * CHUNK)]))

    def fetch(start: int, stop: int) -> list[bytes]:
        read.append(stop - start)
        return [kept[start:stop]]

    found = Key(KEY).range(fetch, wrap.proof, 50 * CHUNK, 20 * CHUNK + 5, 20 * CHUNK + 9)
    assert b"".join(found) == bytes(4)
    assert sum(read) < 2 * CHUNK


def test_the_doctor_looks_a_sealed_store_over(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("Hello.")
    store.put_blob("t", [bytes(40 * CHUNK)])
    assert fanfold.doctor(store).healthy
    with pytest.raises(Sealed, match="give its `key`"):  # it is not damaged
        fanfold.doctor(tmp_path / "a.db")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"fanfold\[encryption\]"):
        sealed(tmp_path)
