"""Every change that the page offers: it is what its dry run said, and its way back leads to where things were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fanfold
from fanfold.inspector.changes import ACTIONS
from fanfold.stores.memory import Memory
from tests.inspector.world import Page, open_worked

WITHOUT_WAY_BACK = {"release"}


class Prepared:
    """A session in which something was undone, folded, pinned and left behind."""

    def __init__(self, store: Memory) -> None:
        chat = open_worked(store, window=400_000, strategy="auto")
        rows = [row.id for row in chat.view().rows]
        self.folded = chat.fold(tuple(rows[1:5]), "Looked at two disks.").id
        self.undone = chat.fold(tuple(rows[7:9]), "Looked at the fourth disk.").id
        chat.undo(self.undone)
        self.pin = chat.pin(rows[0]).id
        self.hidden, self.rows = rows[2], rows[9:11]
        self.middle, self.chat = rows[-3], chat


FIELDS: dict[str, Callable[[Prepared], dict[str, Any]]] = {
    "undo": lambda at: {"edit": at.folded},
    "redo": lambda at: {"edit": at.undone},
    "release": lambda at: {"edit": at.undone},
    "pin": lambda at: {"what": at.middle},
    "unpin": lambda at: {"what": at.pin},
    "note": lambda at: {"name": "plan", "text": "look on"},
    "fold": lambda at: {"covers": at.rows, "text": "Looked."},
    "rewind": lambda at: {"to": at.middle},
    "forward": lambda at: {},
}


def shown(chat: fanfold.Session) -> list[tuple[Any, ...]]:
    """What the model sees."""
    return [(row.messages, row.pinned, row.tokens) for row in chat.view().rows]


@pytest.mark.parametrize("verb", ACTIONS)
def test_a_change_is_what_its_dry_run_said_and_its_way_back_leads_to_where_things_were(verb: str) -> None:
    store = Memory()
    at = Prepared(store)
    if verb == "forward":
        at.chat.rewind(at.middle)
    fields, before = FIELDS[verb](at), shown(at.chat)
    with Page(store) as page:
        visitor = page.enter()
        dry = visitor.tell("run", verb, dry_run=True, **fields)
        assert shown(at.chat) == before
        assert dry["back"] is None
        done = visitor.tell("run", verb, **fields)
        assert (done["before"], done["after"]) == (dry["before"], dry["after"])
        assert visitor.ask("sessions/run/view")["tokens"] == dry["after"]
        assert dry["says"] == done["says"]
        if verb in WITHOUT_WAY_BACK:
            assert done["back"] is None
            return
        assert shown(at.chat) != before
        for step, told in done["back"]:
            visitor.tell("run", step, **told)
        assert shown(at.chat) == before


def test_one_message_that_was_brought_back_is_hidden_again_with_the_others() -> None:
    store = Memory()
    at = Prepared(store)
    before = shown(at.chat)
    with Page(store) as page:
        visitor = page.enter()
        dry = visitor.tell("run", "undo", edit=at.hidden, dry_run=True)
        assert (
            f"The other messages that {at.folded} hides stay hidden, behind the same words."
            in dry["says"][-1]
        )
        done = visitor.tell("run", "undo", edit=at.hidden)
        assert at.hidden in [row.id for row in at.chat.view().rows]
        for step, told in done["back"]:
            visitor.tell("run", step, **told)
        assert shown(at.chat) == before
        again = visitor.tell("run", "undo", edit=at.hidden)
        redone = visitor.tell("run", *again["back"][0][:1], **again["back"][0][1])
        for step, told in redone["back"]:
            visitor.tell("run", step, **told)
        assert at.hidden in [row.id for row in at.chat.view().rows]


def test_what_has_no_way_back_is_listed() -> None:
    assert {verb for verb, action in ACTIONS.items() if action.back is None} == WITHOUT_WAY_BACK
