"""Killed at any moment and at any byte of its writes: what was acknowledged is there, and nothing is there by half."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import Note, Session, SQLite, window
from fanfold.record import Edited
from laws import holds

GROUP = 3
KILLS = [pytest.param(40, id="40"), pytest.param(200, id="200", marks=pytest.mark.slow)]


def two_edits(view: Any, budget: Any) -> Any:
    """A plan of two decisions and more, so that half a plan would show."""
    yield Note("state", f"at {view.version}")
    yield Note("plan", f"after {view.version}")
    yield from window()(view, budget)


def open_on(path: Path) -> Session:
    return fanfold.open(
        "run", window=3_000, store=SQLite(path), strategy=two_edits, meter="characters/4", on_moved="reapply"
    )


def live(path: Path, acknowledge: Callable[[str], None], seed: int) -> None:
    """Say, reduce and take in blobs until the end comes; tell of everything that is done."""
    chance, chat = random.Random(seed), open_on(path)
    store = chat._state.terms.tenant.store
    acknowledge("open")
    for n in range(10_000):
        roles = ("user", "assistant", "user")
        bodies = [{"role": role, "content": f"{seed} {n} {role} " + "word " * 30} for role in roles]
        history = [dict(message.wire.body) for message in _history(chat) if message.wire]
        chat.merge([*history, *bodies])
        acknowledge(f"said {chat.head}")
        if chance.random() < 0.3:
            chat.compact(force=True)
        if chance.random() < 0.3:
            size = chance.choice((1_000, 1_500_000))
            acknowledge(f"blob {store.put_blob('default', [chance.randbytes(size)]).id}")


def _history(chat: Session) -> list[Any]:
    log = chat._state.log
    return [log.message(id) for id in log.tree.path(chat.head)]


def in_a_child(path: Path, seed: int, limit: int | None, seconds: float) -> tuple[list[str], int]:
    """Let a child live and die; gives back what it had acknowledged, and the signal that ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _child(path, seed, limit, writing)
    os.close(writing)
    ended = _ended(child, seconds)
    with os.fdopen(reading) as file:
        return file.read().splitlines(), os.WTERMSIG(ended)


def _ended(child: int, seconds: float) -> int:
    """Wait for the end of a child, and bring it about in the end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.002)
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _child(path: Path, seed: int, limit: int | None, writing: int) -> None:
    try:
        if limit is not None:  # the system kills whoever writes beyond this byte of any file
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        live(path, lambda text: os.write(writing, f"{text}\n".encode()) and None, seed)
    finally:
        os._exit(1)


def it_is_whole(path: Path, told: list[str]) -> None:
    """Everything acknowledged is there, nothing by half, and the laws hold."""
    store = SQLite(path)
    with fanfold.open("run", window=3_000, store=store, meter="characters/4") as chat:
        resumed = holds.fingerprint(chat.view())
        chat._state.read_whole()
        assert holds.fingerprint(chat.view()) == resumed, "the checkpoint shows something else than the log"
        path_ids = holds.path_of(chat)
        said = [line.split()[1] for line in told if line.startswith("said")]
        assert [id for id in path_ids if id in set(said)] == said, "an acknowledged message is gone"
        assert len(path_ids) % GROUP == 0, "half of a unit of work is there"
        for record in chat._state.log.records:
            if isinstance(record, Edited) and record.decisions[0].by == "auto":
                notes = [
                    decision.edit.name for decision in record.decisions if isinstance(decision.edit, Note)
                ]
                assert notes == ["state", "plan"], "half a plan is there"
        holds.every_entry_is_covered_once(chat)
        holds.the_view_is_that_of_a_log_read_anew(chat)
    blobs = {line.split()[1] for line in told if line.startswith("blob")}
    assert blobs <= {blob.id for blob in store.blobs("default")}, "an acknowledged blob is gone"
    report = fanfold.doctor(store)
    assert report.healthy, str(report)


@pytest.mark.parametrize("kills", KILLS)
def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path, kills: int) -> None:
    chance, told, said = random.Random(kills), ["open"], 0
    path = tmp_path / "a.db"
    for seed in range(kills // 2):
        if seed % 5 == 0:
            path, told = tmp_path / f"{seed}.db", []
        told += in_a_child(path, seed, None, chance.uniform(0.005, 0.12))[0]
        it_is_whole(path, told)
        said += sum(line.startswith("said") for line in told)
    assert said


@pytest.mark.parametrize("kills", KILLS)
def test_killed_at_random_bytes_nothing_acknowledged_is_lost(tmp_path: Path, kills: int) -> None:
    chance, ends = random.Random(kills), []
    for seed in range(kills // 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        limit = chance.randrange(chance.choice((40_000, 400_000, 1_600_000)))
        told, end = in_a_child(folder / "a.db", seed, limit, 1.0)
        ends.append(end)
        it_is_whole(folder / "a.db", told)
        shutil.rmtree(folder)
    assert ends.count(signal.SIGXFSZ) > kills // 4, "too few were killed by their own writes"


def test_a_journal_torn_at_any_byte_gives_a_beginning_of_what_was_said(tmp_path: Path) -> None:
    chance = random.Random(7)
    chat = open_on(tmp_path / "a.db")
    heads = [chat.say(f"{n} " + "word " * 50).id for n in range(40)]
    data, journal = (tmp_path / "a.db").read_bytes(), (tmp_path / "a.db-wal").read_bytes()
    for number in range(15):
        torn = tmp_path / f"{number}.db"
        torn.write_bytes(data)
        cut = chance.randrange(len(journal))
        tail = chance.choice((b"", chance.randbytes(200), bytes(5_000)))
        Path(f"{torn}-wal").write_bytes(journal[:cut] + tail)
        with open_on(torn) as again:
            path = holds.path_of(again)
            assert path == heads[: len(path)]
            holds.every_entry_is_covered_once(again)
        assert fanfold.doctor(torn).healthy


def test_a_journal_with_one_byte_changed_gives_a_beginning_of_what_was_said(tmp_path: Path) -> None:
    chance = random.Random(8)
    chat = open_on(tmp_path / "a.db")
    heads = [chat.say(f"{n} " + "word " * 50).id for n in range(40)]
    data, journal = (tmp_path / "a.db").read_bytes(), (tmp_path / "a.db-wal").read_bytes()
    for number in range(10):
        torn, changed = tmp_path / f"{number}.db", bytearray(journal)
        torn.write_bytes(data)
        changed[chance.randrange(4_000, len(changed))] ^= 0xFF
        Path(f"{torn}-wal").write_bytes(changed)
        with open_on(torn) as again:
            path = holds.path_of(again)
            assert path == heads[: len(path)]
