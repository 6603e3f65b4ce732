"""What commands read: every file people have, however it comes; what is none is named in one sentence."""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import os
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from conftest import Run, talk
from fanfold.testing import said

LONG = [said("word " * 60_000), *talk()[1:]]
"""Its first line alone is longer than any buffer."""


def lines(values: list[object]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_lines_are_lines_however_long_the_first_one_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_bytes(lines([{"messages": LONG}, {"messages": talk()}]))
    ran = run("fit", "long.jsonl", "--window", "8k")
    assert (ran.code, ran.out.count("\n")) == (0, 2)


def wait_until_read(pipe: int) -> None:
    unread, deadline = bytearray(b"\1\0\0\0"), time.monotonic() + 30
    while any(unread) and time.monotonic() < deadline:
        time.sleep(0.01)
        fcntl.ioctl(pipe, termios.FIONREAD, unread)


@pytest.mark.parametrize("data", [lines(talk()), gzip.compress(lines(talk()))], ids=["plain", "gzip"])
@pytest.mark.parametrize("first", [1, 30])
def test_what_comes_slowly_through_a_pipe_is_read_the_same(tmp_path: Path, data: bytes, first: int) -> None:
    command = [sys.executable, "-m", "fanfold", "stats", "-", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdin.write(data[:first])
    process.stdin.flush()
    wait_until_read(process.stdin.fileno())
    process.stdin.write(data[first:])
    process.stdin.close()
    assert json.loads(process.stdout.read())["messages"] == 5
    assert process.wait(60) == 0


def test_a_surrogate_in_the_first_line_does_not_make_a_document_of_lines(run: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_bytes(lines([said("half a \ud800 pair"), *talk()[1:]]))
    assert json.loads(run("stats", "odd.jsonl", "--json").out)["messages"] == 5


def test_a_byte_order_mark_changes_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "marked.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(talk()).encode())
    assert json.loads(run("fit", "marked.json", "--window", "8k").out) == talk()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[" * 100_000, "The body is nested too deeply to be read."),
        (b'[{"role":"user","content":"caf\xe9"}]', "The body is no UTF-8 text: "),
        (b'[{"role":"user","role":"user","content":"x"}]', "The key 'role' stands twice in one object "),
        (b'{"messages":[{"role":"user","content":"x"},17]}', "messages[1] is int, a message in no dialect."),
        (b"{}", "No dialect has a request with only nothing in it."),
    ],
    ids=["deep", "latin-1", "twice", "no message", "nothing"],
)
def test_what_is_no_conversation_is_named(run: Run, tmp_path: Path, data: bytes, sentence: str) -> None:
    (tmp_path / "file.json").write_bytes(data)
    ran = run("fit", "file.json", "--window", "8k", "-o", "out.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"fanfold: file.json: {sentence}")
    assert os.listdir(tmp_path) == ["file.json"]


@pytest.mark.parametrize("command", ["fit", "stats", "import"])
def test_a_folder_without_a_conversation_is_no_success(run: Run, tmp_path: Path, command: str) -> None:
    (tmp_path / "folder").mkdir()
    ran = run(command, "folder")
    assert (ran.code, ran.out) == (2, "")
    assert "here is no conversation in it." in ran.err


@pytest.mark.parametrize("data", [None, b"", b"\0\1\2", b"{oops"], ids=["none", "empty", "binary", "no JSON"])
def test_no_store_is_made_for_what_cannot_be_imported(run: Run, tmp_path: Path, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / "file").write_bytes(data)
    assert run("import", "file").code == 2
    assert not (tmp_path / "agent.db").exists()


def test_nothing_is_imported_into_memory(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(talk()))
    ran = run("import", "talk.json", "--store", "memory")
    assert ran.code == 2
    assert "name a file" in ran.err


def test_a_packed_export_is_imported(run: Run, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(run("export", "run").out.encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
    assert run("import", "-", "--name", "again").out == "again: 5 messages (fanfold)\n"
