"""What tools said first: lines are compared with outputs by hashes that are kept, and each of them only once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fanfold.strategies.handover import echo
from fanfold.strategies.handover.echo import Echoes, SaidLine, ToolWords

_WORDS = ("build", "fails", "src/a.py", "since", "the", "cache")


def some_words(rng: random.Random, count: int) -> list[str]:
    return [rng.choice(_WORDS) for _ in range(count)]


def said_before(line: list[str], outputs: list[list[str]]) -> bool:
    """The rule, in plain words: six words in a row stand in an earlier output."""
    rows = {tuple(output[at : at + 6]) for output in outputs for at in range(len(output) - 5)}
    return any(tuple(line[at : at + 6]) in rows for at in range(len(line) - 5))


def conversation(rng: random.Random, steps: int) -> list[tuple[str, list[str], list[str]]]:
    """Entries, each with what a tool said there and what the agent said behind it."""
    return [
        (f"e{at}", some_words(rng, rng.randrange(60)), some_words(rng, rng.randrange(5, 14)))
        for at in range(steps)
    ]


def check(talk: list[tuple[str, list[str], list[str]]], memory: dict[Any, Any]) -> None:
    heard = tuple(
        one
        for entry, output, _ in talk
        for one in (ToolWords(entry, " ".join(output)), ToolWords(f"{entry}s"))
    )
    lines = [SaidLine(" ".join(line), f"{entry}s") for entry, _, line in talk]
    marked = ["«" in text for text in Echoes(heard, memory).mark(lines)]
    outputs = [output for _, output, _ in talk]
    assert marked == [said_before(line, outputs[: at + 1]) for at, (_, _, line) in enumerate(talk)]


@pytest.mark.parametrize("seed", range(12))
def test_a_line_is_marked_just_where_six_words_stand_in_an_earlier_output(seed: int) -> None:
    rng = random.Random(seed)
    talk = conversation(rng, 40)
    memory: dict[Any, Any] = {}
    for end in range(5, 41, 5):  # the conversation grows between two hand-overs
        check(talk[:end], memory)
    moved = [
        *talk[:10],
        *talk[11:30],
        talk[10],
        *talk[30:],
    ]  # a row that stays is behind what was folded around it
    check(moved, memory)
    check(moved[:25], memory)  # rewound
    check([*moved[:25], *conversation(rng, 10)], memory)


def test_an_output_that_is_too_old_is_forgotten_and_a_later_one_with_the_same_words_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(echo, "_READ", 300)
    order, memory = "never touch the vendor folder again", dict[Any, Any]()
    line = SaidLine(f"We {order}.", "s")
    filler = [ToolWords(f"f{at}", f"{at} " * 120) for at in range(4)]
    early = (ToolWords("a", order), ToolWords("b", "something else"), ToolWords("s"))
    assert Echoes(early, memory).mark([line]) == [f"We «{order}»."]
    later = (ToolWords("a", order), filler[0], filler[1], filler[2], ToolWords("s"))
    assert Echoes(later, memory).mark([line]) == [line.text]
    again = (*later[:-1], ToolWords("b", f"{order}!"), ToolWords("s"))
    assert Echoes(again, memory).mark([line]) == [f"We «{order}»."]
