"""Every change says how it is taken back, and that leaves what was there before; or it says that it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import fanfold
from fanfold.inspector.changes import ACTIONS
from fanfold.stores.memory import Memory
from tests.inspector.sights import looking
from tests.inspector.world import Page, open_worked

FINAL = {"release"}
"""Changes that cannot be taken back: what is released stays in view."""


def begun(store: Memory) -> tuple[fanfold.Session, Mapping[str, dict[str, Any]]]:
    """A session, and what each change takes in it."""
    chat = open_worked(store, window=400_000, strategy="auto")
    rows = [row.id for row in chat.view().rows]
    tip = chat.head
    chat.rewind(rows[8])
    first = chat.fold(tuple(rows[1:3]), "Looked once.").id
    second = chat.fold(tuple(rows[3:5]), "Looked twice.").id
    chat.undo(second)
    pin = chat.pin(rows[0]).id
    return chat, {
        "undo": {"edit": first},
        "redo": {"edit": second},
        "release": {"edit": second},
        "pin": {"what": rows[5]},
        "unpin": {"what": pin},
        "note": {"name": "plan", "text": "look on"},
        "fold": {"covers": rows[5:7], "text": "Looked a third time."},
        "rewind": {"to": rows[6]},
        "forward": {"to": tip},
    }


def seen(chat: fanfold.Session) -> list[Any]:
    return [(row.id, row.kind, row.pinned, row.messages) for row in chat.view().rows]


@pytest.mark.parametrize("verb", ACTIONS)
def test_what_was_done_is_taken_back_as_the_answer_says(verb: str) -> None:
    store = Memory()
    chat, takes = begun(store)
    before = seen(chat)
    with Page(store) as page:
        visitor = page.enter()
        back = visitor.tell("run", verb, **takes[verb])["back"] or []
        assert bool(back) == (verb not in FINAL)
        for step, fields in back:
            assert seen(chat) != before
            visitor.tell("run", step, **fields)
    assert seen(chat) == before


def test_one_message_that_was_brought_back_alone_is_hidden_again() -> None:
    store = Memory()
    chat, _ = begun(store)
    before = seen(chat)
    entry = chat.why(next(row.id for row in chat.view().rows if row.kind == "fold")).hides[0]
    with Page(store) as page:
        visitor = page.enter()
        for step, fields in visitor.tell("run", "undo", edit=entry)["back"]:
            visitor.tell("run", step, **fields)
    assert seen(chat) == before


@pytest.mark.parametrize("verb", ["rewind", "forward"])
def test_a_step_after_which_somebody_went_on_is_not_taken_back(verb: str) -> None:
    store = Memory()
    chat, takes = begun(store)
    with Page(store) as page:
        visitor = page.enter()
        ((step, fields),) = visitor.tell("run", verb, **takes[verb])["back"]
        chat.say("Said since.")
        told = visitor.tell("run", step, 400, **fields)
    assert "went on since" in told["error"]
    assert "Said since." in str(chat.view().rows[-1].messages)


def test_the_undo_of_a_step_back_does_not_take_away_what_the_agent_did_since() -> None:
    store = Memory()
    chat = open_worked(store, window=400_000, strategy="auto")
    row = chat.view().rows[6].id
    with looking(store, f"s/run/now/{row}") as (_, sight):
        page = sight.page
        page.get_by_role("button", name="Go back to here …").click()
        page.get_by_role("dialog").get_by_role("button", name="Go back", exact=True).click()
        undo = page.get_by_role("status").get_by_role("button", name="Undo")
        undo.wait_for()
        chat.say("Said since.")
        undo.click()
        page.get_by_role("status").get_by_text("The conversation went on since").wait_for()
        sight.complaints.clear()  # the browser tells of the refusal
    assert "Said since." in str(chat.view().rows[-1].messages)
