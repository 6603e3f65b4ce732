"""Write docs/systems.md and the tables in docs/systems, from docs/systems/requirements.toml and the tests.

`make pages` runs it; tests/systems/test_requirements.py tells where it was forgotten.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "systems"
SYSTEMS = {
    "A": ("codelia", "codelia"),
    "B": ("OpenStarry", "openstarry"),
    "C": ("Miki", "miki"),
    "D": ("Gemini CLI", "gemini_cli"),
    "E": ("Roo Code", "roo_code"),
}
HEAD = """# Five documented systems

If you use one of these systems, you find all of it here. Each requirement of its document has a number, code that meets
it, and tests. Presets are corrected where the document or its source is wrong; the plain functions of `fanfold.systems`
do exactly what the document says. This page is written by `make pages`.

| system | preset | page |
|---|---|---|
| codelia | `codelia` | [tool outputs by reference, compaction](systems/codelia.md) |
| OpenStarry | `openstarry_window`, `openstarry_summary`, `openstarry_state` | [pluggable](systems/openstarry.md) |
| Miki | `miki` | [importance, pruned user interfaces, a snapshot](systems/miki.md) |
| Gemini CLI | `gemini_cli` | [one snapshot for the oldest 70 %](systems/gemini_cli.md) |
| Roo Code | `roo_code` | [condense, else truncate; rewind](systems/roo_code.md) |
"""
_TABLE = re.compile(r"(?<=<!-- requirements -->\n).*?(?=<!-- end -->)", re.DOTALL)


def requirements() -> dict[str, dict[str, Any]]:
    """Every requirement by its id."""
    return tomllib.loads((FOLDER / "requirements.toml").read_text(encoding="utf-8"))


def marked() -> dict[str, Counter[str]]:
    """For each id, how many tests of which file show it."""
    found: dict[str, Counter[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for id in _marks(ast.parse(text)) if "mark.requirement" in text else ():
            found.setdefault(id, Counter())[str(path.relative_to(ROOT))] += 1
    return found


def _marks(tree: ast.Module) -> Iterator[str]:
    """The ids in `@pytest.mark.requirement(…)` of a file's tests."""
    tests = (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )
    for mark in (mark for test in tests for mark in test.decorator_list):
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.requirement":
            yield from (str(ast.literal_eval(argument)) for argument in mark.args)


def coverage() -> str:
    """The page with all requirements, and where they are tested."""
    tests = marked()
    page = HEAD
    for letter, (title, _) in SYSTEMS.items():
        page += f"\n## {letter}. {title}\n\n| id | asked for | tests |\n|---|---|---|\n"
        for id, one in requirements().items():
            if id[0] == letter:
                shown = ", ".join(f"`{file}` ({number})" for file, number in tests.get(id, {}).items())
                page += f"| {id} | {one['asks']} | {shown} |\n"
    return page


def table(letter: str) -> str:
    """The table of a system's page."""
    rows = "| id | asked for | code | different on purpose |\n|---|---|---|---|\n"
    for id, one in requirements().items():
        if id[0] == letter:
            code = ", ".join(f"`{name.removeprefix('fanfold.')}`" for name in one["code"])
            rows += f"| {id} | {one['asks']} | {code} | {one.get('differs', '')} |\n"
    return rows


def pages() -> Iterator[tuple[Path, str]]:
    """Every page with its text as it should be."""
    yield ROOT / "docs" / "systems.md", coverage()
    for letter, (_, name) in SYSTEMS.items():
        path = FOLDER / f"{name}.md"
        made = table(letter)
        yield path, _TABLE.sub(lambda _, made=made: made, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for page, text in pages():
        page.write_text(text, encoding="utf-8")
