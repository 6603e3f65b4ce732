"""fit and stats: files in, shorter files and figures out."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, long, says
from conftest import Run, talk


def request(count: int = 100) -> dict[str, Any]:
    """A request of some ten thousand tokens."""
    messages = [body(long(f"{n}", 50)) for n in range(count) for body in (asks, says)]
    return {"model": "gpt-4o", "messages": [*messages, asks("last")], "max_tokens": 400}


def test_a_request_is_fitted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(request()))
    ran = run("fit", "request.json", "--window", "4k", "-o", "short.json")
    assert (ran.code, ran.out) == (0, "")
    assert " of 3,600 tokens (openai.chat); " in ran.err
    short = json.loads((tmp_path / "short.json").read_text())
    assert list(short) == ["model", "messages", "max_tokens"]
    assert 2 < len(short["messages"]) < len(request()["messages"])
    again = run("fit", "short.json", "--window", "4k")
    assert json.loads(again.out) == short


def test_standard_input_and_explanations(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(json.dumps(request()["messages"]).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    ran = run("fit", "-", "--window", "4k", "--explain", "--strategy", "drop_oldest")
    assert isinstance(json.loads(ran.out), list)
    assert "earlier messages were left out" in ran.err


def test_what_is_kept_free_is_a_size_or_a_share(run: Run, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(request()))
    assert " of 3,000 tokens" in run("fit", "request.json", "--window", "4k", "--reserve", "25%").err
    assert " of 3,200 tokens" in run("fit", "request.json", "--window", "4k", "--reserve", "800").err
    assert " of 3,999 tokens" in run("fit", "request.json", "--window", "4k", "--reserve", "1").err
    assert run("fit", "request.json", "--window", "4k", "--reserve", "120%").code == 2


def test_transcripts_are_fitted_line_by_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text("\n".join(json.dumps(body) for body in talk()))
    ran = run("fit", "talk.jsonl", "--window", "4k", "--json")
    assert json.loads(ran.out)["messages"] == talk()
    assert json.loads(ran.err)[0]["dialect"] == "openai.chat"


def test_where_the_tokens_are(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps([*talk(), *talk()[1:]]))
    ran = run("stats", "talk.json", "--meter", "characters/4", "--plot", "plot.svg")
    assert ran.out.startswith("1 conversation, 9 messages, 323 tokens\n")
    assert "<svg" in (tmp_path / "plot.svg").read_text()
    figures = json.loads(run("stats", "talk.json", "--json").out)
    assert figures["repeats"] == 1
    assert figures["tokens"] == sum(figures["kinds"].values())


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("empty.json", b"", "empty.json: the file is empty."),
        ("half.json", b'{"model": "gpt-4o", "messages": [{"role": "us', "half.json: "),
        ("binary.dat", bytes(range(256)) * 40, "binary.dat"),
        ("cut.json.gz", gzip.compress(b'{"messages": []}' * 999, mtime=0)[:60], "cut.json.gz"),
        (
            "lines.jsonl",
            b'{"role":"user","content":"a"}\n{"role":"assistant","content":"b"}\n{oops}\n{"a":1}\n',
            "3",
        ),
    ],
)
def test_files_that_are_none_are_named(run: Run, tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    ran = run("fit", name, "--window", "8k", "-o", "out.json")
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == [name]


def test_no_such_file_and_no_such_folder(run: Run, tmp_path: Path) -> None:
    assert "none.json: cannot be read" in run("fit", "none.json", "--window", "8k").err
    (tmp_path / "request.json").write_text(json.dumps(request(2)))
    ran = run("fit", "request.json", "--window", "8k", "-o", "none/out.json")
    assert ran.code == 3
    assert "no such file or directory" in ran.err


def test_a_window_smaller_than_the_system_prompt(run: Run, tmp_path: Path) -> None:
    whole = {**request(1), "messages": [{"role": "system", "content": "rule " * 900}, asks("Hi")]}
    (tmp_path / "request.json").write_text(json.dumps(whole))
    ran = run("fit", "request.json", "--window", "600")
    assert ran.code == 4
    assert "system prompt and tools" in ran.err


@pytest.mark.parametrize("window", ["x", "0", "-5", "12q", "k"])
def test_a_size_that_is_none_is_wrong_usage(run: Run, window: str) -> None:
    ran = run("fit", "request.json", f"--window={window}")
    assert ran.code == 2
    assert "is no size; write 128000, 128k, 1M or 64KiB" in ran.err


def test_strategies_are_tried_in_order(run: Run, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(request()))
    ran = run(
        "fit", "request.json", "--window", "4k", "--strategy", "elide", "--strategy", "drop_oldest", "--json"
    )
    assert json.loads(ran.err)[0]["dropped"] > 50
    ran = run("fit", "request.json", "--window", "4k", "--strategy", "magic")
    assert (ran.code, ran.out) == (2, "")
    assert "'magic' is not one of 'auto', 'digest'" in ran.err


def test_programs_are_told_row_by_row_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(request()))
    ran = run("fit", "request.json", "--window", "4k", "--explain", "--json")
    (report,) = json.loads(ran.err)
    assert sum(row["tokens"] for row in report["rows"]) <= report["after"] < report["before"]
    assert any(row["kind"] == "fold" and row["covers"] for row in report["rows"])


def started(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """The command in a process of its own, which can be interrupted though the tests run in the background."""
    command = [sys.executable, "-m", "fanfold", *arguments]
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, stderr=subprocess.PIPE, preexec_fn=listens, **options)


def test_a_closed_pipe_ends_it_quietly(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(request(3_000)))
    process = started(
        "fit",
        "request.json",
        "--window",
        "1M",
        "--meter",
        "characters/4",
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    process.stdout.close()
    _, error = process.communicate(timeout=60)
    assert process.returncode == 141
    assert b"Traceback" not in error


def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path) -> None:
    with open(tmp_path / "many.jsonl", "w") as file:
        for number in range(2_000):
            file.write(json.dumps({"id": str(number), "messages": request(20)["messages"]}) + "\n")
    process = started("fit", "many.jsonl", "--window", "8k", "-o", "out.jsonl", cwd=tmp_path)
    deadline = time.monotonic() + 30
    while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert b"Traceback" not in error
    assert os.listdir(tmp_path) == ["many.jsonl"]


def test_stats_of_a_session_are_its_figures(run: Run, store: str) -> None:
    with fanfold.open("run", model="gpt-4o", store=store) as chat:
        figures = chat.stats()
    assert json.loads(run("stats", "run", "--json").out) == figures
    lines = run("stats", "run").out.splitlines()
    assert [line.split() for line in lines[:2]] == [["run"], ["messages", "5"]]
    assert ["tokens", "in", "view", "320"] in [line.split() for line in lines]
    assert lines[-1] == "What each thing in it has cost: fanfold stats --cost run"
    assert run("stats", "walk").err == (
        "fanfold: There is no file walk, and no session of this name in the store.\n"
    )
    assert run("stats", "none.json").err == "fanfold: There is no file none.json.\n"


def test_a_store_is_no_file_with_conversations(run: Run, store: str) -> None:
    assert "name it with --store" in run("stats", store.removeprefix("sqlite:")).err
