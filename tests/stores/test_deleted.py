"""A file that is deleted or replaced while it is open: SQLite goes on writing to what nobody can open again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fanfold
from fanfold import SQLite, StoreFailed
from tests.inspector.sights import looking
from tests.inspector.world import Page


def remove(place: Path) -> None:
    for file in place.parent.glob(f"{place.name}*"):
        file.unlink()


def replace(place: Path) -> None:
    shutil.copy(place, copy := place.with_suffix(".copy"))
    copy.replace(place)


HOW = pytest.mark.parametrize(
    ("change", "says"), [(remove, "was deleted"), (replace, "was replaced by another file")]
)


@pytest.fixture
def store(tmp_path: Path) -> SQLite:
    store = SQLite(tmp_path / "agent.db")
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        chat.say("Watch the disk.")
        chat.request(max_tokens=50)
    store.check_place()
    return store


@HOW
def test_an_erasure_that_would_not_reach_the_file_says_so(store: SQLite, change: object, says: str) -> None:
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        change(store.file)  # type: ignore[operator]
        with pytest.raises(StoreFailed, match=f"agent.db {says} while it was open"):
            chat.erase(chat.head or "", "asked to forget")


@HOW
def test_nothing_is_called_recorded_that_went_into_a_file_nobody_finds(
    store: SQLite, change: object, says: str
) -> None:
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        chat.say("Still there.")
        change(store.file)  # type: ignore[operator]
        with pytest.raises(StoreFailed, match=f"agent.db {says} while it was open"):
            chat.say("Into nothing.")
        assert [message.text for message in chat.view().messages] == ["Watch the disk.", "Still there."]


@HOW
def test_the_inspector_changes_nothing_there_and_still_shows_what_it_sees(
    store: SQLite, change: object, says: str
) -> None:
    with Page(store) as page:
        visitor = page.enter()
        visitor.tell("run", "note", name="a", text="b")
        change(store.file)  # type: ignore[operator]
        for verb, fields in (("note", {"name": "c", "text": "d"}), ("fork", {"name": "other"})):
            refused = visitor.tell("run", verb, status=503, **fields)
            assert f"agent.db {says} while it was open" in refused["error"]
        assert visitor.ask("sessions/run")["name"] == "run"
        visitor.tell("run", "note", name="c", text="d", dry_run=True)


def test_an_open_page_says_that_the_file_is_gone(store: SQLite) -> None:
    with looking(store, "s/run/now") as (_, seen):
        seen.page.get_by_text("Watch the disk.").first.wait_for()
        seen.settle()
        remove(store.file)
        seen.page.get_by_role("alert").get_by_text("was deleted while it was open").wait_for()
        assert seen.page.get_by_text("Watch the disk.").count()


def test_a_store_that_was_closed_opens_the_file_that_is_there(store: SQLite) -> None:
    replace(store.file)
    store.close()
    store.check_place()
    with fanfold.open("run", store=store, model="gpt-5.2") as chat:
        assert len(chat.view().rows) == 1
