"""The reference is made from the code: nothing public is missing, and no signature is a guess."""

from __future__ import annotations

import runpy
from pathlib import Path

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
