"""Names, places and keys that nobody should give: each is told so in a sentence, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import BadInput, BadSetting, Memory, SQLite, StoreFailed
from fanfold.cli.sessions import existing_store
from fanfold.stores.opening import is_remote, is_there, open_alone, open_store


@pytest.mark.parametrize("tenant", [None, 5, b"theirs", ["theirs"], True])
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_tenant_is_a_text(tmp_path: Path, kind: str, tenant: Any) -> None:
    store = Memory() if kind == "memory" else SQLite(tmp_path / "a.db")
    with pytest.raises(BadInput, match="tenant is a name"):
        fanfold.open("run", window=9_000, store=store, tenant=tenant)


@pytest.mark.parametrize("tenant", ["", "x" * 1_000_000, "\x00", "\ud800", "../../etc", "' OR 1=1 --", "a%"])
def test_any_text_is_a_tenant_of_its_own(tmp_path: Path, tenant: str) -> None:
    store = SQLite(tmp_path / "a.db")
    with fanfold.open("run", window=9_000, store=store, tenant="ab") as chat:
        chat.say("mine")
    with fanfold.open("run", window=9_000, store=store, tenant=tenant) as chat:
        assert chat.head is None
        chat.say("theirs")
    assert [path for path in tmp_path.rglob("*") if not path.name.startswith("a.db")] == []
    with fanfold.open("run", window=9_000, store=store, tenant="ab") as chat:
        assert [message.text for message in chat.view().messages] == ["mine"]


@pytest.mark.parametrize("name", ["a\x00b", "x" * 300, "nowhere/a.db", "."])
def test_a_file_that_cannot_be_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreFailed):
        SQLite(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a?mode=ro", "a#b", "a%41", "spaced out", "\u00e9", "file:a"])
def test_any_other_name_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        with fanfold.open("run", window=9_000, store=f"sqlite:{tmp_path / name}") as chat:
            chat.say("Hello.")
    assert (tmp_path / name).is_file()
    assert len(SQLite(tmp_path / name).load("default", "run").records) == 3


def test_what_other_tools_call_memory_makes_no_file_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSetting, match="say `memory`"):
        fanfold.open("run", window=9_000, store="sqlite::memory:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("look", [open_store, open_alone, is_there, is_remote, existing_store])
@pytest.mark.parametrize("name", ["sqlite::memory:", "sqlite:", "postgresql:agent", "postgres:"])
def test_a_name_that_means_no_store_is_refused_wherever_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[str], object], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadSetting, match=r"[Ss]ay `memory`"):
        look(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("blobs", [None, "outputs"])
def test_a_store_stays_where_it_is_when_the_process_goes_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blobs: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    store = SQLite("a.db", blobs=blobs)
    with fanfold.open("run", window=9_000, store=store) as chat:
        chat.say("Here.")
        monkeypatch.chdir(tmp_path / "elsewhere")
        chat.say("There.")
        blob = store.put_blob("default", [b"x" * (2 << 20)])
    store.close()
    assert b"".join(store.get_blob("default", blob.id)) == b"x" * (2 << 20)
    with fanfold.open("run", window=9_000, store=store) as chat:
        assert [message.text for message in chat.view().messages] == ["Here.", "There."]
    assert list((tmp_path / "elsewhere").iterdir()) == []
