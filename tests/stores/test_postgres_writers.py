"""Many writers on PostgreSQL, and writers that are killed: nothing acknowledged is lost, nothing is there by half."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from test_crash import GROUP, _ended, two_edits

import fanfold
from fanfold import Note, Postgres, Session
from fanfold.record import Edited
from laws import holds

Connect = Callable[..., Postgres]

WRITER = """
import sys, fanfold
url, schema, writer, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = fanfold.Postgres(url, schema=schema, connections=2)
with fanfold.open("run", window=10**9, meter="characters/4", store=store, on_moved="reapply") as chat:
    for n in range(count):
        chat.say(f"{writer}:{n}")
"""


@pytest.mark.parametrize(
    ("writers", "count"),
    [(4, 250), pytest.param(16, 1_000, marks=pytest.mark.slow)],
    ids=["4x250", "16x1000"],
)
def test_every_message_of_many_writers_is_there_once_and_in_order(
    url: str, schema: str, connect: Connect, writers: int, count: int
) -> None:
    arguments = [sys.executable, "-c", WRITER, url, schema]
    started = [subprocess.Popen([*arguments, str(n), str(count)]) for n in range(writers)]
    assert [writer.wait() for writer in started] == [0] * writers
    with fanfold.open("run", window=10**9, meter="characters/4", store=connect()) as chat:
        said = [message.text for message in chat.view().messages]
    for n in range(writers):
        assert [text for text in said if text.startswith(f"{n}:")] == [f"{n}:{i}" for i in range(count)]
    assert len(said) == writers * count


def open_on(store: Postgres) -> Session:
    return fanfold.open(
        "run", window=3_000, store=store, strategy=two_edits, meter="characters/4", on_moved="reapply"
    )


def live(store: Postgres, tell: Callable[[str], object], seed: int) -> None:
    """Say, reduce and take in blobs until the end comes; tell of everything that is done."""
    chance, chat = random.Random(seed), open_on(store)
    tell("open")
    for n in range(10_000):
        log = chat._state.log
        messages = [log.message(id) for id in log.tree.path(chat.head)]
        history = [message.wire.body for message in messages if message.wire]
        bodies = [
            {"role": role, "content": f"{seed} {n} " + "word " * 30} for role in ("user", "assistant", "user")
        ]
        chat.merge([*history, *bodies])
        tell(f"said {chat.head}")
        if chance.random() < 0.3:
            chat.compact(force=True)
        if chance.random() < 0.3:
            size = chance.choice((1_000, 1_500_000))
            tell(f"blob {store.put_blob('default', [chance.randbytes(size)]).id}")


def in_a_child(url: str, schema: str, seed: int, seconds: float) -> list[str]:
    """Let a child live and be killed; gives back what it had acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            live(Postgres(url, schema=schema), lambda text: os.write(writing, f"{text}\n".encode()), seed)
        finally:
            os._exit(1)
    os.close(writing)
    ended = _ended(child, seconds)
    with os.fdopen(reading) as file:
        told = file.read().splitlines()
    assert os.WTERMSIG(ended) == signal.SIGKILL
    return told


def it_is_whole(store: Postgres, told: list[str]) -> None:
    """Everything acknowledged is there, nothing by half, and the laws hold."""
    with fanfold.open("run", window=3_000, store=store, meter="characters/4") as chat:
        chat._state.read_whole()
        path = holds.path_of(chat)
        said = [line.split()[1] for line in told if line.startswith("said")]
        assert [id for id in path if id in set(said)] == said, "an acknowledged message is gone"
        assert len(path) % GROUP == 0, "half of a unit of work is there"
        for record in chat._state.log.records:
            if isinstance(record, Edited) and record.decisions[0].by == "auto":
                notes = [
                    decision.edit.name for decision in record.decisions if isinstance(decision.edit, Note)
                ]
                assert notes == ["state", "plan"], "half a plan is there"
        holds.every_entry_is_covered_once(chat)
        holds.the_view_is_that_of_a_log_read_anew(chat)
    for blob in store.blobs("default"):
        assert sum(map(len, store.get_blob("default", blob.id))) == blob.size
    blobs = {line.split()[1] for line in told if line.startswith("blob")}
    assert blobs <= {blob.id for blob in store.blobs("default")}, "an acknowledged blob is gone"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(
    "kills", [pytest.param(10, id="10"), pytest.param(50, id="50", marks=pytest.mark.slow)]
)
def test_killed_at_random_moments_nothing_acknowledged_is_lost(
    url: str, schema: str, connect: Connect, kills: int
) -> None:
    chance, told, store = random.Random(kills), list[str](), connect()
    for seed in range(kills):
        told += in_a_child(url, schema, seed, chance.uniform(0.05, 0.5))
        it_is_whole(store, told)
    assert any(line.startswith("said") for line in told)
