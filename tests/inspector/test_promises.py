"""Every change by keyboard alone: the next body that a provider receives is what the page promised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold.stores.memory import Memory
from fanfold.testing.provider import Provider, Turn
from tests.inspector.sights import Keys, looking
from tests.inspector.world import open_worked

openai = pytest.importorskip("openai")
SENT = {"max_tokens": 500}


class Promised:
    """An agent at a scripted provider, and somebody who changes its session by keyboard."""

    def __init__(self, store: Memory, sight: Any, provider: Provider) -> None:
        self.store, self.sight, self.provider = store, sight, provider
        self.keys = Keys(sight)
        self.chat = open_worked(store, window=400_000, strategy="auto")
        self.client = openai.OpenAI(base_url=provider.openai_base_url, api_key="none", max_retries=0)

    def look(self, place: str) -> Keys:
        """Go to a screen."""
        self.sight.evaluate("place => { location.hash = '#/s/run/' + place }", place)
        return self.keys

    def unfold(self, summary: str) -> Keys:
        """Open what is folded up on the page."""
        shut = self.sight.get_by_text(summary, exact=True)
        shut.wait_for()
        if not shut.evaluate("one => one.parentElement.open"):
            shut.focus()
            self.keys.press()
        return self.keys

    def confirm(self, button: str) -> None:
        """Read how large the next request will be, do it, and let the agent go on: that is what it sends."""
        box = self.sight.get_by_role("dialog")
        said = box.get_by_text("The next request ").first.inner_text()
        self.keys.confirm(button)
        figure = said.partition(" to " if " to " in said else " at ")[2].split()[0]
        assert self.chat.view().tokens == int(figure.replace(",", "")), (button, said)
        self.go_on(self.chat, "run", **SENT)

    def promise(self, name: str = "run") -> Any:
        """The next request, as the page tells it."""
        ask = "name => fetch(`/inspector/api/sessions/${name}/next`).then(r => r.json())"
        return self.sight.evaluate(ask, name)["body"]

    def go_on(self, chat: fanfold.Session, name: str, **params: Any) -> None:
        """The agent's next request, which has to be the one that the page told."""
        promised = self.promise(name)
        chat.receive(self.client.chat.completions.create(**chat.request(**params)))
        assert self.provider.requests[-1].body == promised
        chat.say("And now?")

    @property
    def sent(self) -> str:
        return json.dumps(self.provider.requests[-1].body)


@pytest.mark.slow
def test_after_every_change_the_provider_receives_what_was_promised() -> None:
    store = Memory()
    with Provider(lambda _: Turn("All is well.")) as provider, looking(store, "") as (_, seen):
        at = Promised(store, seen.page, provider)
        chat, rows = at.chat, [row.id for row in at.chat.view().rows]
        at.go_on(chat, "run", **SENT)

        at.look(f"now/{rows[1]}")
        at.unfold("Fold rows from here").to("spinbutton", "How many rows, this one first").type("4")
        at.keys.to("textbox", "What stands in their place").type("Looked at two disks.")
        at.keys.to("button", "Fold …").press()
        at.confirm("Fold")
        assert "Looked at two disks." in at.sent
        fold = chat.edits()[-1].decision.id

        at.look(f"edit/{fold}").to("button", "Bring it back …").press()
        at.confirm("Bring it back")
        assert "Looked at two disks." not in at.sent
        at.keys.to("button", "Hide it again …").press()
        at.confirm("Hide it again")
        assert "Looked at two disks." in at.sent
        at.keys.to("button", "Bring it back …").press()
        at.confirm("Bring it back")
        at.keys.to("button", "Release …").press()
        at.confirm("Release it")
        assert "Looked at two disks." not in at.sent

        at.look(f"now/{rows[0]}").to("button", "Pin …").press()
        at.confirm("Pin it")
        assert chat.view().rows[0].pinned
        at.keys.to("button", "Unpin …").press()
        at.confirm("Unpin")
        assert not chat.view().rows[0].pinned

        at.look("now")
        at.unfold("Add a note or pin a line").to("textbox", "Name of the note").type("plan")
        at.keys.to("textbox", "Text").type("Look on, and listen.")
        at.keys.to("button", "Add the note …").press()
        at.confirm("Add the note")
        assert "Look on, and listen." in at.sent

        at.look("now")
        at.unfold("Fork the session").to("textbox", "Name of the new session").type("another")
        at.keys.to("button", "Fork it …").press().confirm("Fork")
        seen.page.get_by_text("This is the fork: another").wait_for()
        own = at.promise()["messages"]
        with fanfold.open("another", store=store) as other:
            at.go_on(other, "another")
        assert provider.requests[-1].body["messages"] == own

        with seen.page.expect_download() as download:
            at.look("now").to("link", "Export the session").press()
        lines = Path(download.value.path()).read_text().splitlines()
        assert json.loads(lines[0])["name"] == "run"
        assert json.loads(lines[-1])["kind"] == "end"

        at.look(f"now/{rows[4]}").to("button", "Go back to here …").press()
        at.confirm("Go back")
        assert "disk 5 " not in at.sent

        at.look(f"now/{rows[0]}").to("button", "Erase …").press()
        box = seen.page.get_by_role("dialog")
        box.get_by_role("textbox").nth(1).focus()
        at.keys.type(f"erase {rows[0][:8]}")
        at.confirm("Destroy it")
        assert "Watch the disk" not in at.sent
        assert provider.rejected == []
