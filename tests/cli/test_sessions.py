"""A session opened for a command: given > remembered > told by what was recorded; nothing of it is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fanfold
from fanfold import models
from fanfold.cli.sessions import Sessions
from fanfold.core.record import Move, Opened
from fanfold.session.stored import ANY_WINDOW
from fanfold.stores.store import Batch

CLAUDE, GPT = "claude-opus-4-6", "gpt-4o"


@pytest.fixture
def place(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'agent.db'}"


def recorded(place: str, **options: Any) -> None:
    """A session that said something, and made a request."""
    with fanfold.open("run", store=place, **options) as chat:
        chat.say("Go.")
        chat.request()


def used(place: str, tenant: str = "default", **given: Any) -> tuple[str, str | None, int]:
    """The dialect, model and window that a command works with."""
    with Sessions(place, tenant, **given).open("run") as chat:
        terms = chat._state.terms
        return terms.dialect.name, terms.model, terms.budget.window


def copied_as_earlier(place: str) -> None:
    """The same session for the tenant `earlier`, as releases recorded it that remembered nothing."""
    store = Sessions(place, "default").store
    records = store.load("default", "run").records
    kept = tuple(record for record in records if not isinstance(record, Opened))
    (head,) = [record.head for record in kept if isinstance(record, Move)][-1:]
    store.append("earlier", "run", Batch(kept, tuple(store.path("default", str(head)))), expect=None)


def test_a_command_has_the_session_as_its_agent_left_it(place: str) -> None:
    recorded(place, model=CLAUDE, window=90_000)
    assert used(place) == ("anthropic", CLAUDE, 90_000)


def test_another_model_tells_its_dialect_and_keeps_the_window(place: str) -> None:
    recorded(place, model=CLAUDE, window=90_000)
    assert used(place, model=GPT) == ("openai.chat", GPT, 90_000)


def test_another_model_has_no_larger_window_than_its_own(place: str) -> None:
    recorded(place, model=CLAUDE, window=900_000)
    assert used(place, model=GPT) == ("openai.chat", GPT, models.find(GPT).window)


def test_another_model_leaves_a_dialect_that_was_given(place: str) -> None:
    recorded(place, model=GPT, dialect="openai.responses")
    assert used(place, model=CLAUDE)[0] == "openai.responses"


def test_a_window_that_a_command_is_told_wins(place: str) -> None:
    recorded(place, model=CLAUDE, window=90_000)
    assert used(place, window=7_000) == ("anthropic", CLAUDE, 7_000)


@pytest.mark.parametrize("given", [{}, {"model": GPT}, {"window": 7_000}])
def test_what_a_command_is_told_is_not_remembered(place: str, given: dict[str, Any]) -> None:
    recorded(place, model=CLAUDE, window=90_000)
    before = Sessions(place, "default").records("run")
    copied_as_earlier(place)
    earlier = Sessions(place, "earlier").records("run")
    used(place, **given)
    used(place, "earlier", **given)
    assert Sessions(place, "default").records("run") == before
    assert Sessions(place, "earlier").records("run") == earlier


def test_a_strategy_that_is_not_here_keeps_nobody_from_looking(place: str) -> None:
    recorded(place, model=GPT)
    store = Sessions(place, "default").store
    elsewhere = Opened(GPT, "openai.chat", strategy=("of-a-plug-in",))
    store.append("default", "run", Batch((elsewhere,)), expect=None)
    with pytest.raises(fanfold.BadSetting, match="of-a-plug-in"):
        fanfold.open("run", store=place)
    assert used(place)[1] == GPT


def test_a_model_that_a_setting_named_is_told_by_the_last_request(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_MODEL", CLAUDE)
    recorded(place)
    monkeypatch.delenv("FANFOLD_MODEL")
    assert used(place) == ("anthropic", CLAUDE, models.find(CLAUDE).window)


def test_a_session_of_an_earlier_release_is_told_by_its_records(place: str) -> None:
    recorded(place, model=CLAUDE, window=90_000)
    with fanfold.open("run", store=place) as chat:
        chat.receive(
            {"role": "assistant", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}
        )
    copied_as_earlier(place)
    assert used(place, "earlier") == ("anthropic", CLAUDE, models.find(CLAUDE).window)
    assert used(place, "earlier", model=GPT) == ("anthropic", GPT, models.find(GPT).window)


def test_where_no_limit_is_known_nothing_is_reduced(place: str) -> None:
    recorded(place, model="my-model", window=90_000)
    copied_as_earlier(place)
    assert used(place, "earlier") == ("openai.chat", None, ANY_WINDOW)
    assert used(place, "earlier", model="your-model") == ("openai.chat", "your-model", ANY_WINDOW)
