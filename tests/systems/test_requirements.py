"""Every requirement of the five documents has code, a test, and a line in the documentation."""

from __future__ import annotations

import importlib
from functools import cache

import pytest

from scripts import write_systems

LISTED = write_systems.requirements()
marked = cache(write_systems.marked)
NUMBERS = {"A": 18, "B": 6, "C": 8, "D": 9, "E": 12}


def test_the_list_is_complete() -> None:
    assert list(LISTED) == [f"{letter}{i}" for letter, most in NUMBERS.items() for i in range(1, most + 1)]


@pytest.mark.parametrize("id", LISTED)
def test_a_requirement_has_a_test(id: str) -> None:
    assert id in marked()


def test_every_mark_names_a_requirement() -> None:
    assert set(marked()) - set(LISTED) == set()


@pytest.mark.parametrize("name", sorted({name for one in LISTED.values() for name in one["code"]}))
def test_the_code_that_meets_a_requirement_is_there(name: str) -> None:
    if ".adk." in name:
        pytest.importorskip("google.adk")
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute)
        return
    pytest.fail(f"{name} is nowhere")


def test_the_pages_are_the_ones_that_the_list_and_the_tests_make() -> None:
    wrong = [path.name for path, text in write_systems.pages() if path.read_text(encoding="utf-8") != text]
    assert wrong == [], "run make pages"
