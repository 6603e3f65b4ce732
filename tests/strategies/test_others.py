"""Rolling summaries, importance, truncation, the sliding window: each in its own words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import fanfold
from builders import asks, calls, gives, long, opened, says, tell, texts
from fanfold import Ask, BadSetting, Budget, Message, drop_oldest
from fanfold.core.message import Result, Text
from fanfold.dialects.chat.dialect import OpenAIChat
from fanfold.strategies.extract import extract
from fanfold.strategies.handover.seal import unsealed
from fanfold.strategies.importance import importance, score
from fanfold.strategies.rolling import rolling
from fanfold.strategies.truncate import truncate
from fanfold.testing import FakeModel, called, picture, replied, returned, said, talk
from strategies.kinds import GOAL, summary


def test_rolling_works_in_the_background_though_the_window_is_nearly_empty() -> None:
    """B4: more than ten turns, the oldest five flow into the summary."""
    model = FakeModel("They began.")
    with fanfold.open("run", window=100_000, strategy=rolling(), summarizer=model, filters=()) as chat:
        chat.merge(talk(10, 0))
        assert chat.settle() is None
        chat.merge(talk(11, 0))
        outcome = chat.settle()
        assert outcome is not None
        assert (outcome.status, outcome.strategy) == ("reduced", "rolling")
        assert [row.kind for row in chat.view().rows] == ["fold"] + ["entry"] * 12
        assert texts(chat)[1].startswith("Task 5:")
        assert chat.settle() is None


def test_rolling_leaves_the_last_turn_whole() -> None:
    model = FakeModel("They began.")
    with fanfold.open(
        "run", window=100_000, strategy=rolling(threshold=1), summarizer=model, filters=()
    ) as chat:
        chat.merge(talk(5, 0))
        chat.settle()
        assert [row.kind for row in chat.view().rows] == ["fold", "entry", "entry"]
        assert texts(chat)[1].startswith("Task 4:")


def test_a_rolling_summary_is_read_together_with_the_next_turns() -> None:
    model = FakeModel("They began.", "They went on.")
    with fanfold.open("run", window=100_000, strategy=rolling(), summarizer=model, filters=()) as chat:
        chat.merge(talk(11, 0))
        chat.settle()
        chat.merge(talk(16, 0))
        chat.settle()
        assert "They began." in model.asked[1].messages[0].text
        assert model.asked[1].messages[1].text.startswith("Task 5:")
        (row,) = [row for row in chat.view().rows if row.kind == "fold"]
        assert str(unsealed(row)).startswith("They went on.")


def test_people_may_go_on_talking_while_the_background_works() -> None:
    async def both() -> list[str]:
        async def slow(question: Ask) -> str:
            await asyncio.sleep(0.01)
            return "They began."

        async with fanfold.aopen(
            "run", window=100_000, strategy=rolling(), summarizer=slow, filters=()
        ) as chat:
            await chat.merge(talk(11, 0))
            settling = asyncio.create_task(chat.settle())
            await asyncio.sleep(0)
            await chat.say("Meanwhile.")
            await settling
            return [row.kind for row in (await chat.view()).rows]

    assert asyncio.run(both()) == ["fold"] + ["entry"] * 13


def test_rolling_also_works_when_the_window_is_full_of_one_loop() -> None:
    from strategies.kinds import steps

    with fanfold.open(
        "run", window=3_000, strategy=rolling(), summarizer=FakeModel(summary), filters=()
    ) as chat:
        chat.merge([said(GOAL), *steps(0, 14)])
        assert chat.compact().strategy == "rolling"


@pytest.mark.parametrize("options", [{"threshold": 0}, {"turns": 0}])
def test_rolling_refuses_settings_without_sense(options: Any) -> None:
    with pytest.raises(BadSetting):
        rolling(**options)


def message(body: dict[str, Any]) -> Message:
    return OpenAIChat().message(body)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (says("The sky is blue."), 0.5),
        (gives("c", "ValueError: no"), 0.5),
        (gives("c", "error: no such host"), 0.8),
        (says("The task is completed."), 0.8),
        (says("My plan: look first."), 0.5),
        (asks("I think so."), 0.5),
        (says("I think so."), 0.5),
        (replied(None, called("c", "think", thought="Hm.", phase="planning")), 0.7),
        (replied(None, called("c", "think", thought="Hm.", phase="executing")), 0.5),
        (replied(None, called("c", "think", thought="Hm.")), 0.5),
        (
            replied(
                None, {"id": "c", "type": "function", "function": {"name": "think", "arguments": "planning"}}
            ),
            0.5,
        ),
        (said("See:", picture()), 0.6),
        (replied(None, called("c", "elementsJson")), 0.5),
        (says("Shall I call elementsJson?"), 0.5),
        (replied(None, called("c", "grep", pattern="error")), 0.5),
        (replied(None, called("c", "done")), 0.8),
        (says("処理が完了しました。エラーなし。"), 1.1),
    ],
)
def test_scores(body: dict[str, Any], value: float) -> None:
    """C1 (19.24)"""
    assert score(message(body)) == value


@pytest.mark.parametrize("name", [None, "elementsJson"], ids=["named by its call", "named itself"])
def test_a_dump_of_the_screen_leaves_before_other_steps(name: str | None) -> None:
    """C1 (19.24) The call and its result leave together, so the result's score decides between equal blocks."""
    dumped = Message("tool", (Result("c0", (Text("tree " * 40),), name=name),))
    assert score(dumped) == (0.4 if name else 0.5)
    with opened(10_000, strategy=importance(most=6, newest=0.33)) as chat:
        tell(chat, asks("go"), calls("c1", name="click"), gives("c1", "clicked " * 30))
        tell(chat, calls("c0", name="elementsJson"))
        chat.add(dumped)
        tell(chat, says("seen"), asks("last"))
        chat.request()
        assert [call.name for row in chat.view().messages for call in row.calls] == ["click"]


def test_the_newest_stay_and_of_the_older_ones_the_most_important_in_order() -> None:
    """C2: a third of six are two; of the older ones the errors stay, and the marker is one of the six."""
    with opened(500, strategy=importance(most=6, newest=0.33)) as chat:
        words = ("chatter one", "error: disk", "chatter two", "done", "chatter three", "newest")
        tell(chat, asks("begin"), *(says(long(text, 32)) for text in words), asks("last"))
        chat.compact()
        shown = [text.rstrip("x ") for text in texts(chat)]
        assert shown[1].startswith("[3 earlier messages")
        assert [*shown[:1], *shown[2:]] == ["begin", "error: disk", "done", "newest", "last"]


def test_a_scorer_of_ones_own_decides() -> None:
    """C1: replaceable"""
    loud = importance(most=5, scorer=lambda message: float(message.text.isupper()))
    with opened(10_000, strategy=loud) as chat:
        quiet = [says(long("quiet error", 30)), says("LOUD"), says(long("quiet done", 30))]
        tell(chat, asks("begin"), *quiet, says("a"), asks("last"))
        chat.compact(force=True)
        assert "LOUD" in texts(chat)
        assert not any("quiet" in text for text in texts(chat))


def test_importance_takes_whole_blocks() -> None:
    """C2, corrected"""
    with opened(10_000, strategy=importance(most=4)) as chat:
        tell(
            chat,
            asks("go"),
            calls("c1"),
            gives("c1", "error: x"),
            calls("c2"),
            gives("c2", "fine"),
            says("so"),
            asks("last"),
        )
        chat.compact(force=True)
        ids = [call.id for m in chat.view().messages for call in m.calls]
        assert ids == [result.call for m in chat.view().messages for result in m.results]


def test_truncation_hides_an_even_half_of_all_but_the_first() -> None:
    """E6"""
    with opened(10_000, strategy=truncate()) as chat:
        tell(chat, *(body(long(f"m{n}", 30)) for n in range(6) for body in (asks, says)))
        chat.compact(force=True)
        assert texts(chat)[0].startswith("m0")
        assert texts(chat)[1] == "[Sliding window truncation: 4 messages hidden to reduce context]"
        assert texts(chat)[2].startswith("m2 ")


def test_truncation_keeps_the_first_request_though_a_greeting_stands_before_it() -> None:
    with fanfold.open("run", window=3_000, strategy=truncate(), filters=()) as chat:
        chat.add(replied("Hello! What can I do for you?"))
        chat.add(said(GOAL))
        for number in range(60):
            chat.add(replied(long(f"m{number}", 100)))
            chat.add(said("Go on."))
            chat.request()
        assert texts(chat)[:2] == ["Hello! What can I do for you?", GOAL]


def test_truncation_with_nothing_to_hide_changes_nothing() -> None:
    """E6"""
    with opened(10_000, strategy=truncate()) as chat:
        tell(chat, asks("one"), says("two"))
        assert chat.compact(force=True).status == "noop"


def test_truncation_counts_what_is_visible_and_hides_a_summary_last() -> None:
    """E6, corrected"""
    with opened(10_000, strategy=truncate()) as chat:
        ids = tell(chat, *(body(long(f"m{n}", 30)) for n in range(6) for body in (asks, says)))
        chat.fold(tuple(ids[1:5]), "A summary.")
        chat.compact(force=True)
        assert "A summary." in texts(chat)
        assert "[Sliding window truncation: 4 messages hidden to reduce context]" in texts(chat)


@pytest.mark.parametrize("fraction", [0, 1.0, -0.5, 2])
def test_truncation_takes_a_share(fraction: float) -> None:
    with pytest.raises(BadSetting):
        truncate(fraction)


def test_what_a_result_says_is_read_by_the_scorer() -> None:
    assert score(message(replied("", called("c", "run", command="make")))) == 0.5
    assert score(message(returned("c", "fatal: nothing there"))) == pytest.approx(0.8)


@pytest.mark.parametrize(
    "strategy", [drop_oldest(), drop_oldest(keep_first=False), extract()], ids=["first", "none", "state"]
)
def test_what_stands_in_the_place_of_dropped_rows_counts_towards_the_target(strategy: Any) -> None:
    """(19.22) A target close to the trigger is met by the strategy itself; nothing falls back."""
    budget = Budget(window=3_000, reserve=0, trigger=1.0, target=1.0)
    with fanfold.open(
        "run", budget=budget, strategy=strategy, summarizer=FakeModel("{}"), filters=()
    ) as chat:
        tell(
            chat, *(body for i in range(30) for body in (asks(long(f"q{i}", 100)), says(long(f"a{i}", 100))))
        )
        outcome = chat.compact()
        assert (outcome.status, outcome.after <= 3_000) == ("reduced", True)
        assert outcome.strategy in ("drop_oldest", "extract")
