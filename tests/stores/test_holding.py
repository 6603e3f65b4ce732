"""An output that is being taken in is never lost to somebody who clears away at that very moment."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import calls, tell
from fanfold import Busy, Memory, Postgres, Session, SQLite
from fanfold.core.message import assistant
from fanfold.core.record import Kept
from fanfold.stores import store as storing
from fanfold.stores.store import Batch, Store, holder_name

TEXT = "a line of the log\n" * 100_000
Stores = Callable[[], Store]
Connect = Callable[..., Postgres]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Stores on the same place, as two processes have them."""
    if request.param == "memory":
        memory = Memory()
        return lambda: memory
    if request.param == "sqlite":
        return lambda: SQLite(tmp_path / "a.db")
    connect: Connect = request.getfixturevalue("connect")
    return connect


def asked(store: Store, name: str, first: str) -> Session:
    chat = fanfold.open(name, window=9_000, store=store)
    tell(chat, {"role": "user", "content": first}, calls("c1"))
    return chat


def before_it_is_recorded(store: Store, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Let somebody work when an output was put, but not yet recorded."""
    append, waiting = store.append, [work]

    def appended(tenant: str, session: str, batch: Batch, *, expect: int | None) -> Any:
        if waiting and any(isinstance(record, Kept) for record in batch.records):
            waiting.pop()()
        return append(tenant, session, batch, expect=expect)

    monkeypatch.setattr(store, "append", appended)


def test_an_output_that_is_erased_elsewhere_while_it_is_taken_in_is_there(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = stores(), stores()
    other = asked(theirs, "other", "Look.")
    other.answer("c1", TEXT)
    chat = asked(mine, "run", "Look here.")

    def erase() -> None:
        with pytest.raises(Busy, match="Erase once more"):
            other.erase("o1", "asked for")

    before_it_is_recorded(mine, monkeypatch, erase)
    chat.answer("c1", TEXT)
    assert chat.output("o1").bytes() == TEXT.encode()
    with pytest.raises(fanfold.Gone):
        other.output("o1")
    chat.erase("o1", "asked for")
    other.erase("o1", "asked for")
    assert theirs.blobs("default") == []


def test_whoever_is_in_the_way_is_named_and_can_be_put_aside_if_they_died(stores: Stores) -> None:
    store = stores()
    chat = asked(store, "run", "Look.")
    chat.answer("c1", TEXT)
    dead, since = holder_name(), time.time()
    store.put_blob("default", [TEXT.encode()], holder=dead)
    with pytest.raises(Busy) as caught:
        chat.erase("o1", "asked for")
    said = str(caught.value)
    assert f"process {os.getpid()} on {platform.node()}" in said
    claim = re.findall(r"(?:since|ends at) (\d\d):(\d\d):(\d\d)", said)
    seconds = [int(h) * 3_600 + int(m) * 60 + int(s) for h, m, s in claim]
    assert (seconds[1] - seconds[0]) % 86_400 == 3_600
    now = datetime.fromtimestamp(since)
    assert (seconds[0] - now.hour * 3_600 - now.minute * 60 - now.second) % 86_400 < 60
    assert f"store.let_go('default', {dead!r})" in said
    store.let_go("default", dead)
    chat.erase("o1", "asked for")
    assert store.blobs("default") == []


def test_an_output_that_is_taken_in_is_no_garbage(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = stores()
    other, chat = asked(stores(), "other", "Look."), asked(mine, "run", "Look here.")
    found: list[Any] = []
    before_it_is_recorded(mine, monkeypatch, lambda: found.append(other.gc(delete=True, hidden=True)))
    chat.answer("c1", TEXT)
    assert found == [fanfold.Garbage()]
    assert chat.output("o1").bytes() == TEXT.encode()


def test_nothing_is_held_once_the_output_is_recorded(stores: Stores) -> None:
    store = stores()
    chat = asked(store, "run", "Look.")
    chat.answer("c1", TEXT)
    chat.erase("o1", "asked for")
    assert store.blobs("default") == []


def test_nothing_is_held_if_the_output_could_not_be_recorded(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stores()
    chat = asked(store, "run", "Look.")

    def full(*_: object, **__: object) -> None:
        raise fanfold.Full

    with monkeypatch.context() as broken:
        broken.setattr(store, "append", full)
        with pytest.raises(fanfold.Full):
            chat.answer("c1", TEXT)
    assert len(store.blobs("default")) == 2
    assert len(chat.gc(delete=True).blobs) == 2
    assert store.blobs("default") == []


def test_what_the_dead_held_is_let_go_after_an_hour(
    tmp_path: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in (SQLite(tmp_path / "a.db"), connect()):
        blob = store.put_blob("t", [b"left behind"], holder="dead")
        assert [hold.holder for hold in store.drop_blobs("t", [blob.id])] == ["dead"]
        monkeypatch.setattr(f"{type(store).__module__}.ABANDONED", -1.0)
        assert store.drop_blobs("t", [blob.id]) == []
        assert store.blobs("t") == []
    assert storing.ABANDONED == 3600


@pytest.mark.parametrize("stores", ["sqlite", "postgres"], indirect=True)
def test_what_somebody_took_in_again_since_it_was_listed_is_not_deleted(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions with the same beginning share the entry of an output."""
    mine, theirs = stores(), stores()
    chat = asked(mine, "run", "Look.")
    entry = chat.answer("c1", TEXT)
    chat.add(assistant("seen"))
    chat.say("next")
    chat.fold(tuple(row.id for row in chat.view().rows[1:3]), "It listed files.")
    assert len(chat.gc().hidden) == 1
    erase, again = mine.erase, list[Session]()

    def meanwhile(tenant: str, stub: Any, scrub: Any, **rest: Any) -> None:
        again.append(asked(theirs, "again", "Look."))
        assert again[0].answer("c1", TEXT).id == entry.id
        erase(tenant, stub, scrub, **rest)

    monkeypatch.setattr(mine, "erase", meanwhile)
    assert not chat.gc(delete=True, hidden=True)
    assert again[0].output("o1").bytes() == chat.output("o1").bytes() == TEXT.encode()
