"""A store with one session in it, and a way to call the command line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import fanfold
from fanfold.cli import main
from fanfold.testing import called, replied, returned, said


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("FANFOLD_STORE", "FANFOLD_TENANT", "FANFOLD_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    def ran(*arguments: str) -> Ran:
        capfd.readouterr()
        code = main(arguments)
        return Ran(code, *capfd.readouterr())

    return ran


OUTPUT = "\n".join(f"line {number}: {'ERROR' if number == 7 else 'ok'}" for number in range(1, 41))


def talk() -> list[dict[str, Any]]:
    """A request, a tool's output, a reply, and another request."""
    return [
        said("Find the error. Never touch vendor/."),
        replied("I look.", called("c1", "read", '{"path": "log.txt"}')),
        returned("c1", OUTPUT),
        replied("Line 7 has it."),
        said("Mend it."),
    ]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with the session `run`, which made two requests."""
    name = f"sqlite:{tmp_path / 'agent.db'}"
    times = iter(range(1_700_000_000, 1_800_000_000, 60))
    with fanfold.open(
        "run", model="gpt-4o", store=name, system="You are brief.", clock=lambda: float(next(times))
    ) as chat:
        for messages in (talk()[:3], talk()):
            chat.merge(messages)
            chat.request(max_tokens=500)
    return name


@pytest.fixture
def shortened(store: str) -> str:
    """The same store; the output of `run` is trimmed."""

    def trim(view: fanfold.View, budget: fanfold.Budget) -> list[fanfold.Elide]:
        row = next(row for row in view.rows if row.results)
        return [fanfold.Elide(f"{row.id}#0", "[tool output trimmed; ref={ref}; 40 lines]")]

    with fanfold.open("run", model="gpt-4o", store=store, strategy=trim) as chat:
        assert chat.compact(force=True).status == "reduced"
    return store
