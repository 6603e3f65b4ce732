"""Policies by name: those that `open` knows, and no table beside that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fanfold.config import naming
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Ask
from fanfold.replay import Played, SessionPlayer, Trace, play, policy, replay, traces
from fanfold.systems.presets import PRESETS
from fanfold.testing import called, replied, returned, said


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A conversation of several turns that does not fit."""
    messages: list[dict[str, Any]] = []
    for step in range(40):
        messages += [
            said(f"Look at page {step}."),
            replied("", called(f"c{step}", "find", json.dumps({"page": step}))),
        ]
        messages += [returned(f"c{step}", f"page {step} " + "nothing here " * 60), replied("Nothing.")]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(messages))
    return path


OFFLINE = sorted({*naming.STRATEGIES, *PRESETS} - naming.ASKING)


@pytest.mark.parametrize("name", [*OFFLINE, "elide+digest"])
def test_every_strategy_and_preset_that_asks_no_model_is_a_policy(file: Path, name: str) -> None:
    (played,) = replay(file, name, window=4_000, workers=1)
    assert played.changes != ()
    assert (played.score.over, played.score.faults) == (0, 0)


@pytest.mark.parametrize("name", sorted(naming.ASKING))
def test_one_that_asks_a_model_says_why_it_is_none(name: str) -> None:
    with pytest.raises(BadSetting, match=f"'{name}' asks a model, and a replay has none to ask"):
        policy(name)
    if name in naming.STRATEGIES:
        with pytest.raises(BadSetting, match=f"'{name}' asks a model"):
            policy(f"elide+{name}")


@pytest.mark.parametrize(
    "name", ["codelia", "gemini_cli", "rolling", "roo_code", "summarize", "openstarry_summary"]
)
def test_those_that_are_said_to_ask_do(file: Path, name: str) -> None:
    assert asked(file, name) > 0


@pytest.mark.parametrize("name", OFFLINE)
def test_the_others_never_do(file: Path, name: str) -> None:
    assert asked(file, name) == 0


def asked(file: Path, name: str) -> int:
    """How often a policy with a model at hand asks it."""

    def answered(question: Ask) -> str:
        return "They looked at some pages."

    def chosen(trace: Trace, window: int) -> SessionPlayer:
        if name in PRESETS:
            return SessionPlayer(trace, window, None, summarizer=answered, preset=name)
        return SessionPlayer(trace, window, naming.strategies_named(name), summarizer=answered)

    (trace,) = traces(file)
    played: Played = play(trace, name, 4_000, chosen)
    return played.score.asked


def test_an_unknown_one_is_refused_before_anything_is_read() -> None:
    with pytest.raises(BadSetting, match=r"There is no policy 'drop_oldst'\. Did you mean 'drop_oldest'"):
        replay("nowhere.json", ["none", "drop_oldst"])
    with pytest.raises(BadSetting, match="There is no policy 'miki'"):
        policy("elide+miki")
    with pytest.raises(BadSetting, match="No policy was named"):
        replay("nowhere.json", [])


OLDEST = """
from fanfold import Fold

def oldest():
    def fold(view, budget):
        return [Fold(view.oldest(leaving=budget.goal).covers, "a stranger's summary")]
    return fold
"""


def test_a_plug_in_is_a_policy(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site" / "oldest-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: oldest\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fanfold.strategies]\noldest = oldest_first:oldest\n")
    (tmp_path / "site" / "oldest_first.py").write_text(OLDEST)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (trace,) = traces(file)
    for name in ("oldest", "elide+oldest"):
        player = policy(name)(trace, 4_000)
        assert "a stranger's summary" in player.show(len(trace.messages)).text
        player.close()
