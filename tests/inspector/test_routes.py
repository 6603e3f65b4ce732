"""docs/inspector.md lists what the API answers: all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from fanfold.inspector.routes import READS, WRITES

PAGE = (Path(__file__).parent.parent.parent / "docs" / "inspector.md").read_text()


def listed(method: str) -> list[str]:
    """The paths in the first cells of a table, without their questions."""
    table = PAGE.partition(f"| {method} |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [path.partition("?")[0] for cell in cells for path in re.findall("`(.+?)`", cell)]


def test_everything_that_can_be_read_is_listed() -> None:
    assert sorted(listed("GET")) == sorted({*READS, "events"})


def test_everything_that_can_be_changed_is_listed() -> None:
    assert sorted(listed("POST")) == sorted({*WRITES, "enter"})
