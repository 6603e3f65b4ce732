"""One definition of every figure: the page, the command line and the library say the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold.cli import main
from fanfold.stores.memory import Memory
from fanfold.stores.sqlite import SQLite
from fanfold.testing import called, replied, response
from tests.inspector.world import ROWS, Page, open_worked


def leave_billed(path: Path) -> str:
    """A session that was reduced, billed otherwise than it had counted, and closed; returns an edit that stands."""
    with fanfold.open("run", store=f"sqlite:{path}", model="gpt-5.2", window=9_000) as chat:
        chat.say("Watch the disk. " * 60)
        for step in range(9):
            counted = chat.request(max_tokens=500).sent.tokens
            body = replied("I look.", called(f"c{step}", "look", json.dumps({"disk": step})))
            chat.receive(response(body, prompt=counted - 30 if step else counted + 20))
            chat.answer(f"c{step}", ROWS if step < 8 else "It hums.")
        return next(one.decision.id for one in chat.edits() if one.fate == "stands")


def test_reading_the_whole_log_does_not_change_what_is_counted(tmp_path: Path) -> None:
    leave_billed(tmp_path / "agent.db")
    with fanfold.open("run", store=f"sqlite:{tmp_path / 'agent.db'}") as chat:
        before = chat.view().tokens, chat.pressure()
        assert chat.edits()
        assert (chat.view().tokens, chat.pressure()) == before


def test_the_commands_and_the_page_tell_the_same_tokens(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edit, store = leave_billed(tmp_path / "agent.db"), f"sqlite:{tmp_path / 'agent.db'}"
    with Page(SQLite(tmp_path / "agent.db")) as page:
        visitor = page.enter()
        shown = visitor.ask("sessions/run/view")["tokens"]
        pressed = visitor.ask("sessions/run")["pressure"]["tokens"]
        told = visitor.tell("run", "undo", edit=edit, through=True, dry_run=True)
        assert main(["show", "run", "--json", "-s", store]) == 0
        printed = json.loads(capfd.readouterr().out)["tokens"]
        assert main(["undo", "run", edit, "--through", "--json", "-s", store]) == 0
        done = json.loads(capfd.readouterr().out)
        assert printed == shown == pressed == told["before"] == done["before"]
        assert told["after"] == done["after"] == visitor.ask("sessions/run/view")["tokens"]


def crowded(store: Any, strategy: Any) -> fanfold.Session:
    """A session whose next request is reduced first."""
    chat = open_worked(store, strategy=strategy)
    for number in range(8):
        chat.say(f"Disk {number} " + "hums and hums " * 300)
    return chat


@pytest.mark.parametrize("strategy", ["drop_oldest", "auto", "elide+digest"])
def test_to_what_a_session_is_reduced_is_told_by_its_own_strategy(tmp_path: Path, strategy: str) -> None:
    agent = crowded(SQLite(tmp_path / "agent.db"), strategy.split("+"))
    with Page(SQLite(tmp_path / "agent.db")) as page:  # as another process looks at it
        told = page.enter().tell("run", "note", name="plan", text="look on")
    assert told["due"]
    agent.refresh()
    agent.request(max_tokens=500)
    assert abs(agent.view().tokens - told["reduced"]) <= 0.05 * told["reduced"], strategy


def test_nothing_is_foretold_of_a_strategy_that_asks_a_model(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "agent.db")
    asking = {"name": "summarize"}
    chat = fanfold.open(
        "run",
        store=store,
        model="gpt-5.2",
        window=9_000,
        strategy=asking,
        summarizer=lambda _: "They talked.",
    )
    for number in range(8):
        chat.say(f"Disk {number} " + "hums and hums " * 300)
    chat.close()
    with Page(store) as page:
        told = page.enter().tell("run", "note", name="plan", text="look on", dry_run=True)
    assert (told["due"], told["reduced"]) == (True, None)


def test_looking_at_a_change_does_not_bring_the_next_reduction_forward() -> None:
    store = Memory()
    chat = open_worked(store)
    chat._state.aftermath.quiet_until = 8_000  # as after a reduction that brought little
    with Page(store) as page:
        page.enter().tell("run", "pin", what=chat.view().rows[0].id, dry_run=True)
    assert chat._state.aftermath.quiet_until == 8_000


def test_the_room_is_the_same_in_every_place(tmp_path: Path) -> None:
    store = SQLite(tmp_path / "a.db")
    chat = open_worked(store, window=16_000)
    with Page(store) as page:
        visitor = page.enter()
        told = visitor.ask("sessions/run")["room"], visitor.ask("sessions")[0]["room"]
        shown = visitor.ask("sessions/run/view")["room"]
    assert {*told, shown} == {chat.view().room} == {14_400}


def test_what_edits_hide_comes_to_what_is_said_to_be_hidden_and_the_window_went_from_what_why_tells(
    tmp_path: Path,
) -> None:
    """A reduction shortens outputs, and then folds what it shortened: its last edit alone saved much less."""
    store = Memory()
    chat = fanfold.open("run", store=store, model="gpt-5.2", window=6_000)
    chat.say("Watch the disk.")
    for step in range(9):
        chat.request(max_tokens=500)
        chat.receive(response(replied("I look.", called(f"c{step}", "look", json.dumps({"disk": step})))))
        chat.answer(f"c{step}", ROWS)
    ids = [row.id for row in chat.view().rows]
    chat.fold(ids[1:9], "They looked.")
    with Page(store) as page:
        visitor = page.enter()
        edits, hidden = visitor.ask("sessions/run/edits"), visitor.ask("sessions/run")["hidden_tokens"]
        stand = [one for one in edits if one["fate"] == "stands" and one["kind"] in ("fold", "drop", "elide")]
        assert any(one["fate"] == "covered" for one in edits)
        assert sum(one["hides_tokens"] for one in stand) == hidden
        fold = next(one for one in stand if one["kind"] == "fold")
        assert fold["hides_tokens"] > fold["saved"]
