"""fits: a request and its reply are within the model's limits, in tokens and in bytes; or DoesNotFit."""

import json
import time
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import BadMessage, Budget, DoesNotFit, Message, Result, Text
from fanfold.core.message import assistant
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.testing import called, replied, response, returned, said, talk
from fanfold.testing.generators import broken_conversations, conversations, results
from laws import holds
from laws.hostile import HOSTILE
from laws.world import World

WINDOWS = st.integers(120, 3_000)
TIGHT = (
    Budget(window=500, trigger=1.0),
    Budget(window=1_500, trigger=1.0, target=0.9),
    Budget(window=100_000, max_bytes=1_500),
    Budget(window=100_000, max_bytes=4_000),
)


@given(conversations(most=2_000), WINDOWS, st.sampled_from((None, *HOSTILE)))
def test_whatever_was_said_the_request_fits(bodies: list[Any], window: int, strategy: Any) -> None:
    world = World(strategy, budget=Budget(window=window))
    world.merge(bodies)
    world.request()


@given(broken_conversations(), WINDOWS, st.integers(10, 60))
def test_a_repaired_request_fits_too(bodies: list[Any], window: int, max_tokens: int) -> None:
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


KINDS = (
    ("openai.chat", "gpt-4o"),
    ("openai.chat", "deepseek-chat"),
    ("openai.responses", "gpt-5.2"),
    ("anthropic", "claude-opus-4-8"),
    ("gemini", "gemini-3-pro-preview"),
)
"""Models whose requests carry more than rows: keys and marks for the cache, signatures, reasoning put in."""


@pytest.mark.parametrize(("dialect", "model"), KINDS)
@given(data=st.data(), bodies=conversations(turns=2), budget=st.sampled_from(TIGHT))
def test_it_fits_whole_in_every_dialect(
    dialect: str, model: str, data: Any, bodies: list[Any], budget: Budget
) -> None:
    chat = fanfold.open("run", dialect=dialect, model=model, system="Mend it.", budget=budget)
    for number in range(3):
        ids = (f"d{number}-1", f"d{number}-2")
        told = [*bodies[number::3], said(f"Number {number}."), replied(None, *map(called, ids))]
        for message in (*map(OpenAIChat().message, told), *data.draw(results(ids, most=100))):
            with suppress(BadMessage):  # a result whose call is in another third
                chat.add(message)
        with suppress(DoesNotFit):
            request = chat.request(context=data.draw(st.sampled_from((None, "It rains."))))
            holds.it_fits(chat, request, None)


@pytest.mark.parametrize(("dialect", "model"), KINDS)
def test_no_byte_is_sent_beside_those_that_fit(dialect: str, model: str) -> None:
    most, sizes = 1_500, []
    for length in range(800, 1_400, 40):
        chat = fanfold.open(
            "run", dialect=dialect, model=model, budget=Budget(window=100_000, max_bytes=most)
        )
        chat.say("x" * length)
        with suppress(DoesNotFit):
            for word in "abcdef":
                sizes.append(len(msgspec.json.encode(chat.request(max_tokens=50))))
                chat.add(assistant(word))
                chat.say(word)
    assert most - 60 < max(sizes) <= most


def test_several_results_in_one_message_count_as_they_are_sent() -> None:
    def told(*messages: Message) -> fanfold.Session:
        chat = fanfold.open("run", window=9_000)
        chat.merge([said("Go."), replied(None, called("x"), called("y"))])
        for message in messages:
            chat.add(message)
        return chat

    x, y = Result("x", (Text("ok"),)), Result("y", (Text("ok"), Text("and more")))
    apart, together = told(Message("tool", (x,)), Message("tool", (y,))), told(Message("tool", (x, y)))
    assert apart.request() == together.request()
    assert apart.view().tokens == together.view().tokens


def test_what_is_said_in_pieces_counts_as_the_whole_that_is_sent() -> None:
    chat = fanfold.open("run", window=9_000)
    chat.say(*["ok"] * 200)
    sent = chat.request()["messages"][0]["content"]
    assert chat.view().tokens >= fanfold.meter.named("o200k").text(sent)


def test_a_fork_in_another_dialect_keeps_the_bytes_that_the_caller_set() -> None:
    with fanfold.open("run", budget=Budget(window=9_000, max_bytes=2_000)) as chat:
        assert chat.fork("there", dialect="anthropic").pressure().max_bytes == 2_000
    with fanfold.open("run", window=9_000) as chat:
        assert chat.fork("there", dialect="anthropic").pressure().max_bytes == 32_000_000


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
    chat = fanfold.open("run", window=1_000, strategy="drop_oldest")
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
