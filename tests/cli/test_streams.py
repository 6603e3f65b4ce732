"""Terminals that cannot print everything, streams that are closed, and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from conftest import Run, talk

FANFOLD = [sys.executable, "-m", "fanfold"]


def test_a_terminal_without_our_signs_is_shown_plainer_ones(store: str, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    for arguments in (["show", "run", "-s", store], ["stats", "talk.json"]):
        ran = subprocess.run([*FANFOLD, *arguments], cwd=tmp_path, env=environment, capture_output=True)
        assert (ran.returncode, ran.stderr) == (0, b"")
    assert b"  ####" in ran.stdout


@pytest.mark.slow
def test_the_demo_is_drawn_in_ascii_where_nothing_else_can_be_printed() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    arguments = ["demo", "--fast", "--steps", "20"]
    ran = subprocess.run([*FANFOLD, *arguments], env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "####" in ran.stdout
    assert "+ nothing is lost" in ran.stdout


@pytest.mark.slow
def test_the_demo_ends_quietly_when_nobody_reads_it() -> None:
    process = subprocess.Popen(
        [*FANFOLD, "demo", "--fast", "--steps", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.close()
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 141


@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        (">&-", "cat run o1", 0),
        (">&-", "show run", 0),
        ("<&-", "fit - --window 8k", 2),
        ("<&-", "import -", 2),
        ("<&-", "erase run o1 --reason x", 2),
        ("2>&-", "fit none.json", 2),
    ],
)
def test_a_closed_stream_is_an_empty_one(
    store: str, tmp_path: Path, closed: str, arguments: str, code: int
) -> None:
    command = f"exec {sys.executable} -m fanfold {arguments} {closed}"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert "Traceback" not in ran.stderr


def test_a_polite_kill_leaves_nothing_behind(tmp_path: Path) -> None:
    with open(tmp_path / "many.jsonl", "w") as file:
        for number in range(2_000):
            file.write(json.dumps({"id": str(number), "messages": talk()}) + "\n")
    process = subprocess.Popen(
        [*FANFOLD, "fit", "many.jsonl", "--window", "8k", "-o", "out.jsonl"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in error
    assert os.listdir(tmp_path) == ["many.jsonl"]


def test_a_name_that_is_no_text_is_still_told(run: Run) -> None:
    ran = run("fit", "no\udcff.json", "--window", "8k")
    assert (ran.code, ran.err) == (2, "fanfold: no?.json: cannot be read: No such file or directory.\n")


def test_a_home_nobody_has_is_named(run: Run) -> None:
    ran = run("ls", "-s", "sqlite:~nobody-of-this-name/agent.db")
    assert ran.code == 2
    assert ran.err.count("\n") == 1


def test_a_package_that_is_not_there_is_named(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", absent)
    ran = run("mcp", "run")
    assert (ran.code, ran.err) == (
        3,
        "fanfold: fanfold[mcp] needs mcp 2 or later, which is not installed: pip install 'fanfold[mcp]'\n",
    )


def test_where_a_picture_cannot_be_written_nothing_is_played(run: Run) -> None:
    ran = run("demo", "--fast", "--record", "none/demo.svg")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "fanfold: none/demo.svg: no such file or directory.\n"
