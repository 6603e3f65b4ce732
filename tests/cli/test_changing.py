"""pin, unpin, note, rewind, forward, fork, erase."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import fanfold
from conftest import Run


def test_pins_and_notes(run: Run, store: str) -> None:
    assert run("pin", "run", "Never touch vendor/.").code == 0
    assert run("unpin", "run", "Never touch vendor/.").code == 0
    assert run("note", "run", "plan", "1. mend").code == 0
    assert "[note: plan] 1. mend" in run("show", "run").out


def test_that_a_pinned_entry_is_shortened_is_said(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    remark = run("pin", "run", ids[2]).out.splitlines()[1]
    assert remark == (
        f"{ids[2]} is shortened by e1, and pinned as the model sees it. To bring it back: fanfold undo run e1"
    )
    assert len(run("pin", "run", ids[0]).out.splitlines()) == 1


def test_what_undo_brings_back_above_the_room_is_said(run: Run, shortened: str) -> None:
    assert run("undo", "run", "--window", "300").out.splitlines()[1] == (
        "That is above the 270 that fit: the next request shortens something else, not what you brought back."
    )
    assert run("redo", "run").code == 0
    assert len(run("undo", "run").out.splitlines()) == 1


def test_what_another_edit_still_shortens_after_an_undo_is_said(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "They looked.").code == 0
    assert run("undo", "run", "e2").out.splitlines()[-1] == (
        "1 of 2 messages are still shortened or hidden by another edit: fanfold undo run e1"
    )
    assert "still" not in run("undo", "run", "e1").out


def test_a_command_that_is_proposed_names_the_store_that_was_given(run: Run, shortened: str) -> None:
    told = run("why", "run", "o1", "--store", shortened).out.splitlines()[-1]
    assert told == f"To bring it back: fanfold undo run e1 --store {shortened}"


def test_a_message_is_not_undone_but_its_edit_is_named(run: Run, shortened: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    told = "not an edit; to bring it back, undo e1.\n"
    assert run("undo", "run", ids[2]).err == f"fanfold: {ids[2]} is a message, {told}"
    assert run("undo", "run", "o1").err == f"fanfold: o1 is an output, {told}"
    assert run("undo", "run", ids[0]).err.endswith("not an edit; no edit hides or shortens it.\n")
    assert run("fold", "run", ids[1], ids[2], "It looked.").code == 0
    assert run("undo", "run", ids[2]).err.endswith("to bring it back, undo e1 with --through.\n")


def test_a_command_is_done_after_what_the_agent_wrote_meanwhile(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(23) Commands use a pool: that somebody else wrote first is no error."""
    append, first = fanfold.SQLite.append, [True]

    def beside(self: fanfold.SQLite, *words: Any, **rest: Any) -> Any:
        if first and first.pop():
            with fanfold.open("run", window=9_000, store=fanfold.SQLite(self.file)) as agent:
                agent.say("Meanwhile.")
        return append(self, *words, **rest)

    monkeypatch.setattr(fanfold.SQLite, "append", beside)
    assert run("note", "run", "plan", "1. mend").code == 0
    shown = run("show", "run").out
    assert "Meanwhile." in shown
    assert "[note: plan] 1. mend" in shown


def test_a_fold_outlives_a_pin_that_is_let_go(run: Run, store: str) -> None:
    """(19.3) Every command opens the session anew, from its checkpoint."""
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "It looked.").code == 0
    before = run("show", "run").out
    assert run("pin", "run", "Never touch vendor/.").code == 0
    assert run("unpin", "run", "Never touch vendor/.").code == 0
    assert run("show", "run").out.splitlines()[1:] == before.splitlines()[1:]
    assert "It looked." in before


def test_back_and_forward(run: Run, store: str) -> None:
    assert "stands at" in run("rewind", "run", "--turns", "1").out
    assert "Mend it." not in run("show", "run").out
    assert run("forward", "run").code == 0
    assert "Mend it." in run("show", "run").out
    first = run("show", "run", "--ids").out.splitlines()[2].split()[0]
    assert run("rewind", "run", first).out == f"run stands at {first}: 1 row, 23 tokens\n"


def test_a_fork_is_a_session_of_its_own(run: Run, store: str) -> None:
    assert run("fork", "run", "again").code == 0
    assert "again" in run("ls").out
    assert run("rewind", "again", "--turns", "1").code == 0
    assert "Mend it." in run("show", "run").out


def test_what_is_erased_is_nowhere(run: Run, store: str, tmp_path: Path) -> None:
    assert run("erase", "run", "o1", "--reason", "secret", "--yes").code == 0
    assert run("cat", "run", "o1").code != 0 or "ERROR" not in run("cat", "run", "o1").out
    assert b"line 7: ERROR" not in (tmp_path / "agent.db").read_bytes()


def test_erasing_asks_first(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody there to say yes
    nobody = run("erase", "run", "o1", "--reason", "secret")
    assert (nobody.code, nobody.out) == (2, "")
    assert "fanfold: Nothing was erased: give --yes." in nobody.err
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    refused = run("erase", "run", "o1", "--reason", "secret")
    assert (refused.code, refused.out) == (1, "Nothing was erased.\n")
    assert "ERROR" in run("cat", "run", "o1").out


def test_a_fold_that_cannot_be_made_changes_nothing(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    ran = run("fold", "run", ids[2], ids[3], "half a pair")
    assert ran.code == 2
    assert ran.err.startswith("fanfold: This fold cannot be made")
    ran = run("fold", "run", ids[3], ids[1], "backwards")
    assert "name the older one first" in ran.err
    with fanfold.open("run", model="gpt-4o", store=store) as chat:
        assert chat.stats()["edits"] == 0


def test_an_edit_under_another_one_is_undone_by_an_option_of_the_command(run: Run, store: str) -> None:
    ids = [line.split()[0] for line in run("show", "run", "--ids").out.splitlines()[2:]]
    assert run("fold", "run", ids[1], ids[2], "It looked.").code == 0
    assert run("fold", "run", ids[0], "e1", "It began.").code == 0
    assert run("undo", "run", "e1").err == (
        "fanfold: e1 is covered by e2. Undo that first, or give --through to undo both.\n"
    )
    assert run("undo", "run", "e1", "--through").code == 0
