"""`python -m fanfold.testing.provider` serves whoever has no key."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial


@contextmanager
def stopped(process: subprocess.Popen[str]) -> Iterator[None]:
    """Whatever a test found, nobody waits for the process for ever."""
    try:
        yield
    finally:
        process.kill()


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
