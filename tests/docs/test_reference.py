"""The reference is made from the code: nothing public is missing, and no signature is a guess."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest

import fanfold

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "reference.py"


def page() -> str:
    return str(runpy.run_path(str(SCRIPT))["page"]())


def test_every_public_name_is_in_the_reference():
    text = page()
    assert [
        name for name in fanfold.__all__ if f"`{name}`" not in text and f"`fanfold.{name}`" not in text
    ] == []


def test_every_verb_of_a_session_has_its_signature_and_a_sentence():
    section = page().partition("### `Session`")[2].partition("\n### ")[0]
    verbs = [name for name in dir(fanfold.Session) if not name.startswith("_")]
    lines = [line for line in section.splitlines() if line.startswith("- `")]
    told = {line[3:].partition("(")[0].partition("`")[0]: line for line in lines}
    assert [verb for verb in verbs if verb not in told] == []
    assert [line for line in lines if line.partition("`: ")[2].strip() == ""] == []


def test_defaults_and_types_stand_as_the_code_has_them():
    assert "name: str = 'session'" in page()
    assert "on_moved: OnMoved = 'raise'" in page()


OPTIONS = [name for name in inspect.signature(fanfold.open).parameters if name != "name"]
DOCS = SCRIPT.parent.parent / "docs"


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_open_is_explained_where_help_points_and_on_the_pages(option: str):
    told = (fanfold.open.__doc__ or "").partition("\n\n")[2]
    assert re.search(rf"`{option}`(, `\w+`)*(:| is) \S", told), "it needs words in the docstring of `open`"
    table = (DOCS / "session.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| [^|]*`{option}`", table, re.M), "it needs a row in docs/session.md"
    settings = (DOCS / "settings.md").read_text(encoding="utf-8")
    assert re.search(rf"`\[?{option}[\]=]?`", settings), "can it stand in fanfold.toml?"


def test_every_option_of_open_has_a_type_and_aopen_has_the_same():
    given = inspect.signature(fanfold.open).parameters
    assert all(one.annotation is not inspect.Parameter.empty for one in given.values())
    assert list(inspect.signature(fanfold.aopen).parameters) == list(given)
