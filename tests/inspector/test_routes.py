"""docs/inspector.md lists what the API answers: all of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from fanfold.inspector.routes import READS, WRITES

PAGE = (Path(__file__).parent.parent.parent / "docs" / "inspector.md").read_text()
OF_A_SESSION = "sessions/{name}/"


def listed(method: str) -> list[str]:
    """The paths in the first cells of a table, without their questions, and the last word alone where that is told."""
    table = PAGE.partition(f"| {method} |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [path.partition("?")[0] for cell in cells for path in re.findall("`(.+?)`", cell)]


def test_everything_that_can_be_read_is_listed() -> None:
    beside = {"about", "sessions", "search", "events", OF_A_SESSION + "trials", OF_A_SESSION + "export"}
    of_one = {("sessions/{name}/" + word).rstrip("/") + "/{}" * more for word, more in READS}
    assert sorted(re.sub(r"/{(?!name)\w+}", "/{}", path) for path in listed("GET")) == sorted(beside | of_one)


def test_everything_that_can_be_changed_is_listed() -> None:
    told = [path.removeprefix(OF_A_SESSION) for path in listed("POST")]
    assert sorted(told) == sorted({*WRITES, "try", "cancel", "enter"})
