"""What each block of a replay has cost, counted by hand; and the sum is that of the replay."""

from __future__ import annotations

from pathlib import Path

import pytest

import fanfold
from fanfold.replay import Shown
from fanfold.replay.page import page
from fanfold.replay.report import totals
from fanfold.replay.score import READ, WRITE
from fanfold.replay.spending import PLACEHOLDER, Expense, Spending
from fanfold.text.json_text import to_json
from tests.builders import asks, calls, gives, says


def shown(*blocks: tuple[str, int]) -> Shown:
    return Shown(
        tuple(text.encode() for text, _ in blocks),
        tuple(t for _, t in blocks),
        tuple(text for text, _ in blocks),
    )


def test_what_is_read_again_adds_up_and_what_was_cached_is_cheap() -> None:
    spending = Spending()
    spending.take(shown(("rules", 100), ("log", 600)), cached=0)
    spending.take(shown(("rules", 100), ("log", 600), ("reply", 50)), cached=400)
    again = READ * 300 + WRITE * 300
    assert spending.dearest(1) == (
        Expense("log", 600, 2, WRITE * 600 + again, pytest.approx(again * (1 - PLACEHOLDER / 600))),
    )
    assert [one.label for one in spending.dearest(9)] == ["log", "rules", "reply"]


def test_what_is_shorter_than_the_line_in_its_place_spares_nothing() -> None:
    spending = Spending()
    for _ in range(3):
        spending.take(shown(("ok", PLACEHOLDER - 1)), cached=0)
    assert spending.dearest(1)[0].spare == 0


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    steps = [
        body
        for number in range(12)
        for body in (
            calls(f"c{number}", name="bash", arguments=f'{{"command": "make {number}"}}'),
            gives(f"c{number}", f"part {number} <b>\n" + "all is well here\n" * (400 if number == 3 else 20)),
        )
    ]
    file = tmp_path / "talk.json"
    file.write_text(to_json([asks("Build it."), *steps, says("Built.")]))
    return file


@pytest.mark.parametrize("policy", ["none", "drop_oldest", "default"])
def test_the_sum_is_the_cost_of_the_replay(talk: Path, policy: str) -> None:
    (played,) = fanfold.replay.replay([talk], [policy], window=4_000)
    assert played.spent == pytest.approx(played.score.cost)


def test_the_page_lists_the_ten_most_expensive_things(talk: Path) -> None:
    played = fanfold.replay.replay([talk], ["none"], window=100_000)
    assert len(played[0].dearest) == 10
    assert played[0].dearest[0].label.startswith("part 3 <b>")
    text = page(played, totals(played), 100_000)
    assert "<section id=dearest>" in text
    assert "part 3 &lt;b&gt;" in text
    assert "part 3 <b>" not in text
