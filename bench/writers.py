"""What writers on one SQLite file get, beside memory and beside bare sqlite3. Every figure is a ratio of one run."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import fanfold
from fanfold import Memory, SQLite
from fanfold.stores.store import Store
from stores import TEXT, Taken, side_by_side, timed

SAYS = 1_500
SYNCED = 200
"""A write that waits for the disk takes milliseconds, so there are fewer of them."""
SESSIONS = 16
PROCESSES = 8
SECONDS = 3.0
BODY = b"x" * (len(TEXT) + 300)


def talker(store: Store, name: str = "bench") -> fanfold.Session:
    """A session that has begun: its first message brings its frame and its name along."""
    chat = fanfold.open(name, window=10**7, store=store, on_moved="reapply")
    chat.say("Hello.")
    return chat


def says(store: Store, count: int) -> Taken:
    """One session says so much."""
    chat = talker(store)
    return timed(lambda: [chat.say(f"{n} {TEXT}") for n in range(count)])


def bare(path: Path, count: int) -> Taken:
    """As many transactions of one row, each on the disk when it returns."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE message (number INTEGER PRIMARY KEY, body BLOB)")

    def write() -> None:
        for _ in range(count):
            connection.execute("INSERT INTO message (body) VALUES (?)", (BODY,))

    return timed(write)


def at_once(path: Path) -> Taken:
    """Many sessions of one process say as much together, each in a thread of its own."""
    store = SQLite(path, durability="full")
    chats = [talker(store, f"bench {n}") for n in range(SESSIONS)]

    def talk(chat: fanfold.Session) -> None:
        for n in range(SYNCED // SESSIONS):
            chat.say(f"{chat.name} {n} {TEXT}")

    def run() -> None:
        threads = [threading.Thread(target=talk, args=(chat,)) for chat in chats]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return timed(run)


def speak(path: Path) -> Callable[[int], object]:
    """What says something in the one session."""
    chat = fanfold.open("bench", window=10**7, store=SQLite(path), on_moved="reapply")
    return lambda n: chat.say(f"{n} {TEXT}")


def swap(path: Path) -> Callable[[int], object]:
    """What adds a row where the number that was read is still the last one, and reads again where it is not."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("PRAGMA synchronous = NORMAL")

    def add(_: int) -> None:
        while True:
            (last,) = connection.execute("SELECT max(number) FROM message").fetchone()
            sql = "INSERT INTO message (number, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
            if connection.execute(sql, (last + 1, BODY)).rowcount:
                return

    return add


def repeat(make: Callable[[Path], Callable[[int], object]], path: Path, start: Any, counts: Any) -> None:
    """One of several processes: do it again and again for a while, and tell how often it was done."""
    work, done = make(path), 0
    start.wait()
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        work(done)
        done += 1
    counts.put(done)


def by_processes(make: Callable[[Path], Callable[[int], object]], path: Path) -> int:
    """How many writes several processes get done at one session together."""
    context = get_context("spawn")
    start, counts = context.Barrier(PROCESSES), context.Queue()
    processes = [context.Process(target=repeat, args=(make, path, start, counts)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    done = [counts.get() for _ in processes]
    for process in processes:
        process.join()
    return sum(done)


def contended() -> float:
    """Eight processes at one session, beside eight at a bare compare-and-swap loop."""
    ratios = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder) / "ours", Path(folder) / "theirs"
            talker(SQLite(ours)).close()
            connection = sqlite3.connect(theirs, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE message (number INTEGER PRIMARY KEY, body BLOB)")
            connection.execute("INSERT INTO message (number) VALUES (1)")
            connection.close()
            ratios.append(by_processes(speak, ours) / by_processes(swap, theirs))
    return statistics.median(ratios)


def row(what: str, ratio: float, bar: str) -> None:
    """One figure."""
    print(f"{what:<58} {ratio:6.2f}   ({bar})")


def rates(one: Callable[[Path], Taken], other: Callable[[Path], Taken]) -> float:
    """How much of the other's rate one gets, on the wall."""
    return 1 / side_by_side(one, other)[0]


def main() -> None:
    """Print every ratio."""

    def synced(path: Path) -> Taken:
        return bare(path, SYNCED)

    plain = rates(lambda path: says(SQLite(path), SAYS), lambda path: says(Memory(), SAYS))
    row("say, sqlite / memory", plain, "bar 0.8")
    alone = rates(lambda path: says(SQLite(path, durability="full"), SYNCED), synced)
    row("say, full durability / bare synchronised rows", alone, "bar 0.5")
    row(f"say, {SESSIONS} sessions, full / bare synchronised rows", rates(at_once, synced), "bar 1.2")
    row(f"say, {PROCESSES} processes on one session / bare compare-and-swap", contended(), "bar 0.3")


if __name__ == "__main__":
    main()
