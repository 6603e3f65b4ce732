"""What the agent said, statement by statement: what stays where there is not room for all of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.strategies.handover.facts import Said
from fanfold.strategies.handover.findings import findings
from fanfold.strategies.handover.letters import letter
from fanfold.strategies.handover.looking import only_looks
from fanfold.strategies.handover.statements import Manner, statements


def said(text: str, manner: Manner = "report", entry: str = "e") -> Said:
    return Said(entry, statements(text, manner), manner == "report")


def told(*texts: str, room: int = 1_000, manner: Manner = "passing") -> list[str]:
    """The lines that stay of some sayings; a token is four letters here."""
    some = [said(text, manner, f"e{number}") for number, text in enumerate(texts)]
    return [line.text for line in findings(some, room, lambda text: len(text) // 4)[0]]


REVIEW = """# Review

Here is what I saw in the change.

## 1. The cache is shared
Two workers write one folder, because the name of the run is not part of the path.

## 2. A slow test
`test_all` takes a minute.

| part | verdict |
|---|---|
| lexer | sound |
| parser | fails on tabs |

Next I would rename things.
"""


def test_a_reason_in_the_middle_of_a_long_answer_outlives_remarks() -> None:
    later = [f"Part {number} of the listing has another forty lines." for number in range(60)]
    lines = told(REVIEW, *later, room=200)
    assert "Two workers write one folder, because the name of the run is not part of the path." in lines[0]


def test_a_heading_is_told_with_what_stands_below_it() -> None:
    texts = [statement.text for statement in statements(REVIEW, "report")]
    assert (
        "1. The cache is shared: Two workers write one folder, because the name of the run is not part of the path."
        in texts
    )
    assert "2. A slow test: `test_all` takes a minute." in texts


def test_rows_of_a_table_are_statements_and_its_head_is_none() -> None:
    texts = [statement.text for statement in statements(REVIEW, "report")]
    assert "parser | fails on tabs" in texts
    assert not any("verdict" in text or "---" in text for text in texts)


def test_what_was_left_out_between_two_statements_is_seen() -> None:
    remark = "Some remark that fills a little room here."
    text = f"The lexer fails because of tabs. {remark} It was fixed because we split them."
    (line,) = told(text, room=26)
    assert line == "The lexer fails because of tabs. … It was fixed because we split them."


def test_statements_stand_in_the_order_in_which_they_were_said() -> None:
    lines = told("Alpha is slow.", "Beta fails because of tabs.", "Gamma is slow.")
    assert lines == ["Alpha is slow.", "Beta fails because of tabs.", "Gamma is slow."]


def test_the_same_statement_is_told_once_where_it_was_said_last() -> None:
    assert told("The build is green.", "Something else is red.", "The build is green.") == [
        "Something else is red.",
        "The build is green.",
    ]


def test_what_is_told_elsewhere_does_not_count_as_left_out() -> None:
    some = [said("The build is green.", "passing", f"e{number}") for number in range(5)]
    lines, gone = findings(some, 100, len)
    assert ([line.text for line in lines], gone) == (["The build is green."], 0)


def test_how_often_nothing_was_told_of_a_saying_is_counted() -> None:
    some = [said(f"Finding {number} is that file {number}.py is broken.", "passing") for number in range(50)]
    lines, gone = findings(some, 60, lambda text: len(text) // 4)
    assert 0 < len(lines) < 50
    assert gone == 50 - len(lines)


@given(st.lists(st.text(max_size=300), max_size=8), st.integers(0, 200))
def test_whatever_is_said_what_is_told_fits_and_is_said(texts: list[str], room: int) -> None:
    some = [said(text, "report", f"e{number}") for number, text in enumerate(texts)]
    lines, _ = findings(some, room, lambda text: len(text) // 4 + 1)
    assert sum(len(line.text) for line in lines) <= 4 * room + 8
    for line in lines:
        own = some[int(line.entries[0][1:])]
        assert all(
            any(piece in statement.text for statement in own.statements)
            for piece in line.text.split(" … ")
            if len(own.statements) == 1
        )


COMMIT = """git add -A && git commit -m "$(cat <<'EOF'
fix: read tabs

The lexer split at spaces only, so that a line with
tabs was one word.

- split at every blank
- keep the old name

Co-Authored-By: Somebody <a@example.com>
EOF
)\""""


def test_the_message_of_a_commit_is_what_the_agent_said() -> None:
    assert letter(COMMIT) == (
        "fix: read tabs\n\nThe lexer split at spaces only, so that a line with tabs was one word.\n\n"
        "- split at every blank\n- keep the old name"
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git commit -m 'mend the lexer'", "mend the lexer"),
        ('git -C lib commit -am "mend it" -m "It broke tabs."', "mend it\n\nIt broke tabs."),
        ('gh pr create --title "Tabs" --body "They work now."', "Tabs\n\nThey work now."),
        ("git log --oneline", ""),
        ("echo 'git commit' -m", ""),
        ("cat <<'EOF'\nno letter\nEOF", ""),
    ],
)
def test_only_what_is_written_to_people_is_a_letter(command: str, words: str) -> None:
    assert letter(command) == words


def test_a_commit_says_what_was_done_and_does_not_announce_it() -> None:
    assert all(statement.worth >= 2 for statement in statements(letter(COMMIT), "letter"))
    assert statements("Fix the lexer.", "passing")[0].worth == 0


@pytest.mark.parametrize(
    "command",
    [
        "ls -la src",
        "git status --short && git diff --cached",
        "rg 'a|b; c' src | head -20",
        "sed -n '1,80p' main.py",
        "find . -name '*.py' | xargs grep -n Lexer",
        "cat a.txt 2>/dev/null || true",
        "git -C lib log --oneline -5",
    ],
)
def test_a_command_that_only_looks(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "ls && rm x",
        "sed -i s/a/b/ main.py",
        "cat a > b",
        "echo x | tee y",
        "find . -name '*.pyc' -delete",
        "git remote add origin x",
        "git branch backup main",
        "echo $(rm x)",
        "pytest -q",
        "",
    ],
)
def test_a_command_that_may_change_something(command: str) -> None:
    assert not only_looks(command)


@pytest.mark.parametrize(
    "text",
    [
        "git " + "-a " * 190 + "x",
        "git commit " + "-m 'a' " * 1_000,
        "git commit <<EOF\n" * 400,
        'git commit -m "' + "$" * 7_000,
        "**" * 6_000,
        "1. " * 4_000,
        "now " * 3_000,
        "a. b? " * 2_000,
        "| a " * 3_000,
        "#" * 12_000,
        "Good: " * 2_000,
    ],
)
def test_no_text_takes_long_to_read(text: str) -> None:
    """Each of these is read in milliseconds; an expression that tries everything would take hours."""
    assert only_looks(text) in (True, False)
    assert letter(text) is not None
    assert findings([said(text)], 50, len)
