"""The documentation is true: its code runs, prints what it says, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_docs = script("run_docs")
PAGES = [str(page.relative_to(ROOT)) for page in run_docs.pages()]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page: str) -> None:
    for printed in run_docs.run(ROOT / page):
        assert printed.really == printed.said.text, (
            f"{page}:{printed.said.line}; run scripts/run_docs.py --write"
        )


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [t for t in targets if "://" not in t and not ((ROOT / page).parent / t).exists()]
    assert missing == []


def test_every_page_stands_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    docs = ROOT / "docs"
    assert [
        str(p.relative_to(docs)) for p in docs.rglob("*.md") if str(p.relative_to(docs)) not in contents
    ] == []


def test_a_page_is_found_out_when_it_lies(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    (printed,) = run_docs.run(page)
    assert (printed.said.text, printed.really) == ("3\n", "2\n")
