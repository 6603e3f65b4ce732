"""Speech: what people said in a talk without tools, sentence by sentence.

Where not all of it finds room, the sentences that matter most stay: what forbids or limits, then what states, wants or
prefers, then questions, then small talk; of equal ones the newest. A sentence of which a later one changed the value is
left out. What stays of a message is told as it was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fanfold.strategies.handover.facts import Asked
from fanfold.strategies.handover.sections import Line
from fanfold.strategies.handover.talk import RULES, lasts, names_something, pieces, rank, replaced
from fanfold.text.cutting import short

_LONG = 300
"""Characters of a sentence; of a longer one its beginning is told."""
_LINE = 2
"""Tokens of what stands around a line."""


class _Piece(NamedTuple):
    message: int
    text: str
    gap: str
    rank: int
    cost: int


def speech(
    persons: Sequence[Asked],
    later: Sequence[Asked],
    room: int,
    measure: Callable[[str], int],
    answers: Mapping[str, tuple[str, int]] | None = None,
) -> tuple[list[Line], list[Line], int]:
    """What people ruled, what else they said, both in order, and the tokens that it takes.

    `answers` has, by the entry of a short answer, what it is told with (its question), and how much that matters.
    """
    gone = replaced(tuple([item.words.own for item in (*persons, *later)]))
    found = [
        _Piece(message=at, text=text, gap=gap, rank=worth, cost=measure(text) + _LINE)
        for at, item in enumerate(persons)
        for text, gap, worth in _pieces(item, gone, (answers or {}).get(item.entry))
    ]
    left, kept = room, set[int]()
    newest = {
        piece.text: number for number, piece in enumerate(found)
    }  # the same words again say nothing new

    def worth(number: int) -> tuple[int, bool, bool, int]:
        text = found[number].text
        return found[number].rank, names_something(text), lasts(text), number

    for number in sorted(newest.values(), key=worth, reverse=True):
        if found[number].cost <= left:
            left -= found[number].cost
            kept.add(number)
    rules, others = list[Line](), list[Line]()
    for at, item in enumerate(persons):
        some = [found[number] for number in sorted(kept) if found[number].message == at]
        if some:
            line = Line(_joined(some), "", (item.entry,))
            (rules if all(piece.rank == RULES for piece in some) else others).append(line)
    return rules, others, room - left


def _pieces(
    item: Asked, gone: frozenset[str], answered: tuple[str, int] | None
) -> Iterator[tuple[str, str, int]]:
    """What somebody said by sentences, each with what stands behind it and how much it matters; an answer is one."""
    if answered is not None:
        question, worth = answered
        yield f"{item.words.own.strip()} {question}", "", max(rank(item.words.own), worth)
        return
    for piece, gap in pieces(item.words.own):
        if piece.strip() not in gone:
            text = short(piece.strip(), _LONG)
            yield text, gap, rank(text)


def _joined(some: Sequence[_Piece]) -> str:
    """Some sentences as they were said, with what stood between them."""
    return "".join(f"{piece.text}{piece.gap}" for piece in some).strip()
