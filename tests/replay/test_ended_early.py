"""A replay that is broken off: it ends at once, leaves no process behind, and no half-written page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanfold.testing import called, replied, returned, said

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
SOON = 5.0
"""Seconds. The work would take several times as long."""


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A replay of long conversations, with its two workers at work."""
    messages = [said("Look through the shop.")]
    for step in range(1_500):
        messages.append(replied("", called(f"c{step}", "find", json.dumps({"page": step}))))
        messages.append(returned(f"c{step}", f"order {step}: " + "nothing here " * 60))
    for number in range(4):
        (tmp_path / f"talk{number}.json").write_text(json.dumps([*messages, replied("Done.")]))
    (tmp_path / "page.html").write_text("old")
    command = [
        sys.executable,
        "-m",
        "fanfold",
        "replay",
        str(tmp_path),
        "--html",
        str(tmp_path / "page.html"),
    ]
    command += ["--workers", "2", "--window", "16k"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heeding_interrupts,
    )
    try:
        wait_until(lambda: len(members(process.pid)) == 3, 60)
        yield process
    finally:
        for one in members(process.pid):
            os.kill(one, signal.SIGKILL)
        process.communicate()


def heeding_interrupts() -> None:
    """As at a terminal, though the tests were started by something that shields them (`nohup … &`)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def members(session: int) -> list[int]:
    """The processes of a session that are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:  # it has just ended
            continue
        if fields and int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    """Wait, but not for ever."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "everyone", "code"),
    [
        (signal.SIGINT, True, 130),
        pytest.param(signal.SIGINT, False, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, False, 143, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_ends_it_at_once(
    started: subprocess.Popen[bytes], tmp_path: Path, number: signal.Signals, everyone: bool, code: int
) -> None:
    (os.killpg if everyone else os.kill)(started.pid, number)
    assert started.wait(SOON) == code
    wait_until(lambda: members(started.pid) == [], SOON)
    out, err = started.communicate()
    assert (out, b"Traceback" in err) == (b"", False)
    assert (tmp_path / "page.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_workers_whose_parent_was_killed_end_by_themselves(started: subprocess.Popen[bytes]) -> None:
    started.kill()
    started.wait(SOON)
    wait_until(lambda: members(started.pid) == [], SOON)
