"""F31: a bill that is too low, too high or absurd breaks the window or stops the agent."""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import pytest

import fanfold
from fanfold.config.events import Disputed, Event, Hooks
from fanfold.testing import replied, response, said

from .naive import Body, chatter, tokens

WINDOW, REPLY = 8_000, 800
KINDS = ("gpt-4o", "claude-sonnet-4-5", None)
"""A model with a public tokenizer, one without, and one that nobody knows."""


def talk(model: str | None, factor: float | None, turns: int = 60, **more: Any) -> list[Body]:
    """The requests of a talk whose provider bills so many times what was counted."""
    requests: list[Body] = []
    with fanfold.open("run", dialect="openai.chat", model=model, window=WINDOW, filters=(), **more) as chat:
        for turn in range(turns):
            chat.say(f"Question {turn}: " + f"what about point {turn} of the plan? " * 20)
            request = chat.request(max_tokens=REPLY)
            bill = None if factor is None else round(factor * request.sent.tokens)
            chat.receive(response(replied(f"Answer {turn}: noted."), prompt=bill, output=6))
            requests.append(request)
    return requests


@cache
def talk_without_bills(model: str | None) -> list[Body]:
    return talk(model, None)


def counted(request: Body, model: str | None) -> int:
    """What a request costs by the meter itself, without anything that bills taught."""
    with fanfold.open("count", dialect="openai.chat", model=model, window=10**9) as chat:
        chat.merge(request["messages"])
        return chat.view().tokens


def test_the_naive_manager_believes_a_bill_and_sends_ten_times_the_window() -> None:
    history, scale = chatter(400), 1.0
    scale = 0.1  # as the first bill says
    while tokens(history) * scale > WINDOW:
        del history[0]
    assert tokens(history) > WINDOW


@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("factor", [0.0, 0.001, 0.1, 0.4, 2.7, 9.0, 10_000.0])
def test_what_cannot_be_true_changes_no_request(model: str | None, factor: float) -> None:
    """(19.8) Low bills of a tenth sent 11,887 tokens in a window of 8,000, an absurd one raised DoesNotFit."""
    assert talk(model, factor) == talk_without_bills(model)


@pytest.mark.parametrize("factor", [0.7, 0.75, 0.8, 1.2, 2.0])
def test_a_bill_far_from_an_exact_count_is_not_believed(factor: float) -> None:
    """(19.8) A first bill at 70 to 80 % of an exact count rescaled all text."""
    assert talk("gpt-4o", factor) == talk_without_bills("gpt-4o")


@pytest.mark.parametrize("model", KINDS)
def test_one_absurd_bill_among_true_ones_is_passed_over(model: str | None) -> None:
    """(19.8) 199,000 tokens were billed for 22,000."""
    with fanfold.open("run", dialect="openai.chat", model=model, window=128_000, filters=()) as chat:
        chat.say("one two three " * 7_000)
        true = chat.request(max_tokens=REPLY) and chat.sent()[0].tokens
        chat.receive(response(replied("Yes."), prompt=199_000, output=2))
        assert chat.pressure().tokens < true + 20
        chat.say("And?")
        assert chat.request(max_tokens=REPLY)


@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("bill", [1, 5, 9, 12])
def test_after_a_tiny_low_bill_a_huge_text_is_clipped(model: str | None, bill: int) -> None:
    """(19.8) It raised DoesNotFit instead: the reduction had another window in mind than the request."""
    with fanfold.open("run", dialect="openai.chat", model=model, window=WINDOW, filters=()) as chat:
        chat.say("Hello there, who are you?")
        chat.request(max_tokens=REPLY)
        chat.receive(response(replied("A model."), prompt=bill, output=3))
        chat.say("word " * 9_000)
        assert counted(chat.request(max_tokens=REPLY), model) <= WINDOW - REPLY


@pytest.mark.parametrize("factor", [0.55, 0.8, 1.3, 2.2])
def test_without_a_public_tokenizer_the_estimate_is_corrected(factor: float) -> None:
    requests = talk("claude-sonnet-4-5", factor, 90, strategy="drop_oldest")
    most = max(factor * counted(request, "claude-sonnet-4-5") for request in requests)
    assert 0.6 * (WINDOW - REPLY) < most <= WINDOW - REPLY + 20 * factor


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_an_exact_count_is_corrected_by_a_few_per_cent_and_never_exceeds_the_window(factor: float) -> None:
    requests = talk("gpt-4o", factor)
    assert max(max(1, factor) * counted(request, "gpt-4o") for request in requests) <= WINDOW - REPLY + 20


@pytest.mark.parametrize("bill", [0, -7, 1, 199_000, 10**30])
def test_who_watches_is_told_by_an_event_and_by_the_log(bill: int, caplog: pytest.LogCaptureFixture) -> None:
    """(19.8) What is outside the bounds is told, and not believed."""
    told: list[Event] = []
    with fanfold.open("run", window=WINDOW, hooks=Hooks(on_event=told.append)) as chat:
        chat.say("word " * 300)
        chat.request()
        before = chat.pressure().tokens
        with caplog.at_level(logging.WARNING, logger="fanfold"):
            reply = chat.receive(response(replied("Yes."), prompt=bill, output=1))
        assert reply.text == "Yes."
        (event,) = told
        assert isinstance(event, Disputed)
        assert (event.counted, event.billed) == (before, bill if 0 < bill < 10**10 else 0)
        assert not event.least <= event.billed <= event.most
        (record,) = caplog.records
        assert (record.name, record.levelname) == ("fanfold", "WARNING")
        assert record.getMessage().startswith("session 'run': the provider billed ")
        assert "word" not in record.getMessage()


def test_a_true_bill_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Event] = []
    with fanfold.open("run", window=WINDOW, hooks=Hooks(on_event=told.append)) as chat:
        chat.say("word " * 300)
        chat.request()
        chat.receive(response(replied("Yes."), prompt=310, output=2))
    assert told == []
    assert caplog.records == []


def test_the_log_warns_once_of_a_provider_that_always_bills_so(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Event] = []
    talk(None, 0.0, 5, hooks=Hooks(on_event=told.append))
    assert len(told) == 5
    assert len(caplog.records) == 1


def test_the_log_warns_again_after_a_bill_that_is_believed(caplog: pytest.LogCaptureFixture) -> None:
    warnings: list[int] = []
    with fanfold.open("run", window=WINDOW, filters=()) as chat:
        for factor in (0.0, 9.0, 1.0, 0.0, 9.0):
            chat.say("word " * 300)
            tokens = chat.request(max_tokens=REPLY).sent.tokens
            chat.receive(response(replied("Yes."), prompt=round(factor * tokens), output=1))
            warnings.append(len(caplog.records))
    assert warnings == [1, 1, 1, 2, 2]


def test_pictures_may_cost_what_they_like_beside_an_exact_count() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    told: list[Event] = []
    with fanfold.open("run", model="gpt-4o", window=32_000, hooks=Hooks(on_event=told.append)) as chat:
        chat.merge([said("Look. " * 40, picture)])
        chat.request()
        counted = chat.sent()[0].tokens
        chat.receive(response(replied("I see."), prompt=counted + 700, output=3))
        assert told == []
        assert chat.pressure().tokens >= counted + 700


def test_sealed_reasoning_may_be_billed_beside_an_exact_count() -> None:
    """(19.8) Nobody but the provider can count it."""
    told: list[Event] = []
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA" * 1_100}
    hooks = Hooks(on_event=told.append)
    with fanfold.open("run", model="gpt-5.2", dialect="openai.responses", window=32_000, hooks=hooks) as chat:
        chat.merge(
            [{"role": "user", "content": "Think. " * 600}, sealed, {"role": "assistant", "content": "Yes."}]
        )
        chat.say("And?")
        chat.request(store=False)
        counted = chat.sent()[0].tokens
        body = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]}
        usage = {"input_tokens": counted + 900, "output_tokens": 2, "total_tokens": counted + 902}
        chat.receive({"output": [body], "status": "completed", "usage": usage})
        assert told == []
        assert chat.pressure().tokens >= counted + 900
