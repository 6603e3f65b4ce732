"""Many writers on PostgreSQL, and writers that are killed: nothing acknowledged is lost, nothing is there by half."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest
from clearing import all_was_tried, clear_away, it_is_clear
from dying import Tell, all_were_done, in_a_child, it_is_whole, live

import fanfold
from fanfold import Postgres

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
    [(4, 100), pytest.param(16, 1_000, marks=pytest.mark.slow)],
    ids=["4x100", "16x1000"],
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


def _clear_away(url: str, schema: str, seed: int, tell: Tell) -> None:
    clear_away(Postgres(url, schema=schema), tell, seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("kills", [pytest.param(n, id=str(n), marks=pytest.mark.slow) for n in (5, 25)])
def test_killed_while_it_clears_away_nothing_else_is_lost(
    url: str, schema: str, connect: Connect, kills: int
) -> None:
    chance, told, store = random.Random(kills), list[str](), connect()

    def kill(seed: int, seconds: float) -> None:
        told.extend(in_a_child(partial(_clear_away, url, schema, seed), seconds)[0])
        it_is_clear(store, told)

    def kill_later(seconds: float) -> list[str]:
        kill(1_000 + int(seconds), seconds)
        return told

    for seed in range(kills):
        kill(seed, chance.uniform(0.2, 1.2))
    all_was_tried(told, kill_later)


def _live(url: str, schema: str, seed: int, tell: Tell) -> None:
    live(Postgres(url, schema=schema), tell, seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize(
    "kills", [pytest.param(5, id="5"), pytest.param(50, id="50", marks=pytest.mark.slow)]
)
def test_killed_at_random_moments_nothing_acknowledged_is_lost(
    url: str, schema: str, connect: Connect, kills: int
) -> None:
    chance, told, store, seeds = random.Random(kills), list[str](), connect(), count()

    def killed_after(seconds: float) -> list[str]:
        acknowledged, ended = in_a_child(partial(_live, url, schema, next(seeds)), seconds)
        assert ended == signal.SIGKILL
        it_is_whole(store, [*told, *acknowledged])
        return acknowledged

    for _ in range(kills):
        told += killed_after(chance.uniform(0.05, 0.5))
    all_were_done(told, killed_after)
