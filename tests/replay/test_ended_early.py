"""A replay that is broken off: it ends at once, leaves no process behind, and no half-written page."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fanfold.testing import called, replied, returned, said

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
SOON = 5.0
"""Seconds. The work would take several times as long."""


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """Four long conversations, and the page of an earlier replay."""
    messages = [said("Look through the shop.")]
    for step in range(1_500):
        messages.append(replied("", called(f"c{step}", "find", json.dumps({"page": step}))))
        messages.append(returned(f"c{step}", f"order {step}: " + "nothing here " * 60))
    for number in range(4):
        (tmp_path / f"talk{number}.json").write_text(json.dumps([*messages, replied("Done.")]))
    (tmp_path / "page.html").write_text("old")
    return tmp_path


@pytest.fixture
def started(talks: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A replay of long conversations, with its two workers at work."""
    with replay(talks) as process:
        wait_until(lambda: len(members(process.pid)) == 3, 60)
        yield process


@contextmanager
def replay(talks: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a session of its own, of which nothing is left afterwards."""
    command = [sys.executable, "-m", "fanfold", "replay", str(talks), "--html", str(talks / "page.html")]
    process = subprocess.Popen(
        [*command, "--workers", "2", "--window", "16k"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heeding_interrupts,
    )
    try:
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


def wait_until(true: Callable[[], bool], seconds: float, between: float = 0.05) -> None:
    """Wait, but not for ever."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(between)


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


@pytest.mark.slow
@pytest.mark.parametrize("late", [0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032] * 3)
def test_an_interrupt_while_the_workers_start_ends_it_without_a_traceback(talks: Path, late: float) -> None:
    with replay(talks) as process:
        wait_until(lambda: len(members(process.pid)) > 1, 60, 0)
        time.sleep(late)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(SOON) == 130
        assert b"Traceback" not in process.communicate()[1]


def test_workers_whose_parent_was_killed_end_by_themselves(started: subprocess.Popen[bytes]) -> None:
    started.kill()
    started.wait(SOON)
    wait_until(lambda: members(started.pid) == [], SOON)
