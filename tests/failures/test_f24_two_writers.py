"""F24: two writers on one session. Every message is there exactly once, each writer's in its order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fanfold

WRITER = """
import sys, fanfold
path, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with fanfold.open("run", window=10**9, meter="characters/4", store=fanfold.SQLite(path), on_moved="reapply") as chat:
    for n in range(count):
        chat.say(f"{writer}:{n}")
"""


@pytest.mark.parametrize(
    ("writers", "count"),
    [(4, 250), pytest.param(16, 1_000, marks=pytest.mark.slow)],
    ids=["4x250", "16x1000"],
)
def test_every_message_of_many_writers_is_there_once_and_in_order(
    tmp_path: Path, writers: int, count: int
) -> None:
    path = tmp_path / "a.db"
    arguments = [sys.executable, "-c", WRITER, str(path)]
    started = [subprocess.Popen([*arguments, str(n), str(count)]) for n in range(writers)]
    assert [writer.wait() for writer in started] == [0] * writers
    with fanfold.open("run", window=10**9, meter="characters/4", store=fanfold.SQLite(path)) as chat:
        said = [message.text for message in chat.view().messages]
    for n in range(writers):
        mine = [text for text in said if text.startswith(f"{n}:")]
        assert mine == [f"{n}:{i}" for i in range(count)]
    assert len(said) == writers * count
    assert fanfold.doctor(path).healthy
