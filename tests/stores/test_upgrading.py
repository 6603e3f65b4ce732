"""What an earlier release kept gets a checksum, or a seal for its place, when it is first opened (19.5, 19.6)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec.structs import replace

import fanfold
from builders import asks, says, tell
from fanfold import Corrupt, Pool, Postgres, Sealed, SQLite, StoreFailed
from fanfold.core.record import Move
from fanfold.stores.echo import former_echo, is_former
from fanfold.stores.sealing import checkpoint_place, entry_place, place_at, session_place

HERE = Path(__file__).parent
KEY = "0f" * 32
KINDS = [("schema_5", None), ("schema_5_sealed", KEY)]
Connect = Callable[..., Postgres]
GREETING = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]


def older(path: Path, script: str, *more: str) -> Path:
    with closing(sqlite3.connect(path)) as old:
        old.executescript((HERE / f"{script}.sql").read_text(encoding="utf-8"))
        for sql in more:
            old.execute(sql)
        old.commit()
    return path


def shown(store: Any) -> list[str]:
    with fanfold.open("run", window=9_000, store=store) as chat:
        return [message.text for message in chat.view().messages]


@pytest.mark.parametrize(("script", "key"), KINDS)
def test_a_file_from_before_is_read_and_bound_to_its_places(
    tmp_path: Path, script: str, key: str | None
) -> None:
    path = older(tmp_path / "a.db", script)
    store = SQLite(path, key=key)
    assert shown(store)[:2] == ["Hello.", "Hi."]
    assert any("[erased: asked to]" in text for text in shown(store))
    (blob,) = store.blobs("default")
    assert b"".join(store.get_blob("default", blob.id, 2, 7)) == b"small"
    assert fanfold.doctor(store).findings == ()
    store.close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE line SET record = (SELECT record FROM line WHERE key & 1 = 1 LIMIT 1)")
        other.execute("DELETE FROM checkpoint")
        other.commit()
    with pytest.raises(Corrupt):
        shown(SQLite(path, key=key))


@pytest.mark.parametrize(("script", "key"), KINDS)
def test_what_was_damaged_before_is_not_taken_for_whole_afterwards(
    tmp_path: Path, script: str, key: str | None
) -> None:
    """A checksum of what is damaged already would bless it: a message is compared with its id first."""
    flip = "UPDATE line SET body = CAST(replace(body, CAST('Hello' AS BLOB), CAST('Jello' AS BLOB)) AS BLOB)"
    cut = "UPDATE line SET body = substr(body, 1, length(body) - 1) WHERE parent IS NULL AND id IS NOT NULL"
    store = SQLite(older(tmp_path / "a.db", script, cut if key else flip), key=key)
    with pytest.raises(Corrupt, match="is damaged"):
        shown(store)
    assert not fanfold.doctor(store).healthy


def test_without_its_key_a_sealed_file_from_before_stays_as_it_is(tmp_path: Path) -> None:
    path = older(tmp_path / "a.db", "schema_5_sealed")
    with pytest.raises(Sealed):
        SQLite(path)
    assert shown(SQLite(path, key=KEY))[:1] == ["Hello."]


def test_what_was_sealed_without_a_place_is_not_read_any_more(tmp_path: Path) -> None:
    """Else rows of a copy from before could be put anywhere."""
    path = older(tmp_path / "a.db", "schema_5_sealed")
    with closing(sqlite3.connect(path)) as other:
        (former,) = other.execute("SELECT record FROM line ORDER BY key LIMIT 1").fetchone()
    SQLite(path, key=KEY).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE line SET record = ? WHERE key & 4294967295 = 1", (former,))
        other.execute("DELETE FROM checkpoint")
        other.commit()
    with pytest.raises(Corrupt, match="Line 1"):
        shown(SQLite(path, key=KEY))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_file_from_before_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    path = older(tmp_path / "a.db", "schema_5")
    path.chmod(0o400)
    with pytest.raises(StoreFailed, match="Open it once"):
        SQLite(path)


def former(kind: str, data: bytes) -> bytes:
    """Sealed as earlier releases did."""
    salt = os.urandom(16)
    key = blake2b(salt, key=bytes.fromhex(KEY), digest_size=32, person=b"fanfold").digest()
    return b"\x01" + salt + AESGCM(key).encrypt(bytes(12), data, kind.encode())


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])
def test_a_schema_from_before_is_read_and_bound_to_its_places(
    connect: Connect, url: str, schema: str, key: str | None
) -> None:
    store = connect(key=key)
    with fanfold.open("run", window=9_000, store=store) as chat:
        tell(chat, asks("Hello."), says("Hi."))
        chat.note("state", "red")
    blob = store.put_blob("default", [b"a small blob"])
    before = shown(store)
    with psycopg.connect(url, autocommit=True) as other:
        as_before(other, schema, store, key)
    store = connect(key=key)
    assert shown(store) == before
    assert b"".join(store.get_blob("default", blob.id, 2, 7)) == b"small"
    assert fanfold.doctor(store).findings == ()
    with psycopg.connect(url, autocommit=True) as other:
        assert other.execute(f"SELECT format FROM {schema}.seal").fetchone() == (4,)  # type: ignore[arg-type]
    with Pool(store, window=9_000) as pool:
        assert pool.find(GREETING, dialect="openai.chat").session == "run"


def as_before(other: Any, schema: str, store: Postgres, key: str | None) -> None:
    """Bring a schema to the form that earlier releases kept; one of its records was erased."""
    keep = former if key else lambda kind, data: data
    open = store.seal.open
    records = session_place("default", "run")
    for seq, body in other.execute(f"SELECT seq, body FROM {schema}.record").fetchall():
        body = keep("record", open(place_at(records, seq), body))
        other.execute(f"UPDATE {schema}.record SET body = %s WHERE seq = %s", (body, seq))
    for id, parent, body in other.execute(f"SELECT id, parent, body FROM {schema}.entry").fetchall():
        place = entry_place("default", id.decode(), parent.decode() if parent else None)
        body = keep(f"entry {id.decode()}", open(place, body))
        other.execute(f"UPDATE {schema}.entry SET body = %s WHERE id = %s", (body, id))
    for seq, body in other.execute(f"SELECT seq, body FROM {schema}.checkpoint").fetchall():
        body = keep("checkpoint", open(checkpoint_place("default", "run", seq), body))
        other.execute(f"UPDATE {schema}.checkpoint SET body = %s", (body,))
    other.execute(f"DELETE FROM {schema}.record WHERE seq = (SELECT max(seq) FROM {schema}.record)")
    other.execute(f"UPDATE {schema}.blob SET proof = NULL")
    other.execute(
        f"UPDATE {schema}.seal SET format = 1, mark = %s", (former("mark", b"fanfold") if key else b"",)
    )


@pytest.mark.parametrize(("script", "key"), KINDS)
def test_echoes_from_before_are_made_anew_and_the_session_is_found(
    tmp_path: Path, script: str, key: str | None
) -> None:
    store = SQLite(older(tmp_path / "a.db", script), key=key)
    heads = [one.head for one in store.load("default", "run").records if isinstance(one, Move) and one.head]
    entries = list(store.path("default", heads[-1]))
    assert all(is_former(entry.echo) == (entry.erased is not None) for entry in entries)
    assert all(entry.prefix for entry in entries)
    with Pool(store, window=9_000) as pool:
        found = pool.find(GREETING, dialect="openai.chat")
    assert (found.session, found.matched) == ("run", 2)


def test_what_was_erased_before_is_known_by_its_former_echo(tmp_path: Path) -> None:
    history = [*GREETING, {"role": "user", "content": "hunter2"}, {"role": "assistant", "content": "Fine."}]
    store = SQLite(tmp_path / "a.db")
    with fanfold.open("run", window=9_000, dialect="openai.chat", store=store) as chat:
        path = [ids[0] for ids in chat.merge(history).entries]
    echo = None
    for id in path:
        entry = store.entry("default", id)
        assert entry is not None
        echo = former_echo(echo, entry.message)
        before = replace(entry, echo=echo, prefix="")
        kept = before.to_stub("a password") if id == path[2] else before
        store._change_entry("default", store.owner("default"), kept)
    store.database.plain("UPDATE seal SET format = 2")
    store.database.plain("DELETE FROM checkpoint")
    store.close()
    with fanfold.open("run", window=9_000, dialect="openai.chat", store=SQLite(tmp_path / "a.db")) as chat:
        merged = chat.merge([*history, {"role": "user", "content": "Go on."}])
        assert (merged.new, merged.replaced, merged.forked) == (1, 0, False)
        assert "hunter2" not in str(chat.request())


def test_a_file_that_a_newer_release_brought_up_to_date_meanwhile_says_so(tmp_path: Path) -> None:
    chat = fanfold.open("run", window=9_000, store=SQLite(tmp_path / "a.db"))
    chat.say("Hello.")
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as newer:
        newer.execute("ALTER TABLE line RENAME COLUMN figures TO numbers")
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreFailed, match="has schema 99, this release of fanfold knows"):
        chat.say("How are you?")
