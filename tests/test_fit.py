"""Fit: a list or a request in, the same shape out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold
from builders import asks, calls, gives, long, says
from fanfold import BadInput, Budget, DoesNotFit, Drop, View, drop_oldest, fit
from fanfold.core.plan import Plan
from fanfold.dialects.detect import dialect_of
from fanfold.testing.generators import conversations

METER = "characters/4"


def talk(count: int) -> list[dict[str, Any]]:
    """Requests and replies of ten tokens each, and a last request."""
    return [body(long(f"{n}", 10)) for n in range(count) for body in (asks, says)] + [asks("last")]


def test_a_list_that_fits_comes_back_as_it_is() -> None:
    assert fit(talk(3), window=1_000, meter=METER) == talk(3)


@pytest.mark.parametrize("wrong", ["x", None, {"role": "user", "content": "x"}])
def test_a_request_whose_messages_are_no_list_is_told_so(wrong: object) -> None:
    with pytest.raises(BadInput, match=r"`messages` is a list of messages, not (str|None|dict)\."):
        fit({"model": "gpt-5.2", "messages": wrong})


def test_a_long_list_becomes_one_that_fits() -> None:
    short = fit(talk(100), window=1_000, meter=METER)
    assert sum(len(body["content"]) for body in short) <= 4 * 900
    assert short[-1] == asks("last")


def test_the_list_that_was_handed_in_is_not_changed() -> None:
    messages = talk(100)
    fit(messages, window=1_000, meter=METER)
    assert messages == talk(100)


def test_the_first_request_stays() -> None:
    assert fit(talk(100), window=1_000, meter=METER)[0] == talk(1)[0]


def test_what_is_left_out_is_told() -> None:
    short = fit(talk(100), window=1_000, meter=METER)
    left = len(talk(100)) - len(short) + 1
    assert short[1]["content"].startswith(f"[summary of {left} messages; ")


def test_a_sliding_window_tells_how_much_it_left_out() -> None:
    short = fit(talk(100), window=1_000, meter=METER, strategy=drop_oldest())
    left = len(talk(100)) - len(short) + 1
    assert short[1] == asks(f"[{left} earlier messages were left out here to fit the context window]")


def test_what_just_fits_comes_back_as_it_is() -> None:
    talk = [asks(long("one", 60)), says(long("two", 60)), asks("three")]
    taken = fanfold.session.fit.fitted(talk, window=10_000).before
    assert fit(talk, window=taken, reserve=0) == talk
    assert fit(talk, window=taken - 1, reserve=0) != talk


def test_fitting_twice_changes_nothing_the_second_time() -> None:
    short = fit(talk(100), window=1_000, meter=METER)
    assert fit(short, window=1_000, meter=METER) == short


@given(conversations(most=600), st.integers(200, 900))
def test_fitting_whatever_fits_already_changes_nothing(bodies: list[Any], window: int) -> None:
    try:
        short = fit(bodies, dialect="openai.chat", window=window)
    except DoesNotFit:
        return
    assert fit(short, dialect="openai.chat", window=window) == short


def test_the_system_prompt_stays_where_it_is() -> None:
    system = {"role": "system", "content": long("Rules.", 50)}
    short = fit([system, *talk(100)], window=1_000, meter=METER)
    assert short[0] == system
    assert sum(len(body["content"]) for body in short) <= 4 * 900


def test_a_request_comes_back_as_a_request() -> None:
    request = {"model": "gpt-4o", "messages": talk(100), "temperature": 0.5, "max_tokens": 400, "tools": []}
    short = fit(request, window=1_000, meter=METER)
    assert {**short, "messages": 0} == {**request, "messages": 0}
    assert sum(len(body["content"]) for body in short["messages"]) <= 4 * 600


def test_tools_take_their_room() -> None:
    tool = {"type": "function", "function": {"name": "run", "description": "x" * 2_000}}
    request = {"messages": talk(100), "tools": [tool]}
    assert len(fit(request, window=1_000, meter=METER)["messages"]) < len(
        fit(talk(100), window=1_000, meter=METER)
    )


def test_a_call_never_loses_its_result() -> None:
    steps = [body for n in range(60) for body in (calls(f"c{n}"), gives(f"c{n}", long("out", 20)))]
    short = fit([asks("go"), *steps], window=1_000, meter=METER)
    called = [call["id"] for body in short for call in body.get("tool_calls", ())]
    answered = [body["tool_call_id"] for body in short if body["role"] == "tool"]
    assert called == answered
    assert called[-1] == "c59"


def test_one_huge_message_is_clipped() -> None:
    (short,) = fit([asks("word " * 4_000)], window=1_000, meter=METER)
    assert len(short["content"]) <= 4 * 900
    assert "characters cut to fit the context window …]" in short["content"]  # nobody could look it up


def test_many_small_messages_that_no_reply_follows_fit_too() -> None:
    short = fit([asks(f"question {n}") for n in range(2_000)], window=1_000, meter=METER)
    assert short[-1] == asks("question 1999")
    assert sum(len(body["content"]) for body in short) <= 4 * 900


def test_a_system_prompt_that_fills_the_window_does_not_fit() -> None:
    with pytest.raises(DoesNotFit, match="900 fit beside a reply of 100"):
        fit([{"role": "system", "content": "x" * 8_000}, asks("hello")], window=1_000, meter=METER)


def test_a_system_prompt_alone_fits_or_does_not() -> None:
    short, long = ([{"role": "system", "content": "x" * size}] for size in (400, 8_000))
    assert fit(short, window=1_000, meter=METER) == short
    with pytest.raises(DoesNotFit, match=r"take 2,\d+ tokens, 900 fit"):
        fit(long, window=1_000, meter=METER)


def test_a_strategy_of_one_s_own_is_used() -> None:
    def all_but_two(view: View, budget: Budget) -> Plan:
        yield Drop(tuple(row.id for block in view.offered for row in block.rows))

    assert len(fit(talk(100), window=1_000, meter=METER, strategy=all_but_two)) == 2


def test_an_empty_list_is_a_list() -> None:
    assert fit([], window=1_000) == []


def test_neither_window_nor_model_is_an_error_that_says_so() -> None:
    with pytest.raises(BadInput, match="give `model=` or `window=`"):
        fit(talk(1))


@pytest.mark.parametrize("wrong", ["text", 7, None, [7], [{"content": "no role"}], {"no": "messages"}])
def test_what_is_no_conversation_is_refused(wrong: Any) -> None:
    with pytest.raises(BadInput):
        fit(wrong, window=1_000)


def test_with_a_store_what_was_shortened_is_found_again(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'agent.db'}"
    output = "\n".join(f"line {n} of the log" for n in range(6_000))
    messages = [asks("Read it."), calls("c1"), gives("c1", output), says("Long."), asks("And now?")]
    short = fit(messages, window=60_000, store=store, name="run")
    assert len(short[2]["content"]) < len(output)
    assert "ref=o1" in short[2]["content"]
    assert fit(short, window=60_000, store=store, name="run") == short
    with fanfold.open("run", window=60_000, store=store) as chat:
        assert chat.output("o1").lines(6_000) == ["line 5999 of the log"]


def test_nothing_is_reserved_where_nothing_is_to_be_reserved() -> None:
    assert fit(talk(40), window=1_000, reserve=0, meter=METER) == talk(40)


@pytest.mark.parametrize("dialect", ["openai.responses", "anthropic", "gemini"])
def test_what_fits_can_be_had_in_another_dialect(dialect: str) -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    request = {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be brief."},
            *talk(90),
            calls("c1"),
            gives("c1", "found"),
        ],
        "tools": [tool],
    }
    short = fit(request, window=1_500, to=dialect)
    assert dialect_of(short) == dialect
    assert all(word in json.dumps(short) for word in ("Be brief.", "found", "read"))
    assert isinstance(fit(request["messages"], window=1_500, to=dialect), list)
    again = fit(short, window=1_500, to="openai.chat")
    assert [body["role"] for body in again["messages"]][-2:] == ["assistant", "tool"]


def test_an_input_that_is_one_text_stays_one() -> None:
    assert fanfold.fit({"input": "Hi."}, window=9_000) == {"input": "Hi."}


def test_an_input_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="`input` is a text or a list of items"):
        fanfold.fit({"input": 5}, window=9_000)


def test_a_list_alone_keeps_its_thinking_and_a_request_without_thinking_has_none() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    use = {"type": "tool_use", "id": "c1", "name": "run", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "out"}
    talk = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Gone."}]},
        {"role": "user", "content": "Again."},
        {"role": "assistant", "content": [thought, use]},
        {"role": "user", "content": [result]},
    ]
    assert fanfold.fit(talk, window=9_000) == talk
    request = {"messages": talk, "max_tokens": 900}
    assert '"thinking"' not in json.dumps(fanfold.fit(request, window=9_000, dialect="anthropic"))


@pytest.mark.parametrize("window", [60, 100, 300])
def test_of_the_only_question_a_beginning_and_an_end_stay(window: int) -> None:
    asked = "Why does the parser fail? " + "word " * 5_000 + "Answer in one line."
    (kept,) = fanfold.fit([{"role": "user", "content": asked}], window=window)
    begin, _, end = kept["content"].partition("\n[… ")
    assert begin.startswith("Why does the parser fail?")
    assert end.endswith("in one line.")


def test_a_window_in_which_nothing_of_the_question_would_be_left_does_not_fit() -> None:
    with pytest.raises(DoesNotFit, match="or raise the window"):
        fanfold.fit([{"role": "user", "content": "word " * 5_000}], window=25)
