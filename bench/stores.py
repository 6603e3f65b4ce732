"""What keeping a session on disk costs, beside memory and beside bare sqlite3. Every figure is a ratio of one run."""

from __future__ import annotations

import gc
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from generate import steps

import fanfold
from fanfold import SQLite
from fanfold.core.message import user
from fanfold.core.record import Move
from fanfold.core.tree import Entry
from fanfold.stores.store import Batch
from fanfold.stores.tenant_tree import TenantTree

Taken = tuple[float, float]
"""Seconds on the wall, and of processor time."""
ROUNDS = 7
APPENDS = 4_000
TEXT = "A message of the usual length, with a path or two: src/parser.py:41. " * 4


def timed(work: Callable[[], object]) -> Taken:
    """How long it takes."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def side_by_side(one: Callable[[Path], Taken], other: Callable[[Path], Taken]) -> tuple[float, float]:
    """The median ratio of two, run in turns: on the wall, and of processor time."""
    ratios: list[Taken] = []
    for number in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            work = [one, other] if number % 2 else [other, one]
            taken = {each: each(Path(folder) / str(i)) for i, each in enumerate(work)}
            ratios.append((taken[one][0] / taken[other][0], taken[one][1] / taken[other][1]))
    return statistics.median(r[0] for r in ratios), statistics.median(r[1] for r in ratios)


def session(store: Any) -> Taken:
    """A whole session: every message recorded, a request before every reply."""
    chat = fanfold.open("bench", window=100_000, system="You mend builds.", store=store)

    def play() -> None:
        for step in SESSION:
            for message in step:
                chat.add(message)
            if step[-1]["role"] != "assistant":
                chat.request(max_tokens=4_000)

    return timed(play)


def entries() -> list[Entry]:
    """Messages one after the other."""
    tree, parent, made = TenantTree(), None, []
    for n in range(APPENDS):
        made.append(tree.add(parent, user(f"{n} {TEXT}")))
        parent = made[-1].id
    return made


def appends(path: Path) -> Taken:
    """One append for each message."""
    store = SQLite(path)

    def write() -> None:
        was = None
        for n, entry in enumerate(ENTRIES):
            store.append("t", "s", Batch((Move(entry.id, "append", was, 1.5),), (entry,)), expect=n)
            was = entry.id

    return timed(write)


def bare(path: Path) -> Taken:
    """One row of as many bytes in one transaction, for each message."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE message (number INTEGER PRIMARY KEY, body BLOB)")
    body = b"x" * (len(TEXT) + 300)

    def write() -> None:
        for _ in range(APPENDS):
            connection.execute("INSERT INTO message (body) VALUES (?)", (body,))

    return timed(write)


def keyed(path: Path) -> Taken:
    """The same in a table that finds a message again by its id, as a store must."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE message (number INTEGER PRIMARY KEY, id BLOB UNIQUE, body BLOB)")
    rows = [(entry.id.encode(), b"x" * (len(TEXT) + 270)) for entry in ENTRIES]

    def write() -> None:
        for row in rows:
            connection.execute("INSERT INTO message (id, body) VALUES (?, ?)", row)

    return timed(write)


def late_and_early(counts: Sequence[int]) -> float:
    """What an append costs at the end of a long session, beside what it costs early on."""
    with tempfile.TemporaryDirectory() as folder:
        store = SQLite(Path(folder) / "a.db")
        tree, parent, taken = TenantTree(), None, []
        for n in range(counts[-1] + 500):
            entry = tree.add(parent, user(f"{n} {TEXT}"))
            batch = Batch((Move(entry.id, "append", parent, 1.5),), (entry,))
            start = time.perf_counter()
            store.append("t", "s", batch, expect=n)
            taken.append(time.perf_counter() - start)
            parent = entry.id
        early, late = (statistics.median(taken[count : count + 500]) for count in counts)
    return late / early


def opening(many: int) -> float:
    """What it takes to open a long session to its view, beside one of a thousand messages."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [grown(Path(folder) / str(count), count) for count in (1_000, many)]
        taken: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for store, times in zip(stores, taken, strict=True):
                times.append(timed(lambda store=store: opened(store))[0])  # type: ignore[misc]
    few, long = map(min, taken)
    return long / few


def grown(path: Path, count: int) -> Path:
    """A file with a session of so many messages, which was reduced again and again, and never closed."""
    chat = fanfold.open("bench", window=100_000, system="You mend builds.", store=SQLite(path))
    for step in steps(count, count * 600):
        for message in step:
            chat.add(message)
        if step[-1]["role"] != "assistant":
            chat.request(max_tokens=4_000)
    return path


def at_both_lengths(many: int) -> tuple[float, float]:
    """`say` after a foreign append, and `stats`: in a session of so many messages, beside one of a thousand."""
    with tempfile.TemporaryDirectory() as folder:
        taken: dict[int, tuple[float, float]] = {}
        for count in (1_000, many):
            path = grown(Path(folder) / str(count), count)
            chat = fanfold.open("bench", window=100_000, store=SQLite(path), on_moved="reapply")
            other = fanfold.open("bench", window=100_000, store=SQLite(path), on_moved="reapply")
            appends, figures = [], []
            for n in range(15):
                other.say(f"from elsewhere {n}")
                appends.append(timed(lambda chat=chat, n=n: chat.say(f"from here {n}"))[0])  # type: ignore[misc]
                figures.append(timed(chat.stats)[0])
                other.refresh()
            taken[count] = statistics.median(appends), statistics.median(figures)
    few, long = taken[1_000], taken[many]
    return long[0] / few[0], long[1] / few[1]


def opened(path: Path) -> None:
    """Open a session as a process does that was just started."""
    store = SQLite(path)
    assert fanfold.open("bench", window=100_000, store=store).view().rows
    store.close()


def line(what: str, ratio: tuple[float, float], bar: str) -> None:
    """One figure."""
    print(f"{what:<44} {ratio[0]:6.2f} on the wall, {ratio[1]:5.2f} of the processor   ({bar})")


SESSION = list(steps(1_500, 900_000))
ENTRIES = entries()


def main() -> None:
    """Print every ratio."""
    steps_ratio = side_by_side(lambda path: session(SQLite(path)), lambda path: session(fanfold.Memory()))
    line("session step, sqlite / memory", steps_ratio, "bar 2")
    wall, cpu = side_by_side(appends, bare)
    line("appends/s, sqlite store / bare sqlite3", (1 / wall, 1 / cpu), "bar 0.5")
    wall, cpu = side_by_side(appends, keyed)
    line("the same / bare sqlite3 with ids", (1 / wall, 1 / cpu), "no bar; what finding by id leaves")
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"append at {many:,} / append at 100".ljust(44), f"{late_and_early((100, many)):6.2f}   (bar 1.5)")
    print(f"opening {many:,} / 1,000 messages".ljust(44), f"{opening(many):6.2f}   (bar 5)")
    foreign, figures = at_both_lengths(many)
    print(f"say after a foreign one, {many:,} / 1,000".ljust(44), f"{foreign:6.2f}   (bar 2)")
    print(f"stats, {many:,} / 1,000 messages".ljust(44), f"{figures:6.2f}   (bar 2)")


if __name__ == "__main__":
    main()
