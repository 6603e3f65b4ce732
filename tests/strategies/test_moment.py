"""The right moment: above a soft mark, a reduction takes the next boundary (issue 22)."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import Session
from fanfold.core.plan import Outcome
from fanfold.strategies.handover.tools import tools_with
from fanfold.strategies.moment import boundary
from fanfold.text.json_text import to_json
from tests.builders import asks, calls, gives, says

TOOLS = tools_with(None)


def plan(id: str, *states: str) -> list[dict[str, Any]]:
    items = [{"content": f"Part {at}", "status": state} for at, state in enumerate(states)]
    return [calls(id, name="TodoWrite", arguments=to_json({"todos": items})), gives(id, "ok")]


def shell(id: str, command: str, output: str) -> list[dict[str, Any]]:
    return [calls(id, name="bash", arguments=to_json({"command": command})), gives(id, output)]


PASSED = "===== 41 passed in 2.31s =====\nexit code: 0"
FAILED = "===== 2 failed, 39 passed in 2.31s =====\nexit code: 1"
COMMITTED = "[main 1f3a9c2] Repair it\n 1 file changed\nexit code: 0"
OLDER = plan("p0", "in_progress", "pending")
FORKS: list[tuple[str, list[dict[str, Any]]]] = [
    ("request", [says("Done."), asks("And the other one?")]),
    ("plan", [*OLDER, *plan("p1", "completed", "in_progress")]),
    ("plan", plan("p1", "in_progress", "pending")),
    (
        "request",
        [calls("c", name="AskUserQuestion", arguments='{"question": "Which?"}'), gives("c", "The first.")],
    ),
    ("check", shell("c", "pytest -q", PASSED)),
    ("commit", shell("c", "git add -A && git commit -m 'Repair it'", COMMITTED)),
    ("report", [calls("c", name="Task", arguments='{"prompt": "Look."}'), gives("c", "Nothing was found.")]),
    ("commit", shell("c", "git commit -qm x && git log", "[main 1f3a9c2] Repair it\n 1 file changed")),
    ("commit", shell("c", "git push", "To example.org:it.git\n   c2b0273..3696270  main -> main")),
    (
        "check",
        shell("c", "bun run test", " 41 pass\n 0 fail\n 90 expect() calls\nRan 41 tests across 3 files."),
    ),
    ("check", shell("c", "golangci-lint run", "0 issues.")),
    ("check", shell("c", "biome check", "Checked 278 files in 106ms. No fixes applied.")),
    ("", shell("c", "bun run test", " 40 pass\n 1 fail\n 90 expect() calls\nRan 41 tests across 3 files.")),
    ("", shell("c", "golangci-lint run", "3 issues:\n* errcheck: 3")),
    ("", shell("c", "git push", " ! [rejected]  main -> main (fetch first)")),
    ("", [*OLDER, *plan("p1", "in_progress", "pending")]),
    ("", plan("p1", "completed", "pending")),
    ("", shell("c", "pytest -q", FAILED)),
    ("", shell("c", "ls src", "a.py")),
    ("", [*shell("c", "pytest -q", PASSED), *shell("d", "ls src", "a.py")]),
    ("", shell("c", "git commit -m x", "nothing to commit\nexit code: 1")),
]


@pytest.mark.parametrize(("told", "body"), FORKS)
def test_what_has_just_ended_is_told(told: str, body: list[dict[str, Any]]) -> None:
    with fanfold.open("run", model="x", window=32_000) as chat:
        chat.merge([asks("Repair the parser."), *shell("a", "cat a.py", "x = 1"), *body])
        assert boundary(chat.view(), TOOLS) == told


def work(chat: Session, number: int) -> None:
    for body in shell(f"s{number}", f"cat src/part_{number}.py", "a line of the file\n" * 30):
        chat.add(body)


def fill(chat: Session, until: float, first: int = 0) -> int:
    """Steps until so much of the room is taken, a request behind each; returns the number of the next."""
    room = chat._state.terms.budget.room
    while chat.view().tokens < until * room:
        assert first < 1_000, "a reduction came before"
        work(chat, first)
        chat.request()
        first += 1
    return first


@pytest.mark.parametrize("ends", [True, False])
def test_above_the_soft_mark_the_next_boundary_is_taken(ends: bool) -> None:
    outcomes: list[Outcome] = []
    hooks = fanfold.Hooks(after_edit=outcomes.append)
    with fanfold.open("run", model="x", window=32_000, hooks=hooks) as chat:
        chat.say("Repair the parser.")
        number = fill(chat, 0.6)
        assert not outcomes
        for body in shell(f"t{number}", "pytest -q", PASSED if ends else FAILED):
            chat.add(body)
        chat.request()
        assert bool(outcomes) is ends


def test_below_the_soft_mark_no_boundary_is_taken() -> None:
    outcomes: list[Outcome] = []
    hooks = fanfold.Hooks(after_edit=outcomes.append)
    with fanfold.open("run", model="x", window=32_000, hooks=hooks) as chat:
        chat.say("Repair the parser.")
        fill(chat, 0.45)
        for body in shell("t", "pytest -q", PASSED):
            chat.add(body)
        chat.request()
        assert not outcomes


def test_without_a_boundary_the_trigger_stays() -> None:
    outcomes: list[Outcome] = []
    hooks = fanfold.Hooks(after_edit=outcomes.append)
    with fanfold.open("run", model="x", window=32_000, hooks=hooks) as chat:
        chat.say("Repair the parser.")
        budget = chat._state.terms.budget
        for number in range(200):
            work(chat, number)
            chat.request()
            assert chat.view().tokens <= budget.ceiling
        assert len(outcomes) > 1
