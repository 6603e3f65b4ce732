"""Every requirement of the five documents has code, a test, and a line in the documentation."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "scripts" / "write_systems.py"
LISTED = tomllib.loads((ROOT / "docs" / "systems" / "requirements.toml").read_text(encoding="utf-8"))
NUMBERS = {"A": 18, "B": 6, "C": 8, "D": 9, "E": 12}
MARK = re.compile(r"@pytest\.mark\.requirement\(([^)]*)\)")


def marked() -> set[str]:
    """The ids that tests name."""
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return {id for text in texts for mark in MARK.findall(text) for id in re.findall(r'"([A-E]\d+)"', mark)}


def test_the_list_is_complete() -> None:
    assert list(LISTED) == [f"{letter}{i}" for letter, most in NUMBERS.items() for i in range(1, most + 1)]


@pytest.mark.parametrize("id", LISTED)
def test_a_requirement_has_a_test(id: str) -> None:
    assert id in marked()


def test_every_mark_names_a_requirement() -> None:
    assert marked() - set(LISTED) == set()


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
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "", "run make pages"
