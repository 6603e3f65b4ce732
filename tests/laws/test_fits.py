"""fits: a request and its reply are within the model's limits, in tokens and in bytes; or DoesNotFit."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import Budget, DoesNotFit
from fanfold.testing import called, replied, response, returned, said, talk
from fanfold.testing.generators import broken_conversations, conversations
from laws import holds
from laws.hostile import HOSTILE
from laws.world import World

WINDOWS = st.integers(120, 3_000)


@given(conversations(most=2_000), WINDOWS, st.sampled_from((None, *HOSTILE)))
def test_whatever_was_said_the_request_fits(bodies: list[Any], window: int, strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=window))
    world.merge(bodies)
    world.request()


@given(broken_conversations(), WINDOWS, st.integers(10, 60))
def test_a_mended_request_fits_too(bodies: list[Any], window: int, max_tokens: int) -> None:
    world = World(budget=Budget(window=window))
    world.merge(bodies)
    world.request(max_tokens=max_tokens, context="It rains.")


@given(conversations(most=2_000), st.integers(600, 20_000))
def test_the_bytes_fit_as_well(bodies: list[Any], most: int) -> None:
    world = World(budget=Budget(window=100_000, max_bytes=most))
    world.merge(bodies)
    world.request(context="Every byte counts.")


@given(conversations(most=100), st.lists(st.floats(0.6, 3.0), min_size=1, max_size=4))
def test_it_fits_by_what_the_bills_taught(bodies: list[Any], factors: list[float]) -> None:
    world = World(budget=Budget(window=1_200))
    world.merge(bodies)
    for number, factor in enumerate(factors):
        if world.request() is None:
            return
        prompt = int(world.log.sent[-1].tokens * factor) + 1
        world.do("receive", response(replied("word " * 30), prompt=prompt))
        world.do("say", f"And {number}?")


def test_it_says_by_how_much_and_what_holds_the_room() -> None:
    with fanfold.open("run", window=300) as chat:
        chat.pin(chat.say("word " * 500).id)
        with pytest.raises(DoesNotFit, match=r"50\d tokens, 270 fit beside a reply of 30: .* pinned"):
            chat.request()


def test_what_a_person_undid_is_named_when_it_does_not_fit() -> None:
    with fanfold.open("run", window=1_000) as chat:
        chat.merge(talk(6, 2))
        chat.request()
        chat.undo()
        with pytest.raises(DoesNotFit, match=r"brought back by undo.*Release e2"):
            chat.request()
        chat.release("e1")
        holds.it_fits(chat, chat.request(), None)


@pytest.mark.parametrize("strategy", HOSTILE, ids=lambda strategy: strategy.__name__)
def test_no_strategy_keeps_a_request_waiting(strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=1_500))
    world.merge(talk(8, 2))
    start = time.process_time()
    assert world.request() is not None
    assert time.process_time() - start < 5


def test_one_output_larger_than_the_window_is_clipped() -> None:
    with fanfold.open("run", window=500) as chat:
        chat.merge([said("Go."), replied(None, called("c1")), returned("c1", "words " * 9_000)])
        holds.it_fits(chat, chat.request(), None)


def test_what_is_sent_as_a_note_is_counted_as_one() -> None:
    chat = fanfold.open("run", window=9_000)
    chat.add({"role": "user", "content": [{"type": "smell"}] * 120})
    note = chat.request()["messages"][0]["content"]
    assert chat.view().tokens >= fanfold.meter.named("o200k").text(note)


def test_a_refusal_is_counted_and_can_go() -> None:
    chat = fanfold.open("run", window=1_000)
    chat.say("Go.")
    chat.add({"role": "assistant", "content": None, "refusal": "I cannot do that. " * 2_000})
    assert chat.view().tokens > 10_000
    chat.say("Why?")
    assert len(json.dumps(chat.request())) < 3_600


@pytest.mark.parametrize("name", ["functions", "response_format", "text", "output_config"])
def test_parameters_that_a_model_reads_take_their_room(name: str) -> None:
    chat = fanfold.open("run", window=1_000, strategy="window")
    chat.merge(talk(20))
    full = len(chat.request()["messages"])
    schema = {"description": "word " * 600}
    assert len(chat.request(**{name: [schema] if name == "functions" else schema})["messages"]) < full
    with pytest.raises(DoesNotFit):
        chat.request(**{name: {"description": "word " * 5_000}})


def test_every_parameter_counts_in_bytes() -> None:
    chat = fanfold.open("run", budget=Budget(window=100_000, max_bytes=2_000))
    chat.say("Go.")
    with pytest.raises(DoesNotFit, match=r"The request has 5,\d+ bytes, 2,000 fit"):
        chat.request(metadata={"note": "x" * 5_000})


@pytest.mark.parametrize("limit", [500.0, float("nan"), "500", []])
def test_a_limit_of_the_reply_that_is_no_number_is_refused_under_any_name(limit: Any) -> None:
    chat = fanfold.open("run", window=1_000)
    chat.say("Go.")
    with pytest.raises(fanfold.BadBudget, match="reserve is"):
        chat.request(max_completion_tokens=limit)


def test_of_two_limits_of_the_reply_the_larger_is_kept_free() -> None:
    chat = fanfold.open("run", window=1_000)
    chat.merge(talk(60))
    chat.request(max_tokens=10, max_completion_tokens=900)
    assert chat.view().tokens <= 100
