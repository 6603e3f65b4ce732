"""How far a long command is: told on a terminal, and nowhere else."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

from conftest import Run, talk


def many(folder: Path) -> Path:
    """A file of thirty conversations."""
    file = folder / "many.jsonl"
    lines = [json.dumps({"id": str(number), "messages": talk()}) for number in range(30)]
    file.write_text("\n".join(lines))
    return file


def watched(terminal: int, seen: list[bytes]) -> None:
    """Read what comes to a terminal until it is closed."""
    with suppress(OSError):
        while piece := os.read(terminal, 1 << 16):
            seen.append(piece)


def test_people_see_how_far_it_is_and_programs_only_the_result(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    seen: list[bytes] = []
    reader = threading.Thread(target=watched, args=(ours, seen), daemon=True)
    reader.start()
    command = [sys.executable, "-m", "fanfold", "fit", str(many(tmp_path)), "--window", "8k"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=True)
    os.close(theirs)
    reader.join(10)
    assert "30 conversations …" in b"".join(seen).decode()
    assert [json.loads(line)["messages"] for line in done.stdout.splitlines()] == [talk()] * 30


def test_nothing_is_told_where_nobody_looks(run: Run, tmp_path: Path) -> None:
    many(tmp_path)
    assert "conversations …" not in run("fit", "many.jsonl", "--window", "8k").err
    assert run("stats", "many.jsonl").err == ""
