"""What is kept is read in its own place only: of its tenant, its session and its number (19.6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import fanfold
from builders import asks, says, tell
from fanfold import Corrupt, Postgres, Sealed, SQLite, StoreFailed

KEY, OTHER = "0f" * 32, "1e" * 32
LARGE = bytes(range(256)) * 8_192
Run = Callable[..., Any]
Connect = Callable[..., Postgres]


class Place:
    """A store, and a way to change it behind its back."""

    def __init__(self, make: Callable[..., Any], run: Run) -> None:
        self.make = make
        self.run = run


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":

        def change(sql: str) -> None:
            with closing(sqlite3.connect(tmp_path / "a.db")) as other:
                other.executescript(sql)

        return Place(lambda key=KEY: SQLite(tmp_path / "a.db", key=key), change)
    connect, url = request.getfixturevalue("connect"), request.getfixturevalue("url")
    schema = request.getfixturevalue("schema")

    def changed(sql: str) -> None:
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(f"SET search_path = {schema}; {sql}")  # type: ignore[arg-type]

    return Place(lambda key=KEY: connect(key=key), changed)


def said(store: Any, tenant: str, name: str = "run") -> list[str]:
    with fanfold.open(name, window=9_000, store=store, tenant=tenant) as chat:
        return [message.text for message in chat.view().messages]


def two_tenants(store: Any) -> None:
    for tenant in ("a", "b"):
        with fanfold.open("run", window=9_000, store=store, tenant=tenant) as chat:
            tell(chat, asks(f"Secret of {tenant}."), says("Yes."))
    store.close()


def is_sqlite(place: Place) -> bool:
    return isinstance(place.make(), SQLite)


def test_rows_that_were_moved_to_another_tenant_are_not_read_there(place: Place) -> None:
    """(19.6) Whoever can write SQL cannot make one tenant read another's talk."""
    store = place.make()
    two_tenants(store)
    if is_sqlite(place):
        swap = "UPDATE tenant SET name = CASE number WHEN 1 THEN x'62' ELSE x'7a' END;"
        place.run(
            "UPDATE tenant SET name = x'7a' WHERE number = 2; " + swap.replace("ELSE x'7a'", "ELSE name")
        )
    else:
        place.run(
            "UPDATE tenant SET name = 'z' WHERE name = 'b'; UPDATE tenant SET name = 'b' WHERE name = 'a'"
        )
    with pytest.raises(Corrupt):
        said(place.make(), "b")


def test_messages_that_were_moved_to_another_tenant_are_not_read_there(place: Place) -> None:
    store = place.make()
    two_tenants(store)
    (id,) = store.find("a", store.load("a", "run").records[1].head)
    store.close()
    if is_sqlite(place):
        place.run(
            "UPDATE line SET tenant = 2 WHERE key >> 32 = 1; UPDATE register SET tenant = 2 WHERE tenant = 1"
        )
    else:
        place.run("UPDATE entry SET tenant = (SELECT number FROM tenant WHERE name = 'b')")
    with pytest.raises(Corrupt, match=id[:12]):
        place.make().entry("b", id)


@pytest.mark.parametrize("key", [KEY, None], ids=["sealed", "plain"])
def test_two_records_that_changed_places_are_noticed(place: Place, key: str | None) -> None:
    """(19.6)"""
    store = place.make(key)
    two_tenants(store)
    first, second = ("(1 << 32) + 1", "(1 << 32) + 2") if isinstance(store, SQLite) else ("1", "2")
    table, number, body = (
        ("line", "key", "record") if isinstance(store, SQLite) else ("record", "seq", "body")
    )
    place.run(
        f"CREATE TABLE held AS SELECT * FROM {table} WHERE {number} IN ({first}, {second});"
        f"UPDATE {table} SET {body} = (SELECT {body} FROM held WHERE held.{number} = "
        f"{first} + {second} - {table}.{number} LIMIT 1) WHERE {number} IN ({first}, {second}); DROP TABLE held"
    )
    place.run("DELETE FROM checkpoint")
    with pytest.raises(Corrupt, match="Line 1 of the session 'run'"):
        said(place.make(key), "a")


def test_a_blob_that_was_moved_to_another_tenant_is_not_read_there(place: Place) -> None:
    """(19.6)"""
    store = place.make()
    blob = store.put_blob("a", [b"Secret of a."])
    store.put_blob("b", [b"Something else."])
    store.close()
    if is_sqlite(place):
        place.run("UPDATE blob SET tenant = 2 WHERE size = 12")
    else:
        place.run(
            "ALTER TABLE piece DROP CONSTRAINT piece_tenant_blob_fkey; UPDATE blob SET tenant = 2 WHERE size = 12; "
            "UPDATE piece SET tenant = 2"
        )
    with pytest.raises(Corrupt):
        b"".join(place.make().get_blob("b", blob.id, 0, 6))


def test_a_blob_whose_content_was_put_in_anothers_place_is_not_read_there(place: Place) -> None:
    store = place.make()
    one, two = store.put_blob("a", [b"The first one."]), store.put_blob("a", [b"Another one .."])
    store.close()
    table, column = ("blob", "id") if is_sqlite(place) else ("piece", "blob")
    place.run(
        f"CREATE TABLE held AS SELECT * FROM {table};"
        f"UPDATE {table} SET data = (SELECT data FROM held WHERE held.{column} <> {table}.{column}); DROP TABLE held"
    )
    for blob in (one, two):
        with pytest.raises(Corrupt):
            b"".join(place.make().get_blob("a", blob.id, 0, 5))


def test_the_key_of_a_store_is_changed(place: Place) -> None:
    """(19.6) `rekey`: everything is there under the new key, nothing under the former one."""
    store = place.make()
    two_tenants(store)
    blobs = [store.put_blob("a", [data]) for data in (b"small", LARGE)]
    store.rekey(OTHER)
    assert said(store, "a") == ["Secret of a.", "Yes."]
    store.close()
    with pytest.raises(Sealed, match="another key"):
        place.make()
    store = place.make(OTHER)
    assert [said(store, tenant)[0] for tenant in ("a", "b")] == ["Secret of a.", "Secret of b."]
    assert [b"".join(store.get_blob("a", blob.id)) for blob in blobs] == [b"small", LARGE]
    with fanfold.open("run", window=9_000, store=store, tenant="a") as chat:
        chat.say("And on.")
    assert fanfold.doctor(store).findings == ()


def test_whoever_has_a_store_open_when_its_key_changes_cannot_write_with_the_former_one(place: Place) -> None:
    """(19.6)"""
    mine, theirs = place.make(), place.make()
    with fanfold.open("run", window=9_000, store=theirs) as chat:
        chat.say("Hello.")
        mine.rekey(OTHER)
        for write in (lambda: chat.say("Still here."), lambda: theirs.put_blob("a", [b"x"])):
            with pytest.raises(Sealed, match="was changed"):
                write()
        with pytest.raises(StoreFailed):
            chat.erase(chat.view().rows[0].id, "asked to")
    assert said(mine, "default") == ["Hello."]
    assert fanfold.doctor(mine).findings == ()


def test_a_store_that_is_not_sealed_has_no_key_to_change(place: Place) -> None:
    with pytest.raises(Sealed, match="not sealed"):
        place.make(None).rekey(OTHER)


def test_the_same_large_blob_twice_is_read_after_both(place: Place) -> None:
    """Under a key it is sealed differently each time, and the first one stays."""
    store = place.make()
    for _ in range(2):
        blob = store.put_blob("a", [LARGE])
        assert b"".join(store.get_blob("a", blob.id, 70_000, 70_010)) == LARGE[70_000:70_010]
