"""`python -m fanfold.testing.provider` serves whoever has no key."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[None]:
    """Whatever a test found, nobody waits for the process for ever."""
    try:
        yield
    finally:
        process.kill()


SCRIPT = [
    {"text": "I look.", "calls": [{"name": "read", "args": {"path": "a.py"}}]},
    {"fail": "overloaded"},
    "Done.",
]


def test_it_plays_a_script_and_then_sentences(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    command = [sys.executable, "-m", "fanfold.testing.provider", "--script", str(tmp_path / "script.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, stopped(process):
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello."}]}
        asked = urllib.request.Request(
            f"{url}/chat/completions", json.dumps(body).encode(), {"authorization": "Bearer any"}
        )

        def reply() -> dict[str, Any]:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
                return message

        first = reply()
        assert first["content"] == "I look."
        assert first["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path":"a.py"}'}
        with pytest.raises(urllib.error.HTTPError, match="503"):
            reply()
        assert reply()["content"] == "Done."
        assert reply()["content"].startswith("This is request 3")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("{", "script.json: Expecting property name"),
        ('{"text": "Hello."}', "a script is a list of replies"),
        ('["One.", {"txt": "Hello."}]', "step 2 is a text, or an object with some of text, calls, thinking"),
        ('[{"calls": [{"arguments": {}}]}]', "step 1 has calls that are no list of"),
        ('[{"text": 7}]', "step 1: text is a text, not 7"),
        ('[{"stop": "never"}]', "step 1: stop is one of end, calls, length, refusal, pause, not 'never'"),
        ('[{"fail": "fire"}]', "step 1 fails as 'fire', alone; it can be one of rate_limit"),
        (None, "script.json: no such file"),
    ],
)
def test_what_is_wrong_with_a_script_is_said(script: str | None, says: str, tmp_path: Path) -> None:
    if script is not None:
        (tmp_path / "script.json").write_text(script)
    command = [sys.executable, "-m", "fanfold.testing.provider", "--script", "script.json"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    assert says in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr


def test_it_says_where_it_listens_and_answers_until_it_is_stopped() -> None:
    command = [sys.executable, "-m", "fanfold.testing.provider", "--window", "9000"]
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # CI may run where Ctrl-C is switched off
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=listens) as process,
        stopped(process),
    ):
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert "Ctrl-C" in process.stdout.readline() + process.stdout.readline()
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello."}]}
        asked = urllib.request.Request(
            f"{url}/chat/completions", json.dumps(body).encode(), {"authorization": "Bearer any"}
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            told = json.load(answer)["choices"][0]["message"]["content"]
        assert told.startswith("This is request 1, with 1 message ")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
