"""Whoever writes while somebody erases waits for a small part of the erasure only."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fanfold
from conftest import hurry
from fanfold import Postgres, SQLite
from fanfold.core.record import Record
from fanfold.stores.store import Scrub

Connect = Callable[..., Any]
SECRET = "The password is hunter2."


@pytest.fixture(params=["sqlite", "postgres"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Opens the same store once more, as another process does."""
    if request.param == "postgres":
        return request.getfixturevalue("connect")
    return lambda: SQLite(tmp_path / "a.db", timeout=10)


def grow(store: Any, count: int, size: int) -> tuple[fanfold.Session, str]:
    """A session of so many messages of so many signs, and the first of them."""
    chat = fanfold.open("long", window=10**9, store=store)
    history = [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} ".ljust(size, "x")} for n in range(count)
    ]
    merged = chat.merge(
        [{"role": "user", "content": SECRET}, {"role": "assistant", "content": "Ah."}, *history]
    )
    return chat, merged.entries[0][0]


def test_others_write_while_the_records_of_a_session_are_scrubbed(another: Connect) -> None:
    mine, theirs = another(), another()
    chat, secret = grow(mine, 10, 100)
    if isinstance(theirs, Postgres):
        theirs = another(connections=1)
        hurry(theirs)
    else:
        theirs.database._timeout = 0.2
    with fanfold.open("other", window=9_000, store=theirs) as other:
        other.say("Hello.")
        scrubbed, scrub = list[str](), mine.coding.scrub

        def observed(tenant: str, session: str, rows: Sequence[tuple[int, Record]], by: Scrub) -> Any:
            other.say(f"while {session} is scrubbed")
            scrubbed.append(session)
            return scrub(tenant, session, rows, by)

        mine.coding.scrub = observed
        chat.erase(secret, "a secret")
        assert scrubbed == ["long"]
        assert [message.text for message in other.view().messages] == ["Hello.", "while long is scrubbed"]
    assert chat.view().messages[0].text == "[erased: a secret]"


def test_what_somebody_writes_to_the_session_while_it_is_scrubbed_is_scrubbed_too(another: Connect) -> None:
    mine, theirs = another(), another()
    chat, secret = grow(mine, 10, 100)
    other = fanfold.open("long", window=10**9, store=theirs)
    scrubbed, scrub = list[int](), mine.coding.scrub

    def observed(tenant: str, session: str, rows: Sequence[tuple[int, Record]], by: Scrub) -> Any:
        if not scrubbed:
            other.note("todo", f"Remember.\n{SECRET}")
        scrubbed.append(len(rows))
        return scrub(tenant, session, rows, by)

    mine.coding.scrub = observed
    chat.erase(secret, "a secret")
    assert len(scrubbed) == 2
    assert scrubbed[1] > scrubbed[0]
    with fanfold.open("long", window=10**9, store=another()) as again:
        shown = "\n".join(message.text for message in again.view().messages)
    assert "Remember." in shown
    assert "hunter2" not in shown


@contextmanager
def waits(store: Any) -> Iterator[list[float]]:
    """How long each write to another session waits meanwhile."""
    taken, stopping = list[float](), threading.Event()
    chat = fanfold.open("other", window=10**8, store=store)
    chat.say("Hello.")

    def write() -> None:
        while not stopping.is_set():
            start = time.perf_counter()
            chat.say(f"{len(taken)} goes on")
            taken.append(time.perf_counter() - start)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield taken
    finally:
        stopping.set()
        thread.join(60)


@pytest.mark.parametrize(("count", "size"), [(4_000, 300), (120, 200_000)])
def test_nobody_waits_for_more_than_a_small_part_of_an_erasure(
    another: Connect, count: int, size: int
) -> None:
    chat, secret = grow(another(), count, size)
    with waits(another()) as waited:
        start = time.perf_counter()
        chat.erase(secret, "a secret")
        whole = time.perf_counter() - start
    assert len(waited) > 20, f"{len(waited)} writes in {whole:.2f} seconds"
    assert max(waited) < whole / 3, f"{max(waited):.3f} of {whole:.3f} seconds"
    assert statistics.median(waited) < whole / 20
