"""OpenStarry's plain functions: the cases are written from its document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanfold import DoesNotFit
from fanfold.systems import compose_payload, estimate_tokens, on_turn_complete
from fanfold.systems.openstarry import CONTEXT, STATE, SUMMARY, update_state

Message = dict[str, Any]


def said(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def talk(turns: int) -> list[Message]:
    return [said(role, f"{role} {i}") for i in range(turns) for role in ("user", "assistant")]


def one_each(value: Any) -> int:
    """Every message and every tool costs one."""
    return len(value) if isinstance(value, list) else 1


def composed(history: list[Message], limit: int, **options: Any) -> list[Message]:
    payload = compose_payload("be kind", history, [{"name": "ls"}], limit=limit, count=one_each, **options)
    assert payload["tools"] == [{"name": "ls"}]
    assert payload["messages"][0] == said("system", "be kind")
    return list(payload["messages"][1:])


@pytest.mark.requirement("B1")
def test_a_payload_is_composed_of_four_things() -> None:
    payload = compose_payload("be kind", talk(1), [{"name": "ls"}], "Tokyo is a city")
    assert payload == {
        "messages": [said("system", "be kind"), said("system", CONTEXT + "Tokyo is a city"), *talk(1)],
        "tools": [{"name": "ls"}],
    }
    assert compose_payload("be kind", [], [])["messages"] == [said("system", "be kind")]


@pytest.mark.requirement("B3")
@pytest.mark.parametrize(("limit", "kept"), [(2, 0), (3, 1), (6, 4), (7, 5), (12, 10), (99, 10)])
def test_history_gets_what_remains_from_the_newest_back(limit: int, kept: int) -> None:
    assert composed(talk(5), limit) == talk(5)[10 - kept :]


@pytest.mark.requirement("B3")
def test_a_message_that_does_not_fit_ends_the_window() -> None:
    history = [said("user", "a"), said("user", "x" * 400), said("user", "b")]
    payload = compose_payload("", history, [], limit=60)
    assert payload["messages"][1:] == [history[2]], "the older one would fit, but would not follow"


@pytest.mark.requirement("B2")
def test_what_gives_way_first() -> None:
    options = {"rag_context": "c", "summary": "s"}
    context, summary = said("system", CONTEXT + "c"), said("system", SUMMARY + "s")
    assert composed(talk(2), 6, **options) == [context, summary, *talk(2)[2:]]
    assert composed(talk(2), 4, **options) == [context, summary]
    assert composed(talk(2), 3, **options) == [context]
    assert composed(talk(2), 2, **options) == []
    with pytest.raises(DoesNotFit, match="System prompt, tools and state take 2 tokens, 1 fit"):
        composed(talk(2), 1, **options)


CALLS = {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1"}, {"id": "c2"}]}
RESULTS = [{"role": "tool", "tool_call_id": id, "content": "ok"} for id in ("c1", "c2")]


@pytest.mark.requirement("B1")
def test_a_call_and_its_results_stay_or_leave_together() -> None:
    history = [said("user", "go"), CALLS, *RESULTS, said("user", "on")]
    assert composed(history, 6) == [CALLS, *RESULTS, said("user", "on")]
    assert composed(history, 5) == [said("user", "on")]


@pytest.mark.requirement("B1")
def test_what_cannot_be_sent_is_repaired() -> None:
    half = [{**CALLS, "tool_calls": [{"id": "c1"}]}, RESULTS[0]]
    assert composed([RESULTS[0], said("user", "hi")], 9) == [said("user", "hi")], "a result without a call"
    assert composed(RESULTS, 9) == []
    assert composed([CALLS, RESULTS[0]], 9) == half, "a call without a result"
    assert composed([CALLS], 9) == [said("assistant", "I look.")]
    assert composed([{**CALLS, "content": None}], 9) == []


@pytest.mark.requirement("B4")
@pytest.mark.parametrize(("turns", "left"), [(0, 0), (1, 1), (10, 10), (11, 6), (20, 15)])
def test_above_ten_turns_the_oldest_five_flow_into_the_summary(turns: int, left: int) -> None:
    asked: list[tuple[str, list[Message]]] = []

    def summarize(summary: str, old: list[Message]) -> str:
        asked.append((summary, old))
        return "new"

    state = on_turn_complete(talk(turns), summary="old", summarize=summarize)
    assert state["history"] == talk(turns)[2 * (turns - left) :]
    assert (state["summary"], asked) == (
        ("new", [("old", talk(turns)[:10])]) if left < turns else ("old", [])
    )


@pytest.mark.requirement("B4")
def test_the_threshold_is_a_setting_and_the_summary_stands_after_the_system_prompt() -> None:
    assert len(on_turn_complete(talk(20), threshold=20, summarize=lambda *_: "s")["history"]) == 40
    state = on_turn_complete(talk(21), threshold=20, summarize=lambda *_: "s")
    assert composed(state["history"], 99, summary=state["summary"])[0] == said("system", SUMMARY + "s")


@pytest.mark.requirement("B1", "B4")
def test_without_a_model_nothing_happens_after_a_turn() -> None:
    assert on_turn_complete(talk(30)) == {"history": talk(30), "summary": ""}


@pytest.mark.requirement("B4")
def test_where_the_model_says_nothing_the_turns_stay() -> None:
    silent = on_turn_complete(talk(11), summary="old", summarize=lambda *_: " ")
    assert silent == {"history": talk(11), "summary": "old"}


SCHEMA = {"destination": "string", "date": "string"}


@pytest.mark.requirement("B5")
def test_the_state_is_updated_within_its_schema() -> None:
    def extract(state: dict[str, Any], history: list[Message]) -> dict[str, Any]:
        return {"destination": "Kyoto", "mood": "good"}

    assert update_state({"date": "May 3"}, SCHEMA, talk(1), extract) == {
        "date": "May 3",
        "destination": "Kyoto",
    }


@pytest.mark.requirement("B5")
def test_the_payload_carries_the_state_instead_of_the_dialogue() -> None:
    state = {"destination": "京都"}
    head, last = composed(talk(5), 99, state=state)
    assert json.loads(head["content"].removeprefix(STATE)) == state
    assert last == said("user", "user 4")
    assert composed([], 99, state={}) == [said("system", STATE + "{}")]


@pytest.mark.requirement("B1", "B5")
def test_a_state_that_does_not_fit_is_an_error() -> None:
    assert composed(talk(1), 3, state={"a": 1}) == [said("system", STATE + '{"a":1}')]
    with pytest.raises(DoesNotFit, match="System prompt, tools and state take 3 tokens, 2 fit"):
        composed(talk(1), 2, state={"a": 1})


@pytest.mark.requirement("B3")
def test_its_estimate_is_a_quarter_of_the_characters() -> None:
    assert [estimate_tokens(value, "openstarry") for value in (None, [], "abcdef", {"a": 1})] == [0, 0, 2, 2]
