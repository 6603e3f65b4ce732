"""OpenStarry's presets: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talking import DIALECTS, talk

import fanfold
from builders import texts
from fanfold import presets, strategies
from fanfold.core.message import user
from fanfold.testing import FakeModel, replied


@pytest.mark.requirement("B1", "B3")
def test_the_window_gives_all_that_remains_to_the_newest_history() -> None:
    with fanfold.open(
        "run", preset="openstarry_window", window=2_000, meter="characters/4", system="s" * 400
    ) as chat:
        talk(chat, 30, words=20)
        chat.say("last")
        chat.request(max_tokens=200)
        assert 1_600 < chat.pressure().tokens <= 1_800
        assert texts(chat)[-1] == "last"
        assert "question 0" not in "".join(texts(chat)[1:])


@pytest.mark.requirement("B3")
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("each_turn", [False, True], ids=["one request", "a request each turn"])
def test_the_sliding_window_shows_the_newest_that_fit_in_order_and_nothing_else(
    dialect: str, each_turn: bool
) -> None:
    """(19.22) No digest, no quote of what was asked first: a marker, and the newest messages without a gap."""
    with fanfold.open("run", preset="openstarry_window", window=8_000, dialect=dialect) as chat:
        said = []
        for i in range(100):
            said += [f"question {i} " + "word " * 100, f"answer {i} " + "word " * 100]
            chat.say(said[-2])
            if each_turn:
                chat.request()
            chat.add(fanfold.Message("assistant", (fanfold.Text(said[-1]),)))
        chat.say("last")
        chat.request()
        marker, *newest = texts(chat)
        assert (
            marker == f"[{201 - len(newest)} earlier messages were left out here to fit the context window]"
        )
        assert newest == [*said, "last"][-len(newest) :]
        view = chat.view()
        assert view.tokens <= (view.room or 0) < view.tokens + view.rows[1].tokens, "one more would not fit"
        assert {decision.why for decision in chat._state.log.decisions.values()} == {"drop_oldest"}


@pytest.mark.requirement("B3")
@given(st.lists(st.integers(0, 400), min_size=1, max_size=40), st.integers(0, 3))
def test_whatever_their_sizes_the_newest_messages_that_fit_are_shown(sizes: list[int], pins: int) -> None:
    """(19.22)"""
    with fanfold.open("run", preset="openstarry_window", window=1_000, meter="characters/4") as chat:
        said = [f"{i}: " + "x" * size for i, size in enumerate(sizes)]
        for i, text in enumerate(said):
            chat.say(text) if i % 2 == 0 else chat.add(replied(text))
            if i < pins:
                chat.pin(f"{i}: ")
        chat.say("last")
        chat.request()
        shown = [row for row in chat.view().rows if row.kind == "entry"]
        left_out = len(said) + 1 - len(shown)
        assert [row.messages[0].text for row in shown] == [*said, "last"][left_out:]
        assert chat.view().tokens <= 900
        if left_out:
            weight = chat.view().weigh(user(said[left_out - 1]))
            assert chat.view().tokens + weight > 900, "no room is left unused"


@pytest.mark.requirement("B2", "B4")
def test_where_the_window_is_full_history_gives_way_before_the_running_summary() -> None:
    """(19.22)"""
    preset = presets.openstarry_summary()
    model = FakeModel("the buffer", ConnectionError("down"))
    with fanfold.open("run", preset=preset, window=4_000, summarizer=model) as chat:
        talk(chat, 11, words=10)
        chat.settle()
        talk(chat, 3, words=900)
        chat.say("last")
        chat.request()
        assert "the buffer" in texts(chat)[0]
        assert texts(chat)[-1] == "last"
        assert not any("question 6" in text for text in texts(chat))


@pytest.mark.requirement("B2")
def test_system_prompt_tools_and_context_stay_whole_whatever_gives_way() -> None:
    tool = {"type": "function", "function": {"name": "ls", "description": "d" * 300, "parameters": {}}}
    with fanfold.open(
        "run", preset="openstarry_window", window=2_000, system="the rules", tools=[tool]
    ) as chat:
        talk(chat, 40)
        chat.say("last")
        request = chat.request(max_tokens=200, context="what was found")
        assert request["tools"] == [tool]
        assert request["messages"][0] == {"role": "system", "content": "the rules"}
        assert "what was found" in str(request["messages"][-1])


@pytest.mark.requirement("B4")
def test_after_eleven_turns_the_oldest_five_are_in_the_running_summary() -> None:
    model = FakeModel("buffer one", "buffer two")
    preset = presets.openstarry_summary(model="flash")
    with fanfold.open("run", preset=preset, window=100_000, summarizer=model) as chat:
        talk(chat, 10)
        assert chat.settle() is None
        talk(chat, 1)
        outcome = chat.settle()
        assert outcome is not None
        assert outcome.status == "reduced"
        assert model.asked[0].model == "flash"
        assert "buffer one" in texts(chat)[0]
        assert texts(chat)[1].startswith("question 5")
        talk(chat, 5)
        chat.settle()
        assert any("buffer one" in message.text for message in model.asked[1].messages)


@pytest.mark.requirement("B5")
def test_the_state_is_brought_up_to_date_after_each_input_and_carried_instead_of_the_dialogue() -> None:
    model = FakeModel('{"destination": "Kyoto"}', '{"date": "May 3", "mood": "good"}')
    schema = {"destination": "string", "date": "string"}
    preset = presets.openstarry_state(schema, model="small")
    with fanfold.open("run", preset=preset, window=4_000, summarizer=model) as chat:
        chat.say("I want to go to Kyoto.")
        chat.settle()
        chat.add(replied("When? " + "word " * 900))
        chat.say("On May 3.")
        chat.settle()
        assert strategies.noted(chat.view(), "state") == {"destination": "Kyoto", "date": "May 3"}
        chat.request(max_tokens=100)
        shown = "".join(texts(chat))
        assert '"destination":"Kyoto"' in shown
        assert "word word" not in shown, "the dialogue is gone"
        assert "On May 3." in shown
    assert [question.model for question in model.asked] == ["small", "small"]
