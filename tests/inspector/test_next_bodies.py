"""In every dialect, after every kind of change: the next request is the one that the page told."""

from __future__ import annotations

import json
from typing import Any

import pytest

import fanfold
from fanfold.stores.memory import Memory
from tests.inspector.world import Page, Visitor

MODELS = {
    "openai.chat": "gpt-5.2",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-2.5-pro",
}
SENT: dict[str, Any] = {"max_tokens": 500}


def worked(store: Memory, dialect: str) -> fanfold.Session:
    """A session that looked at three disks."""
    chat = fanfold.open("run", store=store, dialect=dialect, model=MODELS[dialect], window=400_000)
    chat.say("Watch the disks.")
    for disk in range(3):
        chat.request(**SENT)
        call = fanfold.Call(f"c{disk}", "look", json.dumps({"disk": disk}))
        chat.add(fanfold.Message("assistant", (fanfold.Text(f"I look at disk {disk}."), call)))
        chat.answer(f"c{disk}", f"disk {disk}\n" + "it hums and all is well\n" * 50)
    chat.request(**SENT)
    return chat


class Promises:
    """Somebody who changes a session by the API, while an agent has it open."""

    def __init__(self, chat: fanfold.Session, visitor: Visitor) -> None:
        self.chat, self.visitor = chat, visitor

    def make(self, verb: str, **fields: Any) -> str:
        """Look at a change, make it, and compare both with what is sent then; returns that."""
        dry = self.visitor.tell("run", verb, dry_run=True, **fields)
        sentence = {"sentence": dry["sentence"]} if verb == "erase" else {}
        self.visitor.tell("run", verb, **fields, **sentence)
        promised = self.visitor.ask("sessions/run/next")["body"]
        assert self.chat.view().tokens == dry["after"], verb
        sent = self.chat.request(**SENT)
        assert dict(sent) == promised, verb
        return json.dumps(sent)


@pytest.mark.parametrize("dialect", MODELS)
def test_the_next_body_is_the_one_that_was_told(dialect: str) -> None:
    store = Memory()
    chat = worked(store, dialect)
    rows = [row.id for row in chat.view().rows]
    with Page(store) as page:
        at = Promises(chat, page.enter())
        assert "Two disks hum." in at.make("fold", covers=rows[1:5], text="Two disks hum.")
        edit = chat.edits()[-1].decision.id
        assert "Two disks hum." not in at.make("undo", edit=edit)
        assert "Two disks hum." in at.make("redo", edit=edit)
        assert "disk 1" in at.make("undo", edit=rows[4])
        at.make("redo", edit=edit)
        at.make("undo", edit=edit)
        at.make("release", edit=edit)
        at.make("pin", what=rows[0])
        at.make("unpin", what=rows[0])
        assert "look on" in at.make("note", name="plan", text="look on")
        at.make("undo", edit=chat.edits()[-1].decision.id)
        assert "disk 2" not in at.make("rewind", to=rows[4])
        assert "disk 2" in at.make("forward")
        assert "Watch the disks." not in at.make("erase", entry=rows[0], reason="a secret")
        at.visitor.tell("run", "fork", name="other")
        promised = at.visitor.ask("sessions/other/next")["body"]
    with fanfold.open("other", store=store) as other:
        assert dict(other.request()) == promised  # it has asked for nothing yet, so for no length either
