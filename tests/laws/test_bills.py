"""fits, whatever is billed: bills correct estimates within bounds, and never break the window or stop the agent."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from fanfold import DoesNotFit, Session
from fanfold.config.events import Disputed, Event, Hooks
from fanfold.core.budget import BOUNDS
from fanfold.dialects.dialect import decode
from fanfold.session.bill import is_believable
from fanfold.testing import replied, response
from laws import holds

WINDOW, REPLY = 1_500, 150
MODELS = ("gpt-4o", "gemini-2.5-pro", "claude-sonnet-4-5", None)
"""Two with a public tokenizer, one without, and one that nobody knows; all are spoken to in the same dialect here."""
ODD = st.sampled_from((-1_000.0, -1.0, 0.0, 0.001, 0.1, 0.3, 3.0, 9.0, 200.0, 1e6))
ANY = st.one_of(ODD, st.floats(0.4, 3.0), st.floats(0.9, 1.1))
TURNS = st.lists(st.tuples(st.integers(1, 2_500), ANY, st.integers(0, 10_000)), min_size=1, max_size=6)


def opened(model: str | None, told: list[Event] | None = None) -> Session:
    hooks = Hooks(on_event=told.append) if told is not None else Hooks()
    return fanfold.open(
        "run", dialect="openai.chat", model=model, window=WINDOW, filters=(), hooks=hooks, system="Be brief."
    )


def counted(chat: Session, request: dict[str, Any]) -> int:
    """A request by the meter itself, from the wire, whatever bills taught."""
    meter = chat._state.terms.meter
    frame, messages, _ = decode(chat._state.dialect, request)
    return meter.overhead + meter.frame(frame) + sum(map(meter.message, messages))


def sent(chat: Session, words: int) -> dict[str, Any] | None:
    chat.say("ab " * words)
    with suppress(DoesNotFit):
        return chat.request(max_tokens=REPLY)
    return None


def answered(chat: Session, factor: float | None, output: int = 2) -> int | None:
    """A reply, and a bill of so many times what was counted."""
    prompt = None if factor is None else round(factor * chat.sent()[0].tokens)
    chat.receive(response(replied("Yes."), prompt=prompt, output=output))
    return prompt


@pytest.mark.parametrize("model", MODELS)
@given(turns=TURNS)
def test_whatever_is_billed_no_request_exceeds_the_window(
    model: str | None, turns: list[tuple[int, float, int]]
) -> None:
    """(19.8) By an exact meter itself; without one, by the estimate as far as it can be corrected."""
    chat = opened(model)
    for words, factor, output in turns:
        request = sent(chat, words)
        if request is None:
            continue
        tokens = counted(chat, request)
        least = tokens if chat._state.gauge.exact else BOUNDS[0] * tokens
        assert least + REPLY <= WINDOW
        holds.it_fits(chat, request, REPLY)
        answered(chat, factor, output)
        everything_is_in_one_unit(chat)


def everything_is_in_one_unit(chat: Session) -> None:
    """(19.8) What is shown beside the window is in the window's tokens, wherever one looks."""
    pressure, view = chat.pressure(), chat.view()
    assert (
        (view.tokens, view.room) == (pressure.tokens, pressure.room) == (view.tokens, WINDOW - WINDOW // 10)
    )
    assert chat.stats()["tokens"] == view.tokens
    assert f"{pressure.tokens:,} of {pressure.room:,} tokens" in str(view)
    assert view.overhead + view.frame.tokens + sum(row.tokens for row in view.rows) == view.tokens


@pytest.mark.parametrize("model", MODELS)
@given(turns=st.lists(st.tuples(st.integers(1, 2_500), ODD), min_size=1, max_size=6))
def test_what_cannot_be_true_changes_nothing_and_is_told(
    model: str | None, turns: list[tuple[int, float]]
) -> None:
    """(19.8) The same requests as without a bill, and DoesNotFit no sooner."""
    told: list[Event] = []
    chat, twin, odd = opened(model, told), opened(model), 0
    for words, factor in turns:
        request = sent(chat, words)
        assert request == sent(twin, words)
        if request is not None:
            last = chat.sent()[0]
            if is_believable(chat._state, last, round(factor * last.tokens)):
                return  # a frame that is guessed may well cost three times as much
            answered(chat, factor)
            answered(twin, None)
            odd += 1
    assert sum(isinstance(event, Disputed) for event in told) == odd
