"""What a session was opened with is remembered: given > remembered > inferred."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import BadInput, Budget, Memory, Session, SQLite, UnknownModel, models
from fanfold.cli.app import run
from fanfold.core.errors import BadMessage
from fanfold.core.plan import name_of
from fanfold.core.record import Opened, entries_of
from fanfold.dialects.registry import DIALECTS, dialect_for
from fanfold.stores.store import Batch
from fanfold.strategies import digest
from fanfold.testing import replied, response

CLAUDE, GPT, GEMINI = "claude-opus-4-5", "gpt-5.2", "gemini-3-pro-preview"


def used(chat: Session) -> tuple[str, str | None, int]:
    """The dialect, model and window that a session works with."""
    terms = chat._state.terms
    return terms.dialect.name, terms.model, terms.budget.window


def shape(chat: Session) -> list[str]:
    """The strategies that a session works with, by what they are made of."""
    return [getattr(one, "__qualname__", type(one).__qualname__) for one in chat._state.terms.strategies]


def opened(store: Any, **options: Any) -> tuple[str, str | None, int]:
    """What a session works with when it is opened so; something is said in it."""
    with fanfold.open("run", store=store, **options) as chat:
        chat.say("Go.")
        return used(chat)


def reopened(store: Any, **options: Any) -> tuple[str, str | None, int]:
    """What it works with when it is only opened."""
    with fanfold.open("run", store=store, **options) as chat:
        return used(chat)


@pytest.fixture
def store(tmp_path: Path) -> SQLite:
    return SQLite(tmp_path / "agent.db")


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        (None, "openai.chat"),
        (GPT, "openai.chat"),
        ("o1-pro", "openai.responses"),
        ("gpt-5.3-codex", "openai.responses"),
        (CLAUDE, "anthropic"),
        ("claude-opus-7", "anthropic"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "anthropic"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0",
            "anthropic",
        ),
        ("claude-opus-4-5@20251101", "anthropic"),
        (GEMINI, "gemini"),
        ("models/gemini-2.5-pro", "gemini"),
        ("gemini-9-zinc", "gemini"),
        ("gemma-3-27b-it", "openai.chat"),
        ("anthropic/claude-opus-4.5", "openai.chat"),
        ("google/gemini-2.5-pro", "openai.chat"),
        ("openai/o1-pro", "openai.chat"),
        ("openrouter/anthropic/claude-opus-4.5", "openai.chat"),
        ("claude-opus-4-5:free", "openai.chat"),
        ("anthropic/claude-opus-4.5:beta", "openai.chat"),
        ("gemini-3-flash-preview:cloud", "openai.chat"),
        ("deepseek-r1:8b", "openai.chat"),
        ("ft:gpt-4o-2024-08-06:house::1", "openai.chat"),
        ("my-model", "openai.chat"),
    ],
)
def test_a_model_tells_its_dialect(model: str | None, dialect: str) -> None:
    """(19.10)"""
    assert dialect_for(model) == dialect
    assert opened(Memory(), model=model, window=9_000)[0] == dialect


def test_a_given_dialect_wins_over_the_model_s_own() -> None:
    """(19.10)"""
    assert opened(Memory(), model=CLAUDE, dialect="openai.chat")[0] == "openai.chat"


@pytest.mark.parametrize(
    "options",
    [
        {"model": CLAUDE},
        {"window": 9_000, "dialect": "gemini"},
        {"model": GPT, "dialect": "openai.responses", "window": 9_000},
        {"model": "my-model", "window": 9_000},
    ],
)
def test_a_session_opened_again_without_options_is_as_it_was(store: SQLite, options: dict[str, Any]) -> None:
    """(19.10)"""
    before = opened(store, **options)
    assert reopened(store) == before
    assert opened(store) == before


def test_a_budget_is_remembered_by_its_window(store: SQLite) -> None:
    """(19.10)"""
    opened(store, budget=Budget(window=9_000))
    assert reopened(store)[2] == 9_000
    assert reopened(store, budget=Budget(window=7_000))[2] == 7_000
    assert reopened(store)[2] == 7_000


def test_a_different_value_given_later_wins_and_is_recorded(store: SQLite) -> None:
    """(19.10)"""
    opened(store, model=GPT, window=9_000)
    assert reopened(store, window=8_000) == ("openai.chat", GPT, 8_000)
    assert reopened(store) == ("openai.chat", GPT, 8_000)
    assert reopened(store, model="gpt-4o") == ("openai.chat", "gpt-4o", 8_000)
    assert reopened(store, dialect="openai.responses") == ("openai.responses", "gpt-4o", 8_000)
    assert reopened(store) == ("openai.responses", "gpt-4o", 8_000)


def test_a_new_model_tells_its_dialect_anew_unless_one_was_given(store: SQLite) -> None:
    """(19.10)"""
    opened(store, model=CLAUDE)
    assert reopened(store, model=GPT)[0] == "openai.chat"
    assert reopened(store, model=GEMINI)[0] == "gemini"
    assert reopened(store, model=CLAUDE, dialect="openai.chat")[0] == "openai.chat"
    assert reopened(store, model=GEMINI)[0] == "openai.chat"


def test_a_new_model_has_no_larger_window_than_its_own(store: SQLite) -> None:
    """(19.10)"""
    opened(store, model="claude-opus-4-6", window=900_000)
    known = models.find("gpt-4o")
    assert reopened(store, model="gpt-4o")[2] == known.window
    assert reopened(store, model="claude-opus-4-6")[2] == 900_000


def test_a_conversation_goes_on_in_the_dialect_of_the_new_model(store: SQLite) -> None:
    """(19.10)"""
    tools = [{"name": "grep", "input_schema": {"type": "object", "properties": {}}}]
    with fanfold.open("run", store=store, model=CLAUDE, tools=tools) as chat:
        chat.say("Go.")
        assert chat.request()["tools"][0]["name"] == "grep"
        use = {"type": "tool_use", "id": "t1", "name": "grep", "input": {}}
        reply = chat.receive({"role": "assistant", "content": [use], "stop_reason": "tool_use"})
        chat.answer(reply.calls[0], "nothing")
    with fanfold.open("run", store=store, model=GPT) as chat:
        body = chat.request()
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "tool"]
        assert body["tools"][0]["function"]["name"] == "grep"


def test_a_strategy_is_remembered_by_its_name(store: SQLite) -> None:
    """(19.10)"""
    named: Any = ["elide", {"name": "drop_oldest"}]
    opened(store, window=9_000, strategy=named)
    with fanfold.open("run", store=store) as chat:
        assert len(chat._state.terms.strategies) == 2
        assert chat._state.terms.opened.strategy == ("elide", {"name": "drop_oldest"})
    reopened(store, strategy=digest())
    with fanfold.open("run", store=store) as chat:
        assert len(chat._state.terms.strategies) == 1
        assert chat._state.terms.opened.strategy == ()


def test_a_strategy_is_found_by_the_name_under_which_0_1_remembered_it(store: SQLite) -> None:
    opened(store, window=9_000, strategy="window")
    with fanfold.open("run", store=store) as chat:
        assert [name_of(strategy) for strategy in chat._state.terms.strategies] == ["drop_oldest"]


def test_a_strategy_made_with_a_function_is_not_remembered(store: SQLite) -> None:
    """(19.10)"""
    table: Any = {"name": "importance", "scorer": lambda *_: 0.5}
    opened(store, window=9_000, strategy=table)
    with fanfold.open("run", store=store) as chat:
        assert chat._state.terms.opened.strategy == ()


def test_a_remembered_strategy_that_asks_waits_for_a_model_to_ask(store: SQLite) -> None:
    """(19.10)"""
    with fanfold.open(
        "run", store=store, window=9_000, strategy="rolling", summarizer=lambda _: "So it was."
    ) as chat:
        chat.say("Go.")
        asking = shape(chat)
    with fanfold.open("run", store=store) as chat:
        assert shape(chat) == shape(fanfold.open("other", window=9_000))
    with fanfold.open("run", store=store, summarizer=lambda _: "So it was.") as chat:
        assert (shape(chat), chat._state.terms.opened.strategy) == (asking, ("rolling",))


@pytest.mark.parametrize("named", ["summarize", {"name": "summarize", "keep": 0.2}, ["elide", "summarize"]])
def test_it_is_said_once_that_a_remembered_strategy_has_no_model_to_ask(
    store: SQLite, named: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """(19.16)"""
    with fanfold.open(
        "run", store=store, window=9_000, strategy=named, summarizer=lambda _: "So it was."
    ) as chat:
        chat.say("Go.")
    with caplog.at_level(logging.WARNING, logger="fanfold"), fanfold.open("run", store=store) as chat:
        chat.say("Go on.")
        chat.request()
    (record,) = caplog.records
    said = record.getMessage()
    assert record.name == "fanfold"
    assert all(word in said for word in ("'run'", "strategy summarize", "auto is used", "summarizer=")), said


@pytest.mark.parametrize(
    "options",
    [
        {"summarizer": lambda _: "So it was."},
        {"strategy": "digest"},
        {"preset": "miki"},
    ],
)
def test_nothing_is_said_where_it_is_used_or_another_is_given(
    store: SQLite, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """(19.16)"""
    with fanfold.open(
        "run", store=store, window=9_000, strategy="summarize", summarizer=lambda _: "So."
    ) as chat:
        chat.say("Go.")
    with caplog.at_level(logging.WARNING, logger="fanfold"):
        fanfold.open("run", store=store, **options).close()
        fanfold.open("new", store=store, window=9_000).close()
    assert caplog.records == []


ODD: list[Any] = [5, None, ["x"], {}, {"name": 5}, {"name": None, "keep": 3}, {"keep": 3}, True]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_strategy_in_an_export_is_refused_by_its_line(store: SQLite, odd: Any) -> None:
    """(19.1, 19.10)"""
    with fanfold.open("run", store=store, window=9_000, strategy="digest") as chat:
        chat.say("Go.")
    file = io.BytesIO()
    fanfold.export_session(store, "run", file)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    number, line = next((n, one) for n, one in enumerate(lines, 1) if "strategy" in one.get("record", {}))
    line["record"]["strategy"] = ["digest", odd]
    with pytest.raises(BadInput, match=rf"^Line {number} of this export: a strategy in it"):
        fanfold.import_session(Memory(), [json.dumps(one).encode() for one in lines])


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_strategy_that_is_remembered_is_passed_over(odd: Any) -> None:
    """(19.1, 19.10) A store may hold what an earlier release imported."""
    store = Memory()
    store.append("default", "run", Batch((Opened(window=9_000, strategy=(odd,)),)), expect=None)
    with fanfold.open("run", store=store) as chat:
        assert shape(chat) == shape(fanfold.open("other", window=9_000))
    with fanfold.open("run", store=store, strategy="digest") as chat:
        assert shape(chat) == shape(fanfold.open("another", window=9_000, strategy="digest"))


def test_a_preset_wins_over_a_remembered_strategy(store: SQLite) -> None:
    """(19.10)"""
    opened(store, window=9_000, strategy="drop_oldest")
    with fanfold.open("run", store=store, preset="miki") as chat:
        assert shape(chat) == shape(fanfold.open("other", window=9_000, preset="miki"))


def test_nothing_is_written_where_nothing_changed(store: SQLite) -> None:
    """(19.10)"""
    opened(store, model=GPT, window=9_000)
    written = len(store.load("default", "run").records)
    for options in ({}, {"model": GPT}, {"window": 9_000}):
        reopened(store, **options)
    assert len(store.load("default", "run").records) == written
    reopened(store, window=8_000)
    assert store.load("default", "run").records[-1] == Opened(GPT, "openai.chat", True, 8_000)


def test_a_session_that_was_only_opened_leaves_nothing(store: SQLite) -> None:
    """(19.10)"""
    reopened(store, model=GPT)
    assert store.sessions("default") == []


@pytest.mark.parametrize("many", [1, 600])
def test_a_checkpoint_carries_what_a_session_was_opened_with(store: SQLite, many: int) -> None:
    """(19.10)"""
    with fanfold.open("run", store=store, model=GPT, dialect="openai.responses", window=90_000) as chat:
        for number in range(many):
            chat.say(f"Line {number}.")
    found = store.checkpoint("default", "run")
    assert found is not None
    assert found[1].opened == Opened(GPT, "openai.responses", False, 90_000)
    with fanfold.open("run", store=store) as chat:
        assert chat._state.log.resumed_at
        assert used(chat) == ("openai.responses", GPT, 90_000)


def test_what_is_given_after_a_checkpoint_is_remembered(store: SQLite) -> None:
    """(19.10)"""
    opened(store, model=GPT, window=9_000)
    chat = fanfold.open("run", store=store, window=8_000)
    chat._state._closed = True  # as if the process had died: no checkpoint is made
    again = SQLite(store.file)
    assert reopened(again) == ("openai.chat", GPT, 8_000)


def test_an_export_brings_along_what_a_session_was_opened_with(store: SQLite) -> None:
    """(19.10)"""
    before = opened(store, model=CLAUDE, window=9_000)
    file = io.BytesIO()
    fanfold.export_session(store, "run", file)
    other = Memory()
    fanfold.import_session(other, file.getvalue().splitlines())
    assert reopened(other) == before


def test_what_was_erased_here_leaves_an_imported_session_as_it_was_opened(store: SQLite) -> None:
    """(19.10)"""
    before = opened(store, model=CLAUDE, window=9_000)
    file = io.BytesIO()
    fanfold.export_session(store, "run", file)
    with fanfold.open("run", store=store) as chat:
        assert chat.head is not None
        chat.erase(chat.head, "asked for")
    fanfold.import_session(store, file.getvalue().splitlines(), name="copy")
    with fanfold.open("copy", store=store) as chat:
        assert used(chat) == before


def test_a_fork_remembers_what_it_was_made_with(store: SQLite) -> None:
    """(19.10)"""
    with fanfold.open("run", store=store, model=CLAUDE, window=9_000) as chat:
        chat.say("Go.")
        for name, other in (("same", {}), ("other", {"model": GPT}), ("small", {"window": 8_000})):
            with chat.fork(name, **other) as fork:  # type: ignore[arg-type]
                made = used(fork)
            with fanfold.open(name, store=store) as again:
                assert used(again) == made
    assert made == ("anthropic", CLAUDE, 8_000)


def test_a_fork_with_another_model_speaks_that_model_s_dialect() -> None:
    """(19.10)"""
    with fanfold.open("run", model=CLAUDE) as chat, chat.fork("other", model=GPT) as other:
        assert used(other)[0] == "openai.chat"
    with (
        fanfold.open("run", model=CLAUDE, dialect="openai.chat") as chat,
        chat.fork("o", model=GEMINI) as other,
    ):
        assert used(other)[0] == "openai.chat"


def test_a_session_of_earlier_releases_is_opened_with_what_is_given() -> None:
    """It remembers nothing yet (19.10)."""
    store = Memory()
    opened(store, window=9_000)
    kept = [record for record in store.load("default", "run").records if not isinstance(record, Opened)]
    entries = tuple(store.path("default", next(entries_of(kept[-1]))))
    earlier = Memory()
    earlier.append("default", "run", Batch(tuple(kept), entries), expect=None)
    with pytest.raises(BadInput, match="Say how much fits"):
        reopened(earlier)
    assert reopened(earlier, window=8_000, dialect="gemini") == ("gemini", None, 8_000)
    assert reopened(earlier) == ("gemini", None, 8_000)


def test_an_unknown_model_opens_again_with_its_window(store: SQLite) -> None:
    """(19.10)"""
    opened(store, model="my-model", window=9_000)
    assert reopened(store, model="my-model") == ("openai.chat", "my-model", 9_000)
    with pytest.raises(UnknownModel):
        fanfold.open("new", store=store, model="my-model")


def test_an_opening_that_fails_makes_no_file(tmp_path: Path) -> None:
    """(19.10)"""
    for options in ({}, {"model": "my-model"}, {"window": 9_000, "dialect": "nobody's"}):
        with pytest.raises((BadInput, UnknownModel)):
            fanfold.open("run", store=f"sqlite:{tmp_path / 'new.db'}", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_opens_a_session_as_its_agent_did_and_changes_nothing(
    store: SQLite, capsys: pytest.CaptureFixture[str]
) -> None:
    """(19.10)"""
    opened(store, model=CLAUDE, window=9_000)
    name = f"sqlite:{store.file}"
    assert run(["show", "run", "--store", name]) == 0
    assert "of 8,100 tokens" in capsys.readouterr().out
    assert run(["pin", "run", "Go.", "--store", name, "--model", GPT]) == 0
    assert run(["fork", "run", "copy", "--store", name]) == 0
    assert reopened(store) == ("anthropic", CLAUDE, 9_000)
    with fanfold.open("copy", store=store) as chat:
        assert used(chat) == ("anthropic", CLAUDE, 9_000)


REPLIES: dict[str, dict[str, Any]] = {
    "openai.chat": {"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]},
    "openai.responses": {
        "object": "response",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}],
    },
    "anthropic": {
        "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn",
    },
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]},
}  # fmt: skip
EVENTS: dict[str, dict[str, Any]] = {
    **REPLIES,
    "openai.responses": {"type": "response.created", "response": {"id": "r"}},
    "anthropic": {"type": "message_start", "message": {"role": "assistant", "content": []}},
}


@pytest.mark.parametrize("spoken", DIALECTS)
@pytest.mark.parametrize("came", DIALECTS)
def test_a_reply_of_another_dialect_is_named(spoken: str, came: str) -> None:
    """(19.10)"""
    with fanfold.open(window=9_000, dialect=spoken) as chat:
        chat.say("Go.")
        if came == spoken:
            assert chat.receive(REPLIES[came]).text == "Hi."
            return
        with pytest.raises(
            BadMessage, match=f"in the dialect {came}, .* speaks {spoken}. Open it with dialect='{came}'"
        ):
            chat.receive(REPLIES[came])
        with pytest.raises(BadMessage, match=f"in the dialect {came}"), chat.listen([EVENTS[came]]) as events:
            list(events)
        assert len(chat.view().messages) == 1


@pytest.mark.parametrize("spoken", DIALECTS)
@pytest.mark.parametrize("came", DIALECTS)
def test_a_reply_of_another_dialect_is_named_by_an_async_session_with_tools(spoken: str, came: str) -> None:
    """(19.10) With recall on, it reads the reply before it records it, and said only "has no `choices`"."""

    async def received() -> str:
        tools = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
        async with fanfold.aopen(window=9_000, dialect=spoken, tools=tools) as chat:
            await chat.say("Go.")
            return (await chat.receive(REPLIES[came])).text

    if came == spoken:
        assert asyncio.run(received()) == "Hi."
        return
    with pytest.raises(
        BadMessage, match=f"in the dialect {came}, .* speaks {spoken}. Open it with dialect='{came}'"
    ):
        asyncio.run(received())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_no_reply_at_all_is_said_as_before(dialect: str) -> None:
    """(19.10)"""
    with (
        fanfold.open(window=9_000, dialect=dialect) as chat,
        pytest.raises(BadMessage, match="response"),
    ):
        chat.receive({"id": "x"})


openings = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "model": st.sampled_from([GPT, CLAUDE, GEMINI, "anthropic/claude-opus-4.5"]),
            "dialect": st.sampled_from(list(DIALECTS)),
            "window": st.sampled_from([9_000, 50_000]),
        },
    ),
    max_size=6,
)


@given(openings, st.booleans())
def test_given_wins_over_remembered_and_remembered_over_inferred(
    later: list[dict[str, Any]], speaking: bool
) -> None:
    """(19.10)"""
    store, said, told = Memory(), {"model": GPT, "window": 9_000}, ""
    opened(store, **said)
    for options in later:
        said |= options
        told = options.get("dialect", told)
        found = (opened if speaking else reopened)(store, **options)
        assert found == (told or dialect_for(str(said["model"])), said["model"], said["window"])
        assert reopened(store) == found


def test_a_view_has_as_many_tokens_when_the_session_is_opened_again(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'agent.db'}"
    with fanfold.open("run", model="gpt-4o", store=store) as chat:
        for number in range(3):
            chat.say(f"Question {number}: " + "word " * 50)
            sent = chat.request(max_tokens=100).sent
            chat.receive(response(replied("An answer."), prompt=sent.tokens + 61, output=30))
        chat.say("And now?")
        tokens = chat.view().tokens
    with fanfold.open("run", model="gpt-4o", store=store) as chat:
        assert chat.view().tokens == tokens
