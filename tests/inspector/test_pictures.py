"""The pictures of the inspector in the pages show what it shows today; `make pages` takes them anew."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

from tests.browser import found

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "assets" / "inspector"


@pytest.mark.slow
@pytest.mark.skipif(found() is None, reason="there is no browser: run scripts/fetch_browser.py")
def test_what_stands_on_the_screens_is_what_the_pictures_show(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "scripts" / "picture_inspector.py"))["main"](tmp_path)
    now, then = (json.loads((place / "seen.json").read_text("utf-8")) for place in (tmp_path, PICTURES))
    assert now == then, "the pictures are stale: run `make pages`"


def test_every_picture_of_the_pages_is_there_and_is_used() -> None:
    pages = "".join(page.read_text("utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    used = set(re.findall(r"assets/inspector/([\w-]+\.png)", pages))
    assert {path.name for path in PICTURES.glob("*.png")} == used
