"""`compact(focus=…)` keeps what belongs to a matter, by its names and words (issue 22)."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold
from fanfold import BadInput, Session
from fanfold.strategies.focus import words_of
from fanfold.text.json_text import to_json
from tests.builders import asks, calls, gives, says

TOPICS = ("billing", "parser", "login", "search")


def work(chat: Session, count: int = 40) -> None:
    """An agent that reads one file after the other; every tenth belongs to the parser."""
    chat.merge([asks("Look at everything."), *_steps(count), says("All seen."), asks("Go on.")])


def _steps(count: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number in range(count):
        topic = "parser" if number % 10 == 3 else ("billing", "login", "search")[number % 3]
        path = f"src/{topic}/part_{number}.py"
        text = "\n".join(f"{topic} line {line}: value {line * number}" for line in range(40))
        made += [
            calls(f"c{number}", name="read_file", arguments=to_json({"path": path})),
            gives(f"c{number}", text),
        ]
    return made


def whole(chat: Session) -> set[str]:
    """The outputs that are shown whole."""
    return {one.call for message in chat.view().messages for one in message.results if "line 39" in one.text}


def opened(**options: Any) -> Session:
    return fanfold.open("run", model="x", window=16_000, **options)


PARSER = {"c3", "c13", "c23", "c33"}


@pytest.mark.parametrize("focus", ["the parser bug", "src/parser/part_3.py and the parser", "Parsers"])
def test_what_has_the_words_of_the_focus_stays_whole(focus: str) -> None:
    with opened() as chat:
        work(chat)
        outcome = chat.compact(focus=focus)
        assert outcome.after <= 0.5 * outcome.before
        assert whole(chat) >= PARSER
    with opened() as chat:
        work(chat)
        chat.compact()
        assert not whole(chat) >= PARSER, "without, they go with the others"


def test_a_focus_in_japanese_is_found_by_its_words() -> None:
    with opened() as chat:
        body = [
            part
            for number in range(40)
            for part in (
                calls(f"c{number}"),
                gives(f"c{number}", f"{'構文解析' if number == 4 else '請求書'}の行\n" * 60 + "line 39"),
            )
        ]
        chat.merge([asks("全部見て。"), *body, says("見ました。"), asks("続けて。")])
        chat.compact(focus="構文解析の不具合")
        assert "c4" in whole(chat)


def test_a_focus_takes_no_more_than_half_of_what_can_be_kept() -> None:
    with opened() as chat:
        work(chat, 60)
        budget = chat.compact(focus="part_ py value").after
        assert budget <= 0.45 * 16_000


def test_a_dry_run_tells_what_the_same_call_then_does() -> None:
    with opened() as chat:
        work(chat)
        planned = chat.compact(focus="parser", dry_run=True)
        done = chat.compact(focus="parser")
        assert [one.edit for one in planned.decisions] == [one.edit for one in done.decisions]


def test_a_focus_that_nothing_belongs_to_changes_nothing() -> None:
    with opened() as one, opened() as two:
        work(one)
        work(two)
        one.compact(focus="quaternions")
        two.compact()
        assert one.view().messages == two.view().messages


@pytest.mark.parametrize("focus", ["", "  ", 3])
def test_a_focus_that_says_nothing_is_refused(focus: Any) -> None:
    with opened() as chat, pytest.raises(BadInput, match="the parser bug"):
        chat.compact(focus=focus)


def test_common_words_tell_nothing() -> None:
    assert words_of("Focus on the parser and what it has in src/parse/lexer.py") == [
        "src/parse/lexer.py", "parser", "src", "parse", "lexer",
    ]  # fmt: skip
