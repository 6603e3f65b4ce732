"""Many processes at every verb on the same sessions: whatever fails has a name, and nothing is lost."""

from __future__ import annotations

import io
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from clearing import OUTPUTS
from dying import Tell, in_a_child

import fanfold
from builders import calls
from fanfold import FanfoldError, Postgres, Session, SQLite
from fanfold.stores.store import Store

Connect = Callable[..., Postgres]
Hand = Callable[[Session, random.Random, str], object]


def answer(chat: Session, chance: random.Random, fresh: str) -> None:
    chat.add(calls(call := chance.choice((fresh, f"c{chance.randrange(20)}"))))
    chat.answer(call, chance.choice((*OUTPUTS, "short")))


def erase(chat: Session, chance: random.Random, fresh: str) -> None:
    refs = [output.ref for output in chat.outputs()]
    chat.erase(chance.choice(refs) if refs else str(chat.head), "asked for")


def fork(chat: Session, chance: random.Random, fresh: str) -> None:
    chat.fork(f"fork {fresh}").close()


def copy(chat: Session, chance: random.Random, fresh: str) -> None:
    file, store = io.BytesIO(), chat._state.terms.tenant.store
    fanfold.export_session(store, chat.name, file)
    file.seek(0)
    fanfold.import_session(store, file, name=f"copy {fresh}")


def undo(chat: Session, chance: random.Random, fresh: str) -> None:
    edits = list(chat._state.log.decisions)
    if edits:
        chat.undo(chance.choice(edits), through=True)


VERBS: tuple[Hand, ...] = (
    answer, answer, answer, erase, fork, copy, undo,
    lambda chat, chance, fresh: chat.say(f"{chance.randrange(50)} hello"),
    lambda chat, chance, fresh: chat.gc(delete=chance.random() < 0.7, hidden=chance.random() < 0.7),
    lambda chat, chance, fresh: chat.compact(force=True),
    lambda chat, chance, fresh: chat.request(max_tokens=100),
    lambda chat, chance, fresh: chat.rewind(turns=1),
    lambda chat, chance, fresh: chat.forward(),
    lambda chat, chance, fresh: [output.text() for output in chat.outputs()],
)  # fmt: skip


def open_any(store: Store, chance: random.Random) -> Session:
    moved: Any = chance.choice(("raise", "reapply", "branch"))
    name = chance.choice("abc")
    return fanfold.open(name, window=6_000, store=store, meter="characters/4", on_moved=moved)


def work(place: Callable[[], Store], seed: int, seconds: float, tell: Tell) -> None:
    """Do anything for a while; tell what came of it."""
    chance, until, store = random.Random(seed), time.monotonic() + seconds, place()
    while time.monotonic() < until:
        with open_any(store, chance) as chat:
            for number in range(chance.randrange(1, 12)):
                try:
                    chance.choice(VERBS)(chat, chance, f"{seed} {time.monotonic_ns()} {number}")
                    tell("done")
                except FanfoldError as error:
                    tell(type(error).__name__)
    tell("ended")


def all_at_once(place: Callable[[], Store], hands: int, seconds: float) -> Counter[str]:
    from concurrent.futures import ThreadPoolExecutor

    each = [partial(work, place, seed, seconds) for seed in range(hands)]
    with ThreadPoolExecutor(hands) as waiting:
        told = list(waiting.map(lambda hand: in_a_child(hand, seconds + 60)[0], each))
    assert [lines[-1] for lines in told] == ["ended"] * hands, "a failure had no name"
    return Counter(line for lines in told for line in lines)


def nothing_is_lost(store: Store) -> None:
    report = fanfold.doctor(store)  # type: ignore[arg-type]
    assert report.healthy, str(report)
    for name in store.sessions("default"):
        with fanfold.open(name, window=10**9, store=store, meter="characters/4") as chat:
            assert {output.text() for output in chat.outputs() if output.ref.startswith("o")} <= {
                *OUTPUTS, "short",
            }  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_many_hands_lose_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, url: str, schema: str
) -> None:
    request.getfixturevalue("connect")
    place: Callable[[], Store] = (
        partial(SQLite, tmp_path / "a.db") if kind == "sqlite" else partial(Postgres, url, schema=schema)
    )
    done = all_at_once(place, 3, 12)
    assert done["done"] > 50
    nothing_is_lost(place())
