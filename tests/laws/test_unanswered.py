"""fits, fresh: calls that nobody answered, and long words behind them, in every dialect."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Call, Message, Result, Session, Text
from laws import holds

DIALECTS = ("openai.chat", "openai.responses", "anthropic", "gemini")
LONG = "word " * 6_000


def _opened(dialect: str, *, window: int = 4_000) -> Session:
    return fanfold.open("run", dialect=dialect, window=window, filters=())


def _called(*ids: str) -> Message:
    return Message("assistant", tuple(Call(id, "run", "{}") for id in ids))


def _answered(*results: tuple[str, str]) -> Message:
    return Message("tool", tuple(Result(id, (Text(text),)) for id, text in results))


def _shown(chat: Session) -> str:
    request = chat.request()
    holds.it_fits(chat, request, None)
    return json.dumps(request)


def _missing(marks: list[str], shown: str) -> list[str]:
    """What is not shown, but for as many as a note says were cut to nothing."""
    return [mark for mark in marks if mark not in shown][shown.count("characters cut") :]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_text_after_an_unanswered_call_is_clipped(dialect: str) -> None:
    """(19.7)"""
    chat = _opened(dialect)
    chat.say("Go.")
    chat.add(_called("c1"))
    chat.say(f"first {LONG} last")
    shown = _shown(chat)
    assert "first word" in shown
    assert "word  last" in shown
    assert chat.view().tokens > 0.85 * chat.pressure().room


@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_is_still_there_when_the_next_message_comes_before_a_reply(dialect: str) -> None:
    """(19.7)"""
    chat = _opened(dialect)
    chat.say("Go.")
    chat.add(_called("c1"))
    chat.say(f"first {LONG} last")
    before = _shown(chat)
    chat.say("And now?")
    assert "first word" in before
    assert "first word" in _shown(chat)


def test_a_message_behind_an_unanswered_call_is_sent_as_it_came_in_anthropics_dialect() -> None:
    """(19.7)"""
    said = {"role": "user", "content": [{"type": "text", "text": "Never mind."}]}
    chat = _opened("anthropic")
    use = {"type": "tool_use", "id": "c1", "name": "run", "input": {}}
    chat.merge([{"role": "user", "content": "Go."}, {"role": "assistant", "content": [use]}, said])
    messages = chat.request()["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert messages[2]["content"][0]["tool_use_id"] == "c1"
    assert messages[3]["content"][0]["text"] == "Never mind."
    assert chat.view().rows[-1].kind == "entry"


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
def test_whatever_was_answered_the_rest_is_clipped_and_not_dropped(dialect: str, data: Any) -> None:
    """(19.7) Some calls, some of them answered, some words, at some length: each is sent, or a note where it is cut."""
    sizes = st.sampled_from((1, 40, 900, 6_000))
    ids = [f"c{number}" for number in range(data.draw(st.integers(1, 3)))]
    results = [(id, f"from-{id} " + "word " * data.draw(sizes)) for id in ids if data.draw(st.booleans())]
    words = [f"said-{n} " + "word " * data.draw(sizes) for n in range(data.draw(st.integers(0, 2)))]
    chat = _opened(dialect)
    chat.say("Go.")
    chat.add(_called(*ids))
    together = data.draw(st.booleans())
    for group in [results] if together and results else [[one] for one in results]:
        chat.add(_answered(*group))
    for said in words:
        chat.say(said)
    marks = [text.split()[0] for text in (*(text for _, text in results), *words)]
    assert _missing(marks, _shown(chat)) == []
    chat.say("And now?")
    assert _missing(marks, _shown(chat)) == []
