"""fanfold exam."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Run
from fanfold.replay.exam import holding
from fanfold.testing import FakeModel
from tests.replay.test_exam import answers, asks, grades, recorded


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """Two long conversations."""
    for name in ("one", "two"):
        recorded(tmp_path, name)
    return tmp_path


HOLD = ("exam", "one.json", "two.json", "--policy", "none,drop_oldest", "--window", "3k", "--write", "papers")


def test_people_are_told_what_to_fill(run: Run, talks: Path) -> None:
    ran = run(*HOLD)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "To be filled, then run the same command again:"
    assert len(list((talks / "papers").glob("requests/*.txt"))) == 4
    assert run("exam", "--read", "papers").out == "Nothing is graded yet.\n"


def test_models_hold_it_and_the_costs_are_told_beforehand(
    run: Run, talks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = {"claude-opus-4-5": FakeModel(asks), "gpt-5.2": FakeModel(answers), "nobody": FakeModel(grades)}
    monkeypatch.setattr(holding, "named", lambda who: scripts[who])
    who = ("--model", "claude-opus-4-5", "--answers", "gpt-5.2", "--grades", "nobody")
    ran = run(*HOLD, *who, "--yes")
    assert ran.code == 0
    told = ran.err.splitlines()
    assert told[0].startswith("questions: 2 calls of claude-opus-4-5, about ")
    assert "about $0." in told[0]
    assert told[2].endswith("price unknown")
    assert [line.split()[0] for line in ran.out.splitlines()[:3]] == ["policy", "none", "drop_oldest"]
    assert "Nobody could answer: What is the order? (15)" in ran.out
    assert run("exam", "--read", "papers").out == ran.out
    plain = json.loads(run("exam", "--read", "papers", "--json").out)
    assert [row["all"] for row in plain["policies"]] == ["94%", "0%"]
    assert len(plain["answers"]) == 64


def test_nobody_is_asked_before_the_cost_is_all_right(run: Run, talks: Path) -> None:
    ran = run(*HOLD, "--model", "gpt-5.2")
    assert ran.code != 0
    assert "Go on?" in ran.err


def test_wrong_usage_is_named(run: Run, talks: Path) -> None:
    assert "Name one folder" in run("exam", "one.json").err
    assert "Name one folder" in run("exam", "--read", "a", "--write", "b").err
    assert "holds no exam" in run("exam", "--read", "nowhere").err
    assert "No conversation is longer" in run("exam", "one.json", "--window", "1m", "--write", "papers").err
