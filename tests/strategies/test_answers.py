"""Short answers under the default strategy: "A." is a decision, and stands with the question that it answers."""

from __future__ import annotations

import pytest

import fanfold
from fanfold import Budget, Session
from fanfold.strategies.handover.answering import question_in
from strategies.kinds import steps

WINDOW = 16_000
KEY = """I looked at the loader.

**Next question:** How should the colour be named in the settings?

| Option | What it means |
|---|---|
| **A. A flat key** | `colour = "red"` beside the others. |
| **B. A table** | `[theme]` with `colour` in it. |

I recommend **Option A** because it is short.

Which one do you want?"""
RETRY = """Two ways to go on:

1. **Retry at once** - simple, but loud
2. **Retry after a second** - quiet

Which approach?"""
JAPANESE = """設定の形を決める必要があります。

色の設定はどの形にしますか？

A. 平らなキー（colour = "red"）
B. テーブル（[theme] の中に colour）"""


def opened() -> Session:
    return fanfold.open("run", budget=Budget(window=WINDOW, reserve=0), filters=())


def asked(chat: Session, question: str, answer: str) -> None:
    """The agent asks, and the person answers."""
    chat.add({"role": "assistant", "content": question})
    chat.say(answer)


def working(chat: Session, first: int = 0, count: int = 60) -> None:
    """A loop that is long enough to fold what stands before it."""
    for body in steps(first, count, words=180):
        if body["role"] == "assistant":
            chat.request()
        chat.add(body)
    chat.request()


def told(chat: Session, words: str) -> str:
    """The line of the hand-over that has some words."""
    lines = "\n".join(message.text for message in chat.view().messages).splitlines()
    return next(line for line in lines if words in line)


def test_an_answer_of_one_letter_stands_with_its_question_and_what_it_chose() -> None:
    with opened() as chat:
        chat.say("Add a colour to the settings.")
        asked(chat, KEY, "B, please")
        working(chat)
        line = told(chat, "B, please")
        assert "How should the colour be named in the settings?" in line
        assert "→ B. A table" in line
        assert "A flat key" not in line


def test_an_answer_in_japanese_stands_with_its_question() -> None:
    with opened() as chat:
        chat.say("設定に色を追加してください。")
        asked(chat, JAPANESE, "Bでお願いします")
        working(chat)
        line = told(chat, "Bでお願いします")
        assert "色の設定はどの形にしますか？" in line
        assert "→ B. テーブル" in line


def test_the_same_answer_to_two_questions_is_told_twice() -> None:
    with opened() as chat:
        chat.say("Add a colour to the settings.")
        asked(chat, "May the old key `color` go?", "yes")
        asked(chat, "Shall `theme.toml` be written by hand?", "yes")
        asked(chat, "Shall `theme.toml` be written by hand?", "yes")
        working(chat)
        text = "\n".join(message.text for message in chat.view().messages)
        assert text.count("- yes (the agent had asked: May the old key `color` go?)") == 1
        assert text.count("- yes (the agent had asked: Shall `theme.toml` be written by hand?)") == 1


def test_an_answer_that_stays_in_view_does_not_lose_its_question() -> None:
    with opened() as chat:
        chat.say("Add a colour to the settings.")
        asked(chat, RETRY, "2")
        working(chat)
        assert "2" in [message.text for message in chat.view().messages]
        assert "→ 2. Retry after a second" in told(chat, "- 2 (")


def test_an_answer_that_is_folded_later_than_its_question_keeps_it() -> None:
    with opened() as chat:
        chat.say("Add a colour to the settings.")
        asked(chat, RETRY, "2")
        for part in range(4):
            working(chat, 100 * part)
            chat.say(f"Go on with part {part} of the work.")
        working(chat, 900)
        assert "2" not in [message.text for message in chat.view().messages]
        assert "→ 2. Retry after a second" in told(chat, "- 2 (")


def test_in_plain_talk_an_answer_stands_with_its_question() -> None:
    with opened() as chat:
        chat.say("Plan our dinner, please.")
        asked(chat, "Gladly. Are you allergic to nuts?", "Yes")
        for number in range(120):
            chat.add(
                {"role": "assistant", "content": f"Course {number}: " + "we could cook soup or bread. " * 12}
            )
            chat.say(f"Tell me about course {number + 1}.")
            chat.request()
        assert told(chat, "Yes (the agent") == "- Yes (the agent had asked: Are you allergic to nuts?)"


def test_why_of_such_a_line_names_the_question_too() -> None:
    with opened() as chat:
        chat.say("Add a colour to the settings.")
        question = chat.add({"role": "assistant", "content": RETRY})
        chat.say("1.")
        working(chat)
        (line,) = (line for line in chat.why(question.id).lines if "→ 1. Retry at once" in line.text)
        assert question.id in line.entries
        assert line.speakers == ("person", "agent")


@pytest.mark.parametrize(
    ("question", "reply", "behind"),
    [
        (
            KEY,
            "A new one would be nice to have",
            "Next question: How should the colour be named in the settings?",
        ),
        (RETRY, "let's go with 2", "Two ways to go on: → 2. Retry after a second - quiet"),
        (RETRY, "Option 1!", "Two ways to go on: → 1. Retry at once - simple, but loud"),
        ("Ready?\n1. One\n2. Two", "7", "Ready?"),
        (RETRY, "which of them is faster?", ""),
        (RETRY, "2 is what I would take, but only because " + "we have talked about it so often. " * 3, ""),
    ],
)
def test_what_a_reader_must_know_of_a_question(question: str, reply: str, behind: str) -> None:
    found = question_in(question)
    assert found is not None
    told = found.behind(reply)
    assert behind in told if behind else told == ""


@pytest.mark.parametrize("text", ["All done.", "Done.\n```\nwhy?\n```\nIt works.", "1. One thing is done."])
def test_who_asks_nothing_has_no_question(text: str) -> None:
    assert question_in(text) is None


def test_a_hostile_message_is_read_in_no_time() -> None:
    signs = "|*_`" * 20_000 + "A." * 20_000 + "?" * 20_000
    found = question_in(signs)
    assert found is None or len(found.text) < 1_000
