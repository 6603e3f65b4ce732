"""A long session opens from its checkpoint: what its view needs is read, not everything that ever happened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, says, tell
from fanfold import Postgres, Session, SQLite, drop_oldest
from fanfold.stores.coding import Coding

Connect = Callable[..., Postgres]
Stores = Callable[[], SQLite | Postgres]
MANY = 1_200


class Counting(Coding):
    """Counts the records and entries that are read."""

    read = 0

    def read_line(self, data: bytes, place: bytes) -> Any:
        self.read += 1
        return super().read_line(data, place)

    def read_entry(self, id: str, parent: str | None, data: bytes, tenant: str = "") -> Any:
        self.read += 1
        return super().read_entry(id, parent, data, tenant)


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return lambda: SQLite(tmp_path / "a.db")
    connect: Connect = request.getfixturevalue("connect")
    return connect


def opened(store: SQLite | Postgres) -> Session:
    return fanfold.open("run", window=3_000, store=store, strategy=drop_oldest(), meter="characters/4")


def test_opening_a_long_session_reads_what_its_view_needs(stores: Stores) -> None:
    with opened(stores()) as chat:
        for n in range(MANY // 2):
            tell(chat, asks(f"{n} " + "word " * 30), says("Ok."))
            if n % 20 == 0:
                chat.request(max_tokens=100)
        shown = chat.view()
    store = stores()
    store.coding = counting = Counting(seal=store.seal)
    with opened(store) as again:
        assert again.view().messages == shown.messages
        assert counting.read <= len(shown.rows) + 10
        assert len(shown.rows) < MANY / 8
        again._state.read_whole()
        assert counting.read > MANY, "everything is there when it is asked for"


def test_a_client_instruction_stays_one_when_the_session_is_opened_again(stores: Stores) -> None:
    with opened(stores()) as chat:
        tell(chat, {"role": "system", "content": "Never touch vendor/."}, asks("Begin."), says("Ok."))
    with opened(stores()) as again:
        assert [row.stays for row in again.view().rows] == ["it is an instruction", None, None]


def test_looking_back_changes_nothing_of_what_is_shown(stores: Stores) -> None:
    with opened(stores()) as chat:
        for n in range(40):
            tell(chat, asks(f"{n} " + "word " * 30), says("Ok."))
            chat.request(max_tokens=100)
    with opened(stores()) as again:
        tell(again, asks("And now?"), says("Now this."))
        shown, standing = again.view(), again.stats()["edits"]
        again._state.read_whole()
        assert again.view().rows == shown.rows
        assert again.stats()["edits"] == standing
        assert len(again._state.path) == 82
        again._state.start_over()
        assert [(row.id, row.messages, row.tokens, row.stays) for row in again.view().rows] == [
            (row.id, row.messages, row.tokens, row.stays) for row in shown.rows
        ]
