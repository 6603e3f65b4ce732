"""The pictures of the pages show what the code does today; `make pages` draws them anew."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(SCRIPTS / f"{name}.py")))


picture_concepts = script("picture_concepts")


@pytest.mark.parametrize("name", ["flow", "log", "reduction", pytest.param("cache", marks=pytest.mark.slow)])
def test_a_picture_is_not_stale(name: str) -> None:
    drawn = "\n".join(picture_concepts.PICTURES[name]())
    assert drawn == picture_concepts.place(name).read_text(encoding="utf-8"), "`make pages` draws it anew"
    ElementTree.fromstring(drawn)


def test_a_reduction_takes_three_quarters_away_and_ends_with_a_hand_over() -> None:
    steps = [
        picture_concepts.by_kind(picture_concepts.reduced(part))
        for part in ([], list(picture_concepts.STEPS.values()))
    ]
    assert steps[0].total() > 4 * steps[1].total()
    assert steps[1]["handover"] > 0
