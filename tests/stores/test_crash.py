"""Killed at any moment and at any byte of its writes: what was acknowledged is there, and nothing is there by half."""

from __future__ import annotations

import random
import resource
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from clearing import all_was_tried, clear_away, it_is_clear
from dying import Tell, all_were_done, in_a_child, it_is_whole, live, open_on

import fanfold
from fanfold import SQLite
from laws import holds

KILLS = [pytest.param(20, id="20"), pytest.param(200, id="200", marks=pytest.mark.slow)]


def _live(path: Path, seed: int, tell: Tell) -> None:
    live(SQLite(path), tell, seed)


def _live_within(limit: int, path: Path, seed: int, tell: Tell) -> None:
    """Live until a write goes beyond this byte of any file: then the system kills."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    _live(path, seed, tell)


@pytest.mark.parametrize("kills", [pytest.param(20, id="20"), KILLS[-1]])
def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path: Path, kills: int) -> None:
    chance, told, all_told = random.Random(kills), list[str](), list[str]()
    path = tmp_path / "a.db"
    for seed in range(kills // 2):
        if seed % 5 == 0:
            path, told = tmp_path / f"{seed}.db", []
        acknowledged = in_a_child(partial(_live, path, seed), chance.uniform(0.005, 0.25))[0]
        told += acknowledged
        all_told += acknowledged
        it_is_whole(SQLite(path), told)
    all_were_done(all_told, partial(_one_more, tmp_path))


def _one_more(folder: Path, seconds: float) -> list[str]:
    path = folder / f"{seconds}.db"
    told = in_a_child(partial(_live, path, 0), seconds)[0]
    it_is_whole(SQLite(path), told)
    return told


@pytest.mark.parametrize("kills", KILLS)
def test_killed_at_random_bytes_nothing_acknowledged_is_lost(tmp_path: Path, kills: int) -> None:
    chance, ends, all_told = random.Random(kills), [], list[str]()
    for seed in range(kills // 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        limit = chance.randrange(chance.choice((40_000, 400_000, 1_600_000)))
        told, end = in_a_child(partial(_live_within, limit, folder / "a.db", seed), 1.0)
        ends.append(end)
        all_told += told
        it_is_whole(SQLite(folder / "a.db"), told)
        shutil.rmtree(folder)
    assert ends.count(signal.SIGXFSZ) > kills // 4, "too few were killed by their own writes"
    all_were_done(all_told, partial(_one_more, tmp_path))


def _clear_away(path: Path, seed: int, tell: Tell) -> None:
    clear_away(SQLite(path), tell, seed)


@pytest.mark.parametrize(
    "kills", [pytest.param(6, id="6"), pytest.param(60, id="60", marks=pytest.mark.slow)]
)
def test_killed_while_it_clears_away_nothing_else_is_lost(tmp_path: Path, kills: int) -> None:
    chance, told, all_told = random.Random(kills), list[str](), list[str]()
    for seed in range(kills):
        path = tmp_path / f"{seed // 6}.db"
        told = told if seed % 6 else []
        acknowledged = in_a_child(partial(_clear_away, path, seed), chance.uniform(0.1, 0.7))[0]
        told += acknowledged
        all_told += acknowledged
        it_is_clear(SQLite(path), told)
    all_was_tried(all_told, partial(_clear_once_more, tmp_path))


def _clear_once_more(folder: Path, seconds: float) -> list[str]:
    path = folder / f"{seconds}.db"
    told = in_a_child(partial(_clear_away, path, 0), seconds)[0]
    it_is_clear(SQLite(path), told)
    return told


class Journal(NamedTuple):
    """A file and its journal, as they are while the file is open; all messages are in the journal only."""

    data: bytes
    journal: bytes
    heads: list[str]
    ends: list[int]
    """How long the journal was after each message."""

    def left(self, path: Path, journal: bytes) -> list[str]:
        """The messages of a copy with this journal."""
        path.write_bytes(self.data)
        Path(f"{path}-wal").write_bytes(journal)
        with open_on(SQLite(path)) as again:
            holds.every_entry_is_covered_once(again)
            found = holds.path_of(again)
        assert fanfold.doctor(path).healthy
        return found

    def until(self, byte: int) -> list[str]:
        """The messages that were said before the journal came so far."""
        return self.heads[: sum(end <= byte for end in self.ends)]


def written(path: Path) -> Journal:
    chat, heads, ends = open_on(SQLite(path)), list[str](), list[int]()
    for n in range(40):
        heads.append(chat.say(f"{n} " + "word " * 50).id)
        ends.append(Path(f"{path}-wal").stat().st_size)
    assert ends == sorted(set(ends)), "the journal was moved into the file meanwhile"
    return Journal(path.read_bytes(), Path(f"{path}-wal").read_bytes(), heads, ends)


def test_a_journal_torn_at_any_byte_gives_what_was_said_until_there(tmp_path: Path) -> None:
    chance, whole = random.Random(7), written(tmp_path / "a.db")
    for number in range(15):
        cut = chance.randrange(len(whole.journal))
        tail = chance.choice((b"", chance.randbytes(200), bytes(5_000)))
        left = whole.left(tmp_path / f"{number}.db", whole.journal[:cut] + tail)
        assert left == whole.until(cut)


def test_a_journal_with_one_byte_changed_gives_what_was_said_until_there(tmp_path: Path) -> None:
    chance, whole = random.Random(8), written(tmp_path / "a.db")
    for number in range(10):
        place, changed = chance.randrange(4_000, len(whole.journal)), bytearray(whole.journal)
        changed[place] ^= 0xFF
        assert whole.left(tmp_path / f"{number}.db", bytes(changed)) == whole.until(place)
