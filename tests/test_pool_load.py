"""Thousands of sessions in one process: memory comes back, and processes that share a store lose nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

MEMORY = """
import gc, json, sys
from fanfold import Pool, SQLite

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

pool = Pool(SQLite(sys.argv[1]), memory=8 << 20, window=50_000, dialect="openai.chat")
seen = {}
for number in range(1, 5_001):
    with pool.session(f"run {number}") as chat:
        chat.merge([{"role": ("user", "assistant")[n % 2], "content": f"{number} {n} " * 50} for n in range(4)])
        chat.request()
    if number in (500, 5_000):
        seen[number] = resident()
print(json.dumps([seen[500], seen[5_000], pool.counters.open, pool.counters.bytes]))
"""

WRITER = """
import random, sys
from fanfold import Pool, SQLite

path, writer, sessions, each = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random.seed(writer)
pool = Pool(SQLite(path), memory=1 << 20, window=50_000, dialect="openai.chat")
for number in range(each):
    name = f"run {random.randrange(sessions)}"
    with pool.session(name) as chat:
        chat.say(f"<{writer}:{number}>")
        chat.request()
    print(name, f"<{writer}:{number}>", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the memory of a process is read from /proc"
)
def test_memory_comes_back_after_thousands_of_sessions(tmp_path: Path) -> None:
    """(23) 5,000 sessions opened, used and left take at most 1.3 times the memory of 500."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path / "a.db")], capture_output=True, check=True, text=True
    )
    few, many, live, held = json.loads(done.stdout)
    assert many <= 1.3 * few
    assert live < 5_000
    assert held <= 8 << 20


@pytest.mark.slow
def test_processes_that_share_sessions_lose_and_double_nothing(tmp_path: Path) -> None:
    """(23) Every message goes to a random session of a random process, and one process is killed on the way."""
    from fanfold import SQLite, open

    path = tmp_path / "a.db"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(n), "20", "100"], stdout=subprocess.PIPE, text=True
        )
        for n in range(3)
    ]
    assert writers[0].stdout is not None
    told = [writers[0].stdout.readline() for _ in range(30)]
    writers[0].kill()
    told += writers[0].communicate()[0].splitlines()
    for writer in writers[1:]:
        told += writer.communicate()[0].splitlines()
        assert writer.returncode == 0
    expected = [
        line.rpartition(" ")[::2] for line in map(str.strip, told) if line.endswith(">") or ">" in line
    ]
    store = SQLite(path)
    whole = {}
    for name in store.sessions("default"):
        with open(name, window=50_000, dialect="openai.chat", store=store) as chat:
            whole[name] = "".join(
                chat._state.log.message(id).text for id in chat._state.log.tree.path(chat.head)
            )
    for name, said in expected:
        assert whole[name].count(said) == 1, f"{said} in {name}"
    for name, text in whole.items():
        for writer in range(3):
            mine = [int(number) for number in re.findall(rf"<{writer}:(\d+)>", text)]
            assert mine == sorted(mine), f"{name} has them out of order"
