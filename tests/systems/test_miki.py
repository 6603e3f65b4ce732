"""Miki's plain functions: the cases are written from its document."""

from __future__ import annotations

from typing import Any

import pytest

from fanfold.systems import compress_ui_data, estimate_tokens, importance, miki, retain, update_snapshot

Message = dict[str, Any]


def said(text: str = "hello") -> Message:
    return {"role": "model", "parts": [{"text": text}]}


def called(name: str, **args: Any) -> Message:
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": args}}]}


def answered(name: str, response: Any) -> Message:
    return {"role": "function", "parts": [{"functionResponse": {"name": name, "response": response}}]}


SHOT = {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(
    ("message", "score"),
    [
        (said(), 0.5),
        ({"role": "model"}, 0.5),
        (said("An ERROR occurred"), 0.8),
        (said("エラーです"), 0.8),
        (answered("click", {"error": "not there"}), 0.8),
        (answered("click", {"error": None}), 0.5),
        (called("done"), 0.8),
        (said("完了しました"), 0.8),
        (called("think", phase="planning"), 0.7),
        (called("think", phase="executing"), 0.5),
        (SHOT, 0.6),
        (answered("elementsJson", {}), 0.4),
        (answered("webElements", {}), 0.4),
        (answered("screenshot", {}), 0.5),
        ({"parts": [*said("error")["parts"], *called("done")["parts"], *SHOT["parts"]]}, 1.2),
        ({"parts": [{"text": "error"}, {"text": "error"}]}, 0.8),
    ],
)
def test_how_much_a_message_matters(message: Message, score: float) -> None:
    assert importance(message) == score


def numbered(number: int, **special: Message) -> list[Message]:
    return [special.get(f"m{i}", said(f"message {i}")) for i in range(number)]


@pytest.mark.requirement("C2")
@pytest.mark.parametrize("number", [0, 1, 24])
def test_as_many_as_fit_all_stay(number: int) -> None:
    assert retain(numbered(number)) == numbered(number)


@pytest.mark.requirement("C2")
def test_the_newest_40_percent_stay_and_of_the_older_the_most_important_in_time_order() -> None:
    messages = numbered(40, m3=said("error in 3"), m20=called("done"), m29=answered("elementsJson", {}))
    kept = retain(messages)
    assert len(kept) == 24
    assert kept[-10:] == messages[30:], "ceil(0.4 × 24)"
    places = [messages.index(one) for one in kept]
    assert places == sorted(places)
    assert {3, 20} <= set(places)
    assert 29 not in places
    assert miki.retain(messages, 5)[-2:] == messages[-2:]


@pytest.mark.requirement("C2")
def test_one_message_too_many_leaves_the_least_important_older_one() -> None:
    messages = numbered(25, m7=answered("elementsJson", {}), m24=answered("webElements", {}))
    assert retain(messages) == messages[:7] + messages[8:]


@pytest.mark.requirement("C1", "C2")
def test_the_scorer_can_be_replaced() -> None:
    messages = numbered(30)
    kept = retain(messages, 10, score=lambda message: -messages.index(message))
    assert kept == [*messages[:6], *messages[26:]]


@pytest.mark.requirement("C2")
def test_only_results_are_retained_like_anything_else() -> None:
    messages = [answered("elementsJson", {"n": i}) for i in range(26)]
    assert retain(messages) == [*messages[:14], *messages[16:]]


@pytest.mark.requirement("C3")
def test_limits() -> None:
    assert (miki.MAX_MESSAGES, miki.MAX_TEXT_CHARS, miki.MAX_DATA_CHARS, miki.MAX_ACTIONS) == (
        24,
        1_000,
        2_000,
        8,
    )
    assert (miki.MAX_UI_NODES, miki.MAX_UI_DEPTH, miki.MAX_UI_CHILDREN, miki.MAX_WEB_ELEMENTS) == (
        200,
        2,
        20,
        200,
    )
    assert miki.PROFILES == {"short": 16, "normal": 24, "complex": 40}


def node(children: list[Any]) -> dict[str, Any]:
    return {
        "role": "AXButton",
        "title": "Submit",
        "description": "Click this button to submit the form",
        "help": "Press enter to activate",
        "position": {"x": 100, "y": 200},
        "children": children,
    }


def pruned(response: Any, name: str = "elementsJson") -> Any:
    return compress_ui_data(answered(name, response))["parts"][0]["functionResponse"]["response"]


@pytest.mark.requirement("C4")
def test_the_example_of_the_document() -> None:
    leaves = [{"role": "AXText", "title": str(i)} for i in range(50)]
    shown = pruned({"elements": [node(leaves) for _ in range(301)]})
    assert len(shown["elements"]) == 200
    assert shown["elements"][0] == {
        "role": "AXButton",
        "title": "Submit",
        "position": {"x": 100, "y": 200},
        "children": leaves[:20],
    }


@pytest.mark.requirement("C4")
def test_levels_below_the_depth_are_truncated() -> None:
    shown = pruned({"elements": [node([node([node([])])])]})
    inner = shown["elements"][0]["children"][0]
    assert (inner["title"], inner["children"]) == ("Submit", "[truncated]")


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(("size", "shown"), [(1_000, "x" * 1_000), (1_001, "x" * 1_000 + "...[truncated]")])
def test_long_strings_are_cut(size: int, shown: str) -> None:
    assert pruned({"elements": [{"role": "AXText", "title": "x" * size}]})["elements"][0]["title"] == shown


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(("number", "shown"), [(199, 199), (200, 200), (201, 200)])
def test_web_elements_are_cut_to_their_first(number: int, shown: int) -> None:
    assert len(pruned([{"tag": "a", "text": str(i)} for i in range(number)], "webElements")) == shown


@pytest.mark.requirement("C3", "C4")
def test_each_tool_has_limits_of_its_own() -> None:
    links = [{"tag": "a"}] * 5
    few = {**miki.LIMITS, "webElements": miki.TreeLimits(nodes=3)}
    web, tree = answered("webElements", links), answered("elementsJson", links)
    assert len(compress_ui_data(web, few)["parts"][0]["functionResponse"]["response"]) == 3
    assert compress_ui_data(tree, few) == tree
    assert compress_ui_data(web, {}) == web


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(
    "message",
    [
        said("x" * 5_000),
        called("click"),
        SHOT,
        answered("readFile", {"help": "x" * 5_000}),
        {"role": "u", "parts": []},
        {"role": "u"},
    ],
)
def test_other_messages_stay_as_they_are(message: Message) -> None:
    assert compress_ui_data(message) == message


@pytest.mark.requirement("C5")
def test_a_snapshot_is_updated_in_part() -> None:
    first = update_snapshot(None, {"goal": "open Safari", "currentPhase": "planning"})
    assert first == {
        "goal": "open Safari",
        "completedActions": [],
        "currentPhase": "planning",
        "keyObservations": [],
    }
    second = update_snapshot(first, {"completedActions": ["osa", "click"], "currentPhase": "executing"})
    assert second == {**first, "completedActions": ["osa", "click"], "currentPhase": "executing"}
    assert update_snapshot(second, {}) == second
    assert first["currentPhase"] == "planning", "the earlier one is untouched"


@pytest.mark.requirement("C6")
def test_estimates_and_stats() -> None:
    assert estimate_tokens([], "miki") == 0
    assert estimate_tokens([said("x" * 40)], "miki") == 10
    assert estimate_tokens([said("x" * 41)], "miki") == 11
    assert estimate_tokens([said("x")] * 3, "miki") == 1, "all characters together, then a quarter"
    assert estimate_tokens([SHOT], "miki") == 100
    assert estimate_tokens([SHOT, said("xy")], "miki") == 101
    assert estimate_tokens([called("done")], "miki") == 7, '27 characters of {"name":"done","args":{}}'
    assert estimate_tokens([{"parts": [{"functionCall": {}}]}], "miki") == 1, "two characters"
    assert miki.stats([said("x" * 40)] * 18) == {
        "messageCount": 18,
        "estimatedTokens": 180,
        "hasSnapshot": False,
    }
    assert miki.stats([], update_snapshot(None, {}))["hasSnapshot"]
