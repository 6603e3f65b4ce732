"""Bits of a store's file are flipped, one at a time: what was changed is never sent without a word (19.5)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, says, tell
from fanfold import Session, SQLite
from fanfold.core.errors import FanfoldError, StoreFailed

SESSIONS = ("first", "second", "third")
LONG = "".join(f"line {n}\n" for n in range(1_000))
PICTURE = bytes(range(256)) * 30
RUNS, FLIPS = 4, 12
KEY = "0f" * 32


def opened(store: SQLite, name: str) -> Session:
    return fanfold.open(name, window=9_000, store=store, meter="characters/4")


def kept(path: Path, key: str | None) -> None:
    """A file with everything in it that can be sent: entries, folds, frames, replaced bodies, checkpoints, blobs."""
    store = SQLite(path, key=key)
    for name in SESSIONS:
        with fanfold.open(
            name, window=9_000, store=store, system=f"Rules of {name}.", meter="characters/4"
        ) as chat:
            tell(
                chat, asks(f"Hello from {name}."), says("Hi. " * 20), asks("And then? " * 9), says("Nothing.")
            )
            folded = tuple(id for row in chat.view().rows[1:3] for id in row.covers)
            chat.fold(folded, f"What {name} said before.")
            chat.note("state", "red")
            tell(chat, asks("Run it."), calls("c1"))
            chat.answer("c1", LONG)
            tell(chat, says("Done."), calls("c2"))
            chat.answer("c2", PICTURE)
            tell(chat, calls("c3"), gives("c3", "short"), asks("Go on."))
    store.close()


def sent(store: SQLite, name: str) -> tuple[Any, ...]:
    """All that a model can get of a session: a request, and what it looks up of an output."""
    with opened(store, name) as chat:
        request = chat.request(max_tokens=100)
        found = {output.size: output for output in chat.outputs()}
        picture = b"".join(found[len(PICTURE)].source.read(300, 400))
        lines, grepped = found[len(LONG)].lines(500, 3), list(map(str, found[len(LONG)].grep("line 999")))
        return request, lines, grepped, picture


def flipped(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


@pytest.fixture(scope="module", params=[None, KEY], ids=["plain", "sealed"])
def healthy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str | None]:
    path = tmp_path_factory.mktemp("healthy") / "a.db"
    kept(path, request.param)
    return path, request.param


def outcome(store: SQLite | None, name: str, right: tuple[Any, ...]) -> str:
    """What became of a session in a file that may be damaged."""
    try:
        assert store is not None
        return "right" if sent(store, name) == right else "ALTERED"
    except StoreFailed:
        return "refused"


@pytest.mark.parametrize("run", range(RUNS))
def test_what_was_changed_is_never_sent_without_a_word(
    healthy: tuple[Path, str | None], tmp_path: Path, run: int
) -> None:
    """(19.5) Whatever bit is flipped, each session is sent as it was, or not at all; the doctor falls over nothing."""
    path, key = healthy
    shutil.copy(path, tmp_path / "whole.db")
    whole = SQLite(tmp_path / "whole.db", key=key)
    right = {name: sent(whole, name) for name in SESSIONS}
    whole.close()
    chance = random.Random(run)
    for n in range(FLIPS):
        copy = tmp_path / f"{n}.db"
        shutil.copy(path, copy)
        flipped(copy, chance)
        try:
            store = SQLite(copy, key=key)
        except StoreFailed:
            continue  # nothing is sent where nothing is opened
        became = {name: outcome(store, name, right[name]) for name in SESSIONS}
        assert "ALTERED" not in became.values(), (run, n, became)
        store.close()
        with_doctor(copy, key)
        copy.unlink()


def with_doctor(path: Path, key: str | None) -> None:
    """The doctor looks at whatever is there, and raises nothing but what it says."""
    try:
        store = SQLite(path, key=key)
    except StoreFailed:
        return
    try:
        assert str(fanfold.doctor(store))
    except FanfoldError as error:  # pragma: no cover
        pytest.fail(f"the doctor fell over {error!r}")
    finally:
        store.close()
