"""OpenStarry's presets: the documented figures, and what is corrected, in real sessions."""

from __future__ import annotations

import pytest
from talking import talk

import fanfold
from builders import texts
from fanfold import presets, strategies
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
    with fanfold.open("run", preset=preset, window=100_000, ask=model) as chat:
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
    with fanfold.open("run", preset=preset, window=4_000, ask=model) as chat:
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
