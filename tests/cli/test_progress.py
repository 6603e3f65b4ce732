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


def seen_by(*arguments: str) -> tuple[str, bytes]:
    """What somebody at a terminal sees of a command on standard error, and what it prints."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []
    reader = threading.Thread(target=watched, args=(ours, seen), daemon=True)
    reader.start()
    command = [sys.executable, "-m", "fanfold", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=True)
    os.close(theirs)
    reader.join(10)
    return b"".join(seen).decode(), done.stdout


def test_people_see_how_far_it_is_and_programs_only_the_result(tmp_path: Path) -> None:
    seen, out = seen_by("fit", str(many(tmp_path)), "--window", "8k")
    assert "30 conversations …" in seen
    assert [json.loads(line)["messages"] for line in out.splitlines()] == [talk()] * 30


def test_people_see_how_much_of_a_replay_is_done(tmp_path: Path) -> None:
    (tmp_path / "[x].json").write_text(json.dumps(talk()))
    seen, _ = seen_by("replay", str(tmp_path), "--policy", "none", "--workers", "1")
    assert "100%" in seen
    assert "[x].json#1: none, 2 calls" in seen


def test_nothing_is_told_where_nobody_looks(run: Run, tmp_path: Path) -> None:
    many(tmp_path)
    assert "conversations …" not in run("fit", "many.jsonl", "--window", "8k").err
    assert run("stats", "many.jsonl").err == ""
