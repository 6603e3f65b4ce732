"""Run the Python blocks of the documentation, and compare what they print with what the page says they print.

    python scripts/run_docs.py            tell what differs
    python scripts/run_docs.py --write    write what was printed into the pages

The blocks of one page run in order and share their names. A `text` block right after a `python` block is what
that block prints. In a `console` block the commands that begin with `$ fanfold` are run, in the same folder, and
what stands below each is what it prints. Commands that serve until they are stopped are left as they stand.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")
"""Told by a command; the pages have the same one on every day."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Printed:
    """What a block printed, and what the page says."""

    said: Block
    really: str


def pages() -> list[Path]:
    """Every page with code in it."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(match[1], match[2], match.start(2), match.end(2), page.count("\n", 0, match.start(2)))
        for match in _BLOCK.finditer(page)
    ]


def run(path: Path) -> Iterator[Printed]:
    """Run a page's blocks in a folder of its own; gives back what each printed where the page says something."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _run(path, folder)


def _run(path: Path, folder: str) -> Iterator[Printed]:
    page = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": path.stem}
    found = blocks(page)
    for number, block in enumerate(found):
        if block.language == "console" and "$ fanfold " in block.text:
            yield Printed(block, _commanded(block.text, folder))
        if block.language != "python":
            continue
        out = io.StringIO()
        code = compile("\n" * block.line + block.text, str(path), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(out), contextlib.chdir(folder):
            exec(code, names)
        after = found[number + 1] if number + 1 < len(found) else None
        if after and after.language == "text" and _adjoining(page, block, after):
            yield Printed(after, out.getvalue())


def _commanded(text: str, folder: str) -> str:
    """A console block with what its commands really print."""
    lines: list[str] = []
    ours = False
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            ours = line.startswith("$ fanfold ") and not _serves(line)
            lines += [line, _command(line, folder)] if ours else [line]
        elif not ours:
            lines.append(line)
    return "".join(lines)


def _serves(line: str) -> bool:
    """Whether a command goes on until it is stopped."""
    words = shlex.split(line, comments=True)[2:]
    return words[0] in ("serve", "inspect") and not {"--print", "--check", "--help"} & set(words)


def _command(line: str, folder: str) -> str:
    from fanfold.cli import main

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    words = shlex.split(line, comments=True)[2:]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), contextlib.chdir(folder):
        main(words)
    return _MOMENT.sub("2026-01-01 12:00", out.buffer.getvalue().decode())  # type: ignore[attr-defined]


def _adjoining(page: str, block: Block, after: Block) -> bool:
    return page[block.end : after.start].split() == ["```", "```text"]


def written(path: Path) -> str:
    """The page with everything that was really printed in it."""
    page = path.read_text(encoding="utf-8")
    for printed in reversed(list(run(path))):
        page = page[: printed.said.start] + printed.really + page[printed.said.end :]
    return page


def main() -> int:
    """Run every page."""
    differing = 0
    for path in pages():
        page = written(path)
        if page == path.read_text(encoding="utf-8"):
            continue
        differing += 1
        print(path.relative_to(ROOT))
        if "--write" in sys.argv:
            path.write_text(page, encoding="utf-8")
    return 0 if "--write" in sys.argv else min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
