"""Truth: what a policy says about how something ended, beside what the history has as evidence."""

from __future__ import annotations

import json

import pytest

from fanfold.core.message import Call, Message, assistant, result
from fanfold.replay import Shown
from fanfold.replay.trail import Witness


def step(name: str, args: dict[str, str], output: str, *, id: str, error: bool = False) -> list[Message]:
    """A call of a tool, and its result."""
    return [assistant("", Call(id, name, json.dumps(args))), result(id, output, error=error)]


TALK = [
    *step(
        "Bash", {"command": "pytest -q tests/lexer"}, "Exit code 1\nE assert 1 == 2, in test_lexer", id="c1"
    ),
    *step("Bash", {"command": "ruff check . --quiet"}, "All checks passed!", id="c2"),
    *step("Read", {"file_path": "/w/types.ts"}, "     1→  error: string | null;", id="c3"),
    *step("shell", {"script": "deploy --to staging"}, "deployed to the staging host", id="c4"),
    assistant("The lint run: failed before I changed it.\n## Failures\n- All checks passed!"),
]


@pytest.mark.parametrize(
    "line",
    [
        "- ruff check . --quiet → failed",
        "ruff check . --quiet: exit 2",
        "pytest -q tests/lexer → ok",
        "[failed]\n- error: string | null;",
        "[failed]\n- All checks passed!",
        "## failures\n- Read(types.ts): 1→ error: string | null;",
        "ruff check . --quiet → 失敗",
        "Read w/types.ts → failed",
    ],
)
def test_what_the_history_contradicts_is_false(line: str) -> None:
    assert len(heard(line)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "- ruff check . --quiet → ok",
        "pytest -q tests/lexer → failed",
        "[failed]\n- E assert 1 == 2, in test_lexer",
        "[files]\n- error: string | null;",
        "deploy --to staging → failed",  # nobody knows how that ended
        "something else entirely → failed",
        "Edit w/types.ts → failed",  # no such step
        "w/types.ts: changed; } catch (error) {",  # code, not an outcome
        "The lint run: failed before I changed it.",  # the history's own words
        "## Failures\n- All checks passed!",
        "ruff check . --quiet → failed, solved by ruff check --fix",
    ],
)
def test_what_the_history_says_or_does_not_know_is_not_false(line: str) -> None:
    assert heard(line) == []


def test_a_false_statement_counts_once_however_often_it_is_sent() -> None:
    witness = Witness(TALK)
    for text in (
        "ruff check . --quiet → failed",
        "ruff check . --quiet → failed",
        "x\nruff check . --quiet → failed",
    ):
        witness.hear(Shown((b"",), (1,), (text,)), len(TALK))
    assert witness.false == ["ruff check . --quiet → failed"]


def heard(text: str) -> list[str]:
    """The false statements in a request with this text."""
    witness = Witness(TALK)
    witness.hear(Shown((b"",), (1,), (text,)), len(TALK))
    return witness.false
