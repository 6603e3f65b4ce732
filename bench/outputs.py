"""Outputs of a gibibyte: memory, lines anywhere, searching beside GNU grep, taking in beside copy + hash + fsync."""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import fanfold
from fanfold.core.message import Message
from fanfold.outputs.output import Output

CHUNK = 64 * 1024
PATTERNS = (
    ("literal", "needle in here", "", 0.3),
    ("alternation, no case", "zebra|quagga|needle", "-i", 0.3),
    ("digit class, many hits", "[0-9]{5}", "", 0.2),
    ("digit class, nine of ten lines", "[0-9][1-9] ok", "", 0.2),
    ("digit class, every tenth line", "[0-9]7 ok", "", 0),
)


def chunks(size: int) -> Iterator[bytes]:
    """A log of about `size` bytes that does not repeat itself soon; the last line is a needle."""
    words = ("connect", "retry", "timeout", "GET", "POST", "worker", "flush", "cache miss", "segment")
    block = "".join(
        f"2026-03-01T12:{i % 60:02d}:{i * 7 % 60:02d} {words[i % 9]} {words[i * 5 % 7]} id={i * 7919 % 999_983} ok\n"
        for i in range(40_000)
    ).encode()
    left = size
    while left > 0:
        for at in range(0, min(left, len(block)), CHUNK):
            yield block[at : min(at + CHUNK, left)]
        left -= len(block)
    yield b"\na needle in here\n"


def taken_in(folder: Path, size: int) -> fanfold.Session:
    """A session that took in an output from an iterator."""
    chat = fanfold.open("bench", window=100_000, store=f"sqlite:{folder}/bench.db")
    chat.say("go")
    call = fanfold.Call("c1", "bash", "{}")
    chat.add(Message("assistant", (call,)))
    chat.answer(call, chunks(size))
    return chat


def copied(folder: Path, size: int) -> None:
    """One pass that copies, hashes and syncs the same bytes."""
    total = hashlib.sha256()
    with (folder / "copy").open("wb") as file:
        for chunk in chunks(size):
            file.write(chunk)
            total.update(chunk)
        file.flush()
        os.fsync(file.fileno())


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def resident() -> float:
    """The most memory this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(folder: Path, size: int) -> None:
    """Take in, read at the middle, search all: in a process of its own, whose memory is watched."""
    fanfold.open("warm", window=100_000, store=f"sqlite:{folder}/warm.db").close()
    deque(Output("w", 1, 1, "", _Bytes(b"warm\n" * 99)).grep("warm"), 0)
    before = resident()
    chat = taken_in(folder, size)
    output = chat.output("o1")
    assert len(output.lines(output.line_count // 2, 100)) == 100
    assert [hit.line for hit in output.grep("needle in here")] == [output.line_count]
    print(f"{resident() - before:.1f}")


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)

    def read(self, start: int, stop: int) -> Iterator[bytes]:
        return iter((self.data[start:stop],))


def memory(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", folder, "--size", str(size)]
        more = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"memory: {more:.0f} MiB more for taking in {size >> 20:,} MiB, 100 lines, one search (at most 64)")


def anywhere(output: Output) -> None:
    """Any hundred lines beside the first hundred, by turns."""
    places = [1] + [output.line_count * tenth // 10 + 1 for tenth in range(1, 10)] + [output.line_count - 99]
    taken: dict[int, list[float]] = {place: [] for place in places}
    for _ in range(100):
        for place, times in taken.items():
            times.append(seconds(partial(output.lines, place, 100)))
    first, *others = (statistics.median(times) for times in taken.values())
    print(
        f"100 lines anywhere: {max(others) / first:.2f} × the first 100 at the worst of 10 places (at most 2)"
    )


def searching(output: Output, path: Path) -> None:
    for name, pattern, flags, least in PATTERNS:
        ratios = []
        for _ in range(3):
            ours = seconds(lambda: deque(output.grep(pattern, ignore_case=flags == "-i", timeout=None), 0))  # noqa: B023
            shell = f"grep -nE {flags} '{pattern}' '{path}' | cat > /dev/null"
            theirs = seconds(lambda: subprocess.run(shell, shell=True, check=True))  # noqa: B023
            ratios.append(theirs / ours)
        bar = f"at least {least}" if least else "no bar"
        print(f"grep, {name}: {statistics.median(ratios):.2f} × GNU grep ({bar})")


def intake(size: int, runs: int) -> None:
    ratios = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            theirs = seconds(lambda: copied(Path(folder), size))
            (Path(folder) / "copy").unlink()
            ours = seconds(lambda: taken_in(Path(folder), size).close())
            ratios.append(ours / theirs)
    print(f"taking in: {statistics.median(ratios):.2f} × copy + sha256 + fsync, median of {runs} (at most 2)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of the output")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        child(given.child, given.size)
        return
    memory(given.size)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with taken_in(folder, given.size) as chat:
            anywhere(chat.output("o1"))
            with (folder / "plain").open("wb") as plain:
                for chunk in chat.output("o1").chunks():
                    plain.write(chunk)
            searching(chat.output("o1"), folder / "plain")
        shutil.rmtree(folder / "plain", ignore_errors=True)
    intake(given.size, given.runs)


if __name__ == "__main__":
    main()
