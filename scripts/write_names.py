"""Write docs/names.md: every public name with the first sentence of its docstring.

python scripts/write_names.py            write the page
python scripts/write_names.py --print    print it instead
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import ModuleType

import fanfold

PAGE = Path(__file__).parent.parent / "docs" / "names.md"
HEAD = """# Public names

Everything that `fanfold` exports. What is not in this table may change at any time.
This page is written by `scripts/write_names.py` from the docstrings.

| name | kind | what it is |
|---|---|---|
"""


def kind(value: object) -> str:
    """What sort of thing a name stands for."""
    if isinstance(value, ModuleType):
        return "module"
    if isinstance(value, type):
        return "error" if issubclass(value, Exception) else "class"
    return "function"


def sentence(value: object) -> str:
    """The first line of a docstring, fit for a table."""
    return (inspect.getdoc(value) or "").splitlines()[0].rstrip(":").replace("|", "\\|")


def page() -> str:
    """The whole page."""
    rows = ((name, getattr(fanfold, name)) for name in fanfold.__all__)
    return HEAD + "".join(f"| `{name}` | {kind(value)} | {sentence(value)} |\n" for name, value in rows)


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.buffer.write(page().encode())
    else:
        PAGE.write_text(page(), encoding="utf-8")
