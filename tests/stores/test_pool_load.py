"""Thousands of sessions in one process: memory comes back, and processes that share a store lose nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import SQLite, Store

MEMORY = """
import gc, json, sys
from fanfold import Pool, SQLite
from fanfold.tokens import vocabulary

vocabulary.REMEMBERED = 100_000  # what was counted lately is kept up to a bound, which is not what is measured here

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

pool = Pool(SQLite(sys.argv[1]), memory=8 << 20, window=50_000, dialect="openai.chat")
seen = {}
for number in range(1, 5_001):
    with pool.session(f"run {number}") as chat:
        chat.merge([{"role": ("user", "assistant")[n % 2], "content": f"{number} {n} " * 40} for n in range(20)])
        chat.request()
    if number in (500, 5_000):
        seen[number] = resident()
print(json.dumps([seen[500], seen[5_000], pool.counters.open, pool.counters.bytes]))
"""

WRITER = """
import json, random, sys
from hashlib import sha256
from fanfold import Pool, Postgres, SQLite, drop_oldest

place, schema, writer, sessions, each = sys.argv[1:4] + [int(number) for number in sys.argv[4:]]
random.seed(writer)
store = Postgres(place, schema=schema) if schema else SQLite(place)
terms = {"window": 2_000, "meter": "characters/4", "strategy": drop_oldest(), "dialect": "openai.chat"}
pool = Pool(store, memory=1 << 20, **terms)
for number in range(each):
    name = f"run {random.randrange(sessions)}"
    with pool.session(name) as chat:
        chat.say(f"<{writer}:{number}>" + " word" * 200)
        messages = chat.request(max_tokens=100)["messages"]
        edits = chat._state.log.next_edit()
    sums = [sha256(json.dumps(message).encode()).hexdigest()[:16] for message in messages]
    print("sent", json.dumps([name, edits, sums]), flush=True)
    print("said", json.dumps([name, f"<{writer}:{number}>"]), flush=True)
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


KILLS = 3


def write(place: str, schema: str, writer: int, sessions: int, each: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, place, schema, *map(str, (writer, sessions, each))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def whole(store: Store) -> dict[str, str]:
    """All that was said on the path of each session."""
    found = {}
    for name in store.sessions("default"):
        with fanfold.open(name, window=50_000, dialect="openai.chat", store=store) as chat:
            log = chat._state.log
            found[name] = "".join(log.message(id).text for id in log.tree.path(chat.head))
    return found


def nothing_is_lost(place: str, schema: str, store: Callable[[], Store], sessions: int, each: int) -> None:
    writers = [write(place, schema, number, sessions, each) for number in range(2)]
    told = list[str]()
    for number in range(2, 2 + KILLS):  # one after the other, each killed somewhere on its way
        doomed = write(place, schema, number, sessions, each)
        assert doomed.stdout is not None
        told += [doomed.stdout.readline().strip() for _ in range(each // 6)]
        doomed.kill()
        told += doomed.communicate()[0].splitlines()
    for writer in writers:
        told += writer.communicate()[0].splitlines()
    assert [writer.returncode for writer in writers] == [0, 0]
    said = whole(store())
    for name, text in lines_of("said", told):
        assert said[name].count(text) == 1, f"{text} in {name}"
    for name, text in said.items():
        for number in range(2 + KILLS):
            mine = [int(found) for found in re.findall(rf"<{number}:(\d+)>", text)]
            assert mine == sorted(set(mine)), f"{name} has them twice, or out of order"
    each_goes_on(lines_of("sent", told))


def lines_of(kind: str, told: list[str]) -> list[list[Any]]:
    """What the writers told of, one kind of it; the last line of one that was killed may be torn."""
    found = list[list[Any]]()
    for line in told:
        if line.startswith(f"{kind} "):
            with suppress(json.JSONDecodeError):
                found.append(json.loads(line.removeprefix(f"{kind} ")))
    return found


def each_goes_on(requests: list[list[Any]]) -> None:
    """Between two edits, a request of a session begins with the one before, whichever process sent it."""
    between: dict[tuple[str, str], list[list[str]]] = {}
    for name, edits, messages in requests:
        between.setdefault((name, edits), []).append(messages)
    assert len({edits for _, edits in between}) > 1, "nothing was reduced, so that no edit was looked at"
    assert sum(len(some) > 1 for some in between.values()) > 10, "hardly any request came after another"
    for (name, edits), some in between.items():
        for one, next in pairwise(sorted(some, key=len)):
            assert next[: len(one)] == one, f"{name} before edit {edits}"


@pytest.mark.slow
def test_processes_that_share_a_file_lose_and_double_nothing(tmp_path: Path) -> None:
    """(23) Every message goes to a random session, and beside two processes others are killed on the way."""
    path = tmp_path / "a.db"
    nothing_is_lost(str(path), "", lambda: SQLite(path), 20, 100)


@pytest.mark.slow
def test_processes_that_share_a_server_lose_and_double_nothing(
    url: str, schema: str, connect: Callable[..., Store]
) -> None:
    """(23) The same with 200 sessions on PostgreSQL."""
    nothing_is_lost(url, schema, connect, 200, 400)
