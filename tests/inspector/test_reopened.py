"""A session that an agent opens and closes while somebody looks at it is shown all the while."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import fanfold
from fanfold.inspector import desk
from fanfold.stores.memory import Memory
from tests.inspector.world import Page, open_worked


@pytest.fixture(autouse=True)
def _nothing_is_collected() -> Iterator[None]:
    """A session that nobody asks for any more stays in memory until the garbage collector comes."""
    gc.disable()
    yield
    gc.enable()


def test_an_agent_that_opens_and_closes_it_is_in_nobodys_way() -> None:
    store = Memory()
    open_worked(store).close()
    with Page(store) as page:
        visitor = page.enter()
        for _ in range(3):
            visitor.ask("sessions/run")
            with fanfold.open("run", store=store) as chat:
                chat.say("And now?")
                visitor.ask("sessions/run/view")
            visitor.ask("sessions/run/view")


def test_a_session_that_was_put_away_for_others_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_OPEN", 1)
    store = Memory()
    open_worked(store).close()
    with fanfold.open("other", store=store, window=9_000) as other:
        other.say("Hello.")
    with Page(store) as page:
        visitor = page.enter()
        for name in ("run", "other", "run", "other"):
            visitor.ask(f"sessions/{name}/view")
