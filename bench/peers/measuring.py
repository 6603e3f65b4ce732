"""Runs policies over traces, and remembers what was measured so that only what changed runs again."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.peers.driver import Answer, Line, PeerPlayer
from bench.peers.environments import HERE, ROOT, command
from fanfold.core.ids import canonical, digest
from fanfold.replay import Played, Trace, play

OWN = "fanfold"
OURS = ROOT / "src" / "fanfold"
CACHE = ROOT / ".cache-peers"
_SHELL = ("shell", "chat", "counting")
"""What every peer's process uses of ours."""


class Named(NamedTuple):
    """A policy of somebody's: `langchain trim_messages`, `fanfold default`."""

    owner: str
    policy: str

    def __str__(self) -> str:
        return f"{self.owner} {self.policy}"


class Measured(msgspec.Struct, frozen=True):
    """What a policy did on a conversation, and why it gave up where it did."""

    played: Played
    failed: tuple[str, ...] = ()


class Job(NamedTuple):
    """One policy over some conversations."""

    named: Named
    window: int
    traces: tuple[Trace, ...]


def measured(jobs: Iterable[Job], workers: int) -> Iterator[Measured]:
    """What each policy did on each conversation, in the order of the jobs."""
    if workers == 1:
        for job in jobs:
            yield from _run(job)
        return
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(_run, jobs):
            yield from found


def _run(job: Job) -> list[Measured]:
    line = _Opened(job.named.owner)
    try:
        return [_measure(job.named, job.window, trace, line) for trace in job.traces]
    finally:
        line.close()


class _Opened:
    """A peer's process that is started only when there is something to ask."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self._line: Line | None = None

    def __call__(self) -> Line:
        if self._line is None:
            self._line = Line(command(self._peer), ROOT, {**os.environ, "PYTHONPATH": str(ROOT / "src")})
        return self._line

    def close(self) -> None:
        """End it, if it ever began."""
        if self._line is not None:
            self._line.close()


def _measure(named: Named, window: int, trace: Trace, line: Callable[[], Line]) -> Measured:
    """One conversation, remembered until it, the policy or anything that scores changes.

    A peer's answers are dear, and remembered for longer: it is told the messages and the window, and nothing else.
    """
    folder = CACHE / named.owner / named.policy / str(window)
    if named.owner == OWN:
        path = folder / f"{_whole(trace)}-{_version(OURS)}.json.gz"
        return _remembered(path, Measured, lambda: Measured(_named(play(trace, named.policy, window), named)))
    told = folder / f"{digest(canonical(trace.bodies))}-{_asking(named.owner)}.answers.gz"
    scored = folder / f"{_whole(trace)}-{_asking(named.owner)}-{_scoring()}.json.gz"

    def answers() -> list[Answer]:
        return list(line().answers(named.policy, trace, window))

    return _remembered(
        scored, Measured, lambda: score(named, window, trace, _remembered(told, list[Answer], answers))
    )


def score(named: Named, window: int, trace: Trace, answers: Sequence[Answer]) -> Measured:
    """A peer's answers by the rules of a replay."""
    played = play(trace, str(named), window, lambda trace, window: PeerPlayer(trace, window, answers))
    return Measured(played, tuple(answer.failed for answer in answers if answer.failed))


def _named(played: Played, named: Named) -> Played:
    return msgspec.structs.replace(played, policy=str(named))


def _remembered(path: Path, kind: Any, make: Callable[[], Any]) -> Any:
    """What a file says, made and written first if it is not there."""
    if path.exists():
        return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=kind)
    value = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(".half")
    half.write_bytes(gzip.compress(msgspec.json.encode(value), 5))
    half.rename(path)
    return value


def _asking(peer: str) -> str:
    """The version of all that a peer's answers depend on; its file also says which packages."""
    return digest(*(_version(HERE / f"{name}.py").encode() for name in (peer, *_SHELL)))


def _scoring() -> str:
    """The version of all by which answers are scored: what a token is, a rule, a reference, the grammar."""
    return digest(*(_version(place).encode() for place in (OURS, HERE / "driver.py")))


def _whole(trace: Trace) -> str:
    """The hash of a conversation with all that its score depends on, its name and the times of its calls included."""
    times = [call.time for call in trace.calls]
    return digest(canonical([trace.name, trace.dialect, trace.model, trace.frame, trace.bodies, times]))


@cache
def _version(place: Path) -> str:
    """The hash of a file, or of all that is in a folder: prompts and tables too."""
    found = [place] if place.is_file() else sorted(place.rglob("*"))
    files = [path for path in found if path.is_file() and "__pycache__" not in path.parts]
    return digest(*(path.read_bytes() for path in files))
