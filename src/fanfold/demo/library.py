"""The tools of the demo's agent. They really run, on the files of Python's own library on this machine."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(sysconfig.get_path("stdlib"))
_LEFT_OUT = ("site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__")
_MOST = 400
"""So many hits a search prints."""

TOOLS: tuple[dict[str, Any], ...] = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": kind} for argument, kind in arguments.items()},
                "required": list(arguments),
            },
        },
    }
    for name, description, arguments in (
        ("list", "The Python files of a folder, with their sizes.", {"path": "string"}),
        (
            "grep",
            "Every line of a folder or file that a pattern matches.",
            {"pattern": "string", "path": "string"},
        ),
        ("read", "Some lines of a file.", {"path": "string", "first": "integer", "count": "integer"}),
    )
)


def listed(path: str) -> str:
    """The Python files of a folder."""
    return "\n".join(f"{file.stat().st_size:>9,}  {_name(file)}" for file in _files(ROOT / path))


def grep(pattern: str, path: str) -> str:
    """Every line that a pattern matches, as `file:line: text`."""
    found = [f"{name}:{number}: {line.strip()}" for name, number, line in hits(pattern, path)]
    more = [f"… and {len(found) - _MOST:,} more"] if len(found) > _MOST else []
    return "\n".join(found[:_MOST] + more) or "no hit"


def read(path: str, first: int, count: int) -> str:
    """Some lines of a file, numbered."""
    lines = _text(ROOT / path).splitlines()
    return "\n".join(
        f"{number:>5}  {line}" for number, line in enumerate(lines[first - 1 : first - 1 + count], first)
    )


def run(name: str, arguments: dict[str, Any]) -> str:
    """What a tool returns."""
    tools: dict[str, Callable[..., str]] = {"list": listed, "grep": grep, "read": read}
    return tools[name](**arguments)


def hits(pattern: str, path: str) -> list[tuple[str, int, str]]:
    """File, line number and line of every match, always in the same order."""
    wanted = re.compile(pattern)
    return [
        (_name(file), number, line)
        for file in _files(ROOT / path)
        for number, line in enumerate(_text(file).splitlines(), 1)
        if wanted.search(line)
    ]


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for file in sorted(place.rglob("*.py")):
        if not set(_LEFT_OUT) & set(file.relative_to(ROOT).parts):
            yield file


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()
