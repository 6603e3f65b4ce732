"""Summaries by a model: what is asked, what is kept of the answer, and what is added to it."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import fanfold
from fanfold import Ask, BadSetting, Session
from fanfold.core.message import text_of
from fanfold.strategies.handover.seal import unsealed
from fanfold.strategies.handover.tongue import ENGLISH
from fanfold.strategies.prompting import prompt, read_summary
from fanfold.strategies.summarize import ACKNOWLEDGED, summarize
from fanfold.testing import FakeModel, called, replied, returned, said
from strategies.kinds import GOAL, RULE, steps, summary, turns

PIN = "The key is in vault slot 7-Q."


def compacted(strategy: Any, ask: Any = None, window: int = 4_000, bodies: Any = None) -> Session:
    """A conversation of twelve turns after a reduction."""
    chat = fanfold.open(
        "run", window=window, strategy=strategy, summarizer=ask or FakeModel(summary), filters=()
    )
    chat.merge(bodies or [said(GOAL), *turns(0, 12)])
    outcome = chat.compact(force=True)
    assert outcome.status == "reduced", outcome.error
    return chat


def shown(chat: Session) -> str:
    return "\n".join(text_of(message) for message in chat.view().messages)


def test_the_prompt_ends_with_the_directives_and_is_never_replaced_by_them() -> None:
    """A9: summary and retain directives are lists behind their prompts."""
    model = FakeModel(summary)
    compacted(summarize(directives=["Write French."], retain_directives=["Keep ids."]), model)
    asked = model.asked[0].prompt
    assert asked == (f"{prompt('retain')}\n\n- Keep ids.\n\n{prompt('summary')}\n\n- Write French.")


def test_a_prompt_of_ones_own_takes_the_place_of_ours() -> None:
    model = FakeModel(summary)
    compacted(summarize(custom="Sum it up.", directives=["In rhyme."]), model)
    assert model.asked[0].prompt == "Sum it up.\n\n- In rhyme."


def test_another_model_may_be_asked() -> None:
    """A15"""
    model = FakeModel(summary)
    compacted(summarize(model="gpt-5-mini"), model)
    assert {question.model for question in model.asked} == {"gpt-5-mini"}


def test_what_is_asked_ends_with_no_open_call() -> None:
    """A14: an unanswered call would be refused; it is not on offer."""
    model = FakeModel(summary)
    open_call = replied("One more.", called("open", "read", path="x"))
    compacted(summarize(keep_messages=0), model, bodies=[said(GOAL), *turns(0, 12), said("On."), open_call])
    called_ids = {call.id for question in model.asked for m in question.messages for call in m.calls}
    answered = {result.call for question in model.asked for m in question.messages for result in m.results}
    assert called_ids == answered
    assert "open" not in called_ids


def test_neither_the_question_nor_the_answer_enters_the_history() -> None:
    """A13"""
    chat = compacted(summarize())
    assert len(chat._state.log.tree.path(chat.head)) == 1 + 12 * 5
    assert "scratchpad" not in shown(chat)


def test_retained_lines_stand_first_then_the_summary_then_the_last_turns() -> None:
    """A16"""
    chat = compacted(summarize(retain=True, keep_turns=1, keep_first=False, facts=False))
    retained, summed = chat.view().messages[:2]
    assert "commit 9f31c2e7" in retained.text
    assert summed.text.startswith("The lexer reads")
    assert chat.view().rows[1].messages[0].text.startswith("Now part 11, please.")


def test_the_request_is_made_from_the_compacted_view() -> None:
    """A17"""
    chat = compacted(summarize(keep_turns=1))
    assert len(chat.request()["messages"]) == len(chat.view().messages)


def test_a_snapshot_is_kept_and_its_scratchpad_is_not() -> None:
    """D5, D7"""
    chat = compacted(summarize(style="snapshot", acknowledge=True, keep_first=False))
    first, second = chat.view().messages[:2]
    assert "<state_snapshot>\nThe lexer reads" in first.text
    assert "Let me think." not in first.text
    assert (second.role, second.text) == ("assistant", ACKNOWLEDGED)


@pytest.mark.parametrize(
    "word", ["overall_goal", "key_knowledge", "file_system_state", "recent_actions", "current_plan"]
)
def test_the_snapshots_prompt_names_its_five_parts(word: str) -> None:
    """D5"""
    assert f"<{word}>" in prompt("snapshot")


def test_the_sections_prompt_has_six_sections() -> None:
    """E4"""
    assert [line[:2] for line in prompt("sections").splitlines() if line[1:2] == "."] == [
        f"{n}." for n in range(1, 7)
    ]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"keep_messages": 3}, 5),
        ({"keep_messages": 6}, 6),
        ({"keep_turns": 2}, 10),
        ({"keep_turns": 0}, 2),
        ({"keep_messages": 0}, 2),
        ({"keep": 0.0}, 2),
        ({"keep": 600.0}, 11),
        ({"keep": 0.28}, 16),
        ({"keep": 0.28, "split": "turn"}, 15),
    ],
)
def test_how_much_is_kept(options: dict[str, Any], kept: int) -> None:
    """E3, A9, D4: in messages, turns, tokens or as a share; pairs stay whole, a turn may be kept whole."""
    with compacted(summarize(keep_first=False, **options), window=8_000) as chat:
        rows = chat.view().rows
        assert rows[0].kind == "fold"
        assert len(rows) - 1 == kept


@pytest.mark.parametrize("options", [{"keep_turns": 0}, {"keep_messages": 0}, {"keep": 0.0}], ids=str)
def test_the_last_question_is_never_left_without_its_answer(options: dict[str, Any]) -> None:
    with compacted(summarize(**options)) as chat:
        assert [row.role for row in chat.view().rows[-2:]] == ["user", "assistant"]
        assert "Part 11 is done." in chat.view().rows[-1].messages[0].text


def test_one_long_loop_has_no_turn_to_split_at_and_is_split_at_a_block() -> None:
    """D4, corrected"""
    with compacted(summarize(split="turn"), bodies=[said(GOAL), *steps(0, 30)]) as chat:
        assert [row.kind for row in chat.view().rows[:2]] == ["entry", "fold"]
        assert len(chat.view().rows) > 4


@pytest.mark.parametrize(
    "options", [{"keep": 0.3, "keep_turns": 1}, {"keep_messages": -1}, {"style": "poem"}]
)
def test_settings_that_contradict_are_refused(options: Any) -> None:
    with pytest.raises(BadSetting):
        summarize(**options)


def test_the_summary_before_is_part_of_the_question() -> None:
    """F16, A16: handed in, and replaced."""
    model = FakeModel(summary)
    with compacted(summarize(), model) as chat:
        for body in turns(20, 12):
            chat.add(body)
        chat.request()
        later = [question for question in model.asked if "[summary of" in question.messages[0].text]
        assert later
        assert sum(row.kind == "fold" for row in chat.view().rows) == 1


def five_rounds(model: Any) -> Session:
    """Five reductions in a row, with rules and pins from different times."""
    chat = fanfold.open("run", window=6_000, summarizer=model, filters=())
    chat.say(GOAL)
    for number in range(5):
        chat.say(f"And always run check-{number} before a commit.")
        for body in steps(number * 40, 12):
            chat.add(body)
        if number == 1:
            chat.add(replied(f"I found it.\n{PIN}"))
            chat.pin(PIN)
        assert chat.compact(force=True).status == "reduced"
        chat.add(replied("Going on."))
    return chat


def test_five_reductions_in_a_row_keep_every_pinned_line_and_every_rule_of_the_user() -> None:
    chat = five_rounds(FakeModel("<summary>They work on the parser.</summary>"))
    lines = shown(chat).splitlines()
    assert PIN in lines
    text = shown(chat)
    assert all(f"always run check-{number} before a commit." in text for number in range(5))
    assert RULE in text


@pytest.mark.parametrize("seed", range(5))
def test_what_a_summariser_drops_at_random_is_restored(seed: int) -> None:
    """It copies what it reads and drops every other line."""
    dice = random.Random(seed)

    def forgetful(question: Ask) -> str:
        lines = [line for message in question.messages for line in text_of(message).splitlines()]
        return "\n".join(line for line in lines if dice.random() < 0.5)[:1_500] or "Nothing."

    chat = five_rounds(forgetful)
    text = shown(chat)
    assert PIN in text.splitlines()
    assert all(f"always run check-{number} before a commit." in text for number in range(5))
    assert RULE in text


def found_names() -> list[Any]:
    """A conversation in which a tool names two things that nobody used since."""
    bodies = [said("Find order HAT-123."), *turns(0, 8)]
    bodies[3:3] = [
        replied("", called("x", "find", order="HAT-123")),
        returned("x", "batch 77ab10c4 of HAT-123, slot S-19"),
    ]
    return bodies


def test_names_that_a_summary_lost_are_added_within_their_bound() -> None:
    with compacted(summarize(keep_first=False), FakeModel("They looked."), bodies=found_names()) as chat:
        text = str(unsealed(chat.view().rows[0]))
        assert "Find order HAT-123." in text
        assert "77ab10c4" in text


def test_names_that_a_summary_has_are_not_repeated() -> None:
    model = FakeModel("They found batch 77ab10c4.")
    with compacted(summarize(keep_first=False), model, bodies=found_names()) as chat:
        assert shown(chat).count("77ab10c4") == 1


def test_a_summary_longer_than_it_may_be_is_cut() -> None:
    chat = compacted(
        summarize(),
        FakeModel("They worked on and on. " * 200),
        bodies=[said(GOAL), *turns(0, 40)],
        window=8_000,
    )
    (row,) = [row for row in chat.view().rows if row.kind == "fold"]
    assert row.tokens <= chat._state.terms.budget.goal // 2
    assert "characters cut" in row.messages[0].text


@pytest.mark.parametrize(
    "thoughts",
    [
        "<think>{}</think>",
        "<thinking>{}</thinking>",
        "<scratchpad>{}</scratchpad>",
        "{}</think>",
        "<SCRATCHPAD>{}</SCRATCHPAD>",
        "{}</THINK>",
    ],
)
def test_what_a_model_thought_is_neither_retained_nor_summed_up(thoughts: str) -> None:
    draft = thoughts.format("Perhaps <retain>slot 3</retain><summary>They lost.</summary>?")
    model = FakeModel(f"{draft}<retain>slot 7</retain><summary>They won.</summary>")
    with compacted(summarize(retain=True), model) as chat:
        text = shown(chat)
        assert "slot 7" in text
        assert "They won." in text
        assert "slot 3" not in text
        assert "They lost." not in text


@pytest.mark.parametrize("options", [{}, {"acknowledge": True}, {"retain": True}], ids=str)
def test_a_summary_names_its_reference_whatever_stands_beside_it(options: dict[str, Any]) -> None:
    with fanfold.open(
        "run",
        window=4_000,
        strategy=summarize(**options),
        summarizer=FakeModel(summary),
        recall=True,
        filters=(),
    ) as chat:
        chat.merge([said(GOAL), *turns(0, 12)])
        chat.compact(force=True)
        (fold,) = [row for row in chat.view().rows if row.kind == "fold"]
        assert re.match(r"\[summary of \d+ messages; ref=m1; check ", fold.messages[0].text)
        assert "Part 3 is done." in chat.output("m1").text()
        assert unsealed(fold) is not None


@pytest.mark.parametrize(
    ("style", "reply"),
    [
        ("summary", "<SUMMARY>They won.</SUMMARY>"),
        ("summary", "They won.</summary>"),
        ("snapshot", "<STATE_SNAPSHOT>They won.</STATE_SNAPSHOT>"),
        ("snapshot", "They won.</State_Snapshot>"),
    ],
)
def test_a_tag_is_read_in_any_case_and_never_left_in_a_summary(style: Any, reply: str) -> None:
    """(19.23)"""
    assert read_summary(reply, style).replace("<state_snapshot>", "").replace(
        "</state_snapshot>", ""
    ).strip() == ("They won.")


def test_a_summary_may_speak_of_thoughts() -> None:
    with compacted(summarize(), FakeModel("<summary>They look for `</think>` in answers.</summary>")) as chat:
        assert "They look for `</think>` in answers." in shown(chat)


def test_the_facts_of_the_log_stand_beside_a_summary() -> None:
    with compacted(summarize()) as chat:
        (row,) = [row for row in chat.view().rows if row.kind == "fold"]
        text = str(unsealed(row))
        assert f"\n{ENGLISH.story}\nThe lexer reads a token too far" in text
        assert f"\n{ENGLISH.done}\n- read src/part0.py" in text
        assert ENGLISH.found not in text, "that is for the model to tell"


def test_without_facts_a_summary_stands_alone_with_what_it_lost() -> None:
    with compacted(summarize(keep_first=False, facts=False)) as chat:
        text = str(unsealed(chat.view().rows[0]))
        assert text.startswith("The lexer reads a token too far")
        assert f"\n{ENGLISH.task}\n- Mend the parser in src/parse/lexer.py" in text
        assert ENGLISH.done not in text
