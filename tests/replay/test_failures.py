"""A replay of which something fails: the rest is replayed, and what failed is named."""

from __future__ import annotations

import gzip
import json
import os
import signal
from pathlib import Path

import pytest

from fanfold.core.errors import BadInput, FanfoldError
from fanfold.replay import Failure, Trace, replay, running, traces
from fanfold.replay.running import Job
from fanfold.replay.spreading import spread
from fanfold.testing import replied, said


def talk(words: str = "Hello.") -> list[dict[str, object]]:
    """One question and its answer."""
    return [said(words), replied("Hello.")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two good files, and one between them that is cut off."""
    for name in ("a.json", "c.json"):
        (tmp_path / name).write_text(json.dumps(talk()))
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(talk("x" * 9_000)).encode())[:-9])
    return tmp_path


def test_a_file_that_is_cut_off_does_not_take_the_rest_along(folder: Path) -> None:
    failures: list[Failure] = []
    played = replay(folder, ["none", "drop_oldest"], workers=1, failed=failures.append)
    assert [(one.conversation, one.policy) for one in played] == [
        ("a.json#1", "none"), ("a.json#1", "drop_oldest"), ("c.json#1", "none"), ("c.json#1", "drop_oldest")
    ]  # fmt: skip
    assert failures == [Failure(str(folder / "b.json.gz"), "the gzip data ends early; the file is cut off.")]
    with pytest.raises(BadInput, match="cut off"):
        replay(folder, ["none"], workers=1)


def test_what_is_no_transcript_is_passed_over_in_a_folder_and_named_elsewhere(folder: Path) -> None:
    notes = folder / "notes.txt"
    notes.write_text("hello")
    failures: list[Failure] = []
    assert len(list(traces(folder, failures.append))) == 2
    assert [Path(failure.source).name for failure in failures] == ["b.json.gz"]
    assert list(traces([notes], failures.append)) == []
    assert Path(failures[-1].source) == notes


@pytest.mark.parametrize("workers", [1, 2])
def test_a_conversation_that_fails_under_one_policy_is_left_out_under_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    played_by_ours = running.play

    def play(trace: Trace, name: str, window: int, **rest: float | None) -> object:
        if (trace.messages[0].text, name) == ("Two.", "drop_oldest"):
            raise KeyError("gone\nfor good")
        return played_by_ours(trace, name, window, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "play", play)
    file = tmp_path / "talks.jsonl"
    file.write_text("\n".join(json.dumps({"messages": talk(words)}) for words in ("One.", "Two.", "Three.")))
    failures: list[Failure] = []
    played = replay(file, ["none", "drop_oldest", "digest"], workers=workers, failed=failures.append)
    assert [one.conversation for one in played] == ["talks.jsonl#1"] * 3 + ["talks.jsonl#3"] * 3
    (failure,) = failures
    assert str(failure) == f"{file}: talks.jsonl#2: policy drop_oldest: KeyError: 'gone\\nfor good'"
    with pytest.raises(KeyError):
        replay(file, ["none", "drop_oldest", "digest"], workers=workers)


def deadly(number: int) -> int:
    """Double a number; three is too much."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_only_what_killed_its_worker_is_missing() -> None:
    found = list(spread(deadly, range(40), workers=2))
    assert found == [(number, None if number == 3 else 2 * number) for number in range(40)]


def test_a_worker_that_was_killed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.Job, "attempt", _killed_under_window)
    failures: list[Failure] = []
    assert replay(folder / "a.json", ["none", "drop_oldest"], workers=2, failed=failures.append) == []
    assert "a.json#1: policy drop_oldest: the process that played it was killed" in str(failures[0])
    monkeypatch.setattr(running.Job, "run", _killed)
    with pytest.raises(FanfoldError, match="was killed"):
        replay(folder / "a.json", ["none"], workers=2)


def _killed_under_window(job: Job) -> object:
    if job.policy == "drop_oldest":
        os.kill(os.getpid(), signal.SIGKILL)
    return job.run()


def _killed(job: Job) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_failure_is_one_line_that_no_terminal_obeys() -> None:
    assert str(Failure("a\nb\x1b[31m.json", "it is\ncut off")) == "a b\ufffd[31m.json: it is cut off"
