"""An edit: each line of a hand-over leads to the messages that it was made from."""

from __future__ import annotations

import json
from typing import Any

import fanfold
from fanfold.stores.memory import Memory
from fanfold.testing import called, replied, response
from tests.inspector.test_access import Keys
from tests.inspector.test_page import looking


def open_handed_over(store: Any) -> tuple[fanfold.Session, str]:
    """A session that was reduced to a hand-over, and the edit that did it."""
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=8_000)
    chat.say("Fix the column in parser.py. Never touch vendor/.")
    for step in range(150):
        counted = chat.request(max_tokens=500).sent.tokens
        call = called(f"c{step}", "read", json.dumps({"path": f"src/module_{step}.py"}))
        chat.receive(response(replied(f"I read module_{step} to find the column.", call), prompt=counted))
        chat.answer(f"c{step}", f"# module_{step}\n" + f"column_{step} = lost({step})\n" * 60)
        folds = [one for one in chat.edits() if one.kind == "fold"]
        if folds:
            return chat, folds[0].decision.id
    raise AssertionError("nothing was handed over")


def test_a_line_of_a_hand_over_leads_to_its_source_by_keyboard() -> None:
    store = Memory()
    chat, edit = open_handed_over(store)
    lines = chat.why(edit).lines
    assert lines
    with looking(store, f"s/run/edit/{edit}") as (_, seen):
        sight = seen.page
        sight.get_by_text("Choose a line to see what it was made from.").wait_for()
        told = sight.locator("button.told")
        assert told.count() == len(lines)
        name = told.last.inner_text()
        Keys(sight).to("button", name).press()
        lit = sight.locator(".source[aria-current=true]")
        lit.first.wait_for()
        assert {one.get_attribute("id") for one in lit.all()} <= {f"from-{id}" for id in lines[-1].entries}
