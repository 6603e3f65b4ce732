"""Findings: of what the agent said the statements that are worth most to whoever goes on.

What it concluded, and why, stands in the middle of a long answer as often as at its beginning. Each statement is
weighed by itself: a reason or a result counts more than a remark, words to the person more than those between two
calls, and of equal ones the newer. Those that find room are told in their order, as they were said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from fanfold.strategies.handover.facts import Said
from fanfold.strategies.handover.sections import Line
from fanfold.strategies.handover.statements import Statement

_FADES = 1.5
"""How much less a statement at the beginning of a stretch is worth than the same one at its end."""
_LINE, _OTHER = 12, 4
"""Characters of what stands around a line, and around a statement that is told with others."""
_CONSIDERED, _LETTERS = 6, 3
"""Characters that are considered for a token of room, and letters that a token has at least in most texts."""
_SAYS = 1.0
"""What a statement is worth that says more than what comes next."""
_GAP = " … "
"""Where something was left out between two statements."""


class _Choice(NamedTuple):
    """A statement by where it stands: which saying of the stretch, and which statement of that."""

    worth: float
    saying: int
    below: int
    """The number of the statement, counted downwards: of equal ones the first comes first."""


def findings(sayings: Sequence[Said], room: int, measure: Callable[[str], int]) -> tuple[list[Line], int]:
    """What the agent said within about so many tokens, a line for each time that it spoke, and how often it is left
    out altogether."""
    kept = _kept(sayings, room, measure)
    lines = [_line(sayings[at], sorted(numbers)) for at, numbers in sorted(kept.items())]
    told = {sayings[at].statements[number].text for at, numbers in kept.items() for number in numbers}
    gone = (said for at, said in enumerate(sayings) if at not in kept and not said.announces)
    return lines, sum(any(statement.text not in told for statement in said.statements) for said in gone)


def share_told(sayings: Sequence[Said], room: int) -> float:
    """The share of some room that statements fill which say more than what comes next."""
    most = max(1, room) * _LETTERS
    letters = 0
    for said in reversed(sayings):
        letters += sum(len(statement.text) for statement in said.statements if statement.worth >= _SAYS)
        if letters >= most:
            return 1.0
    return letters / most


def _kept(sayings: Sequence[Said], room: int, measure: Callable[[str], int]) -> dict[int, set[int]]:
    """The statements that find room, by the number of their saying."""
    kept: dict[int, set[int]] = {}
    choices = _considered(sayings, room)
    texts = [sayings[choice.saying].statements[-choice.below].text for choice in choices]
    whole = "\n".join(texts)
    left = room * len(whole) / max(1, measure(whole)) if whole else 0
    for choice, text in zip(choices, texts, strict=True):
        taken = len(text) + (_OTHER if choice.saying in kept else _LINE)
        if taken <= left:
            left -= taken
            kept.setdefault(choice.saying, set()).add(-choice.below)
    return kept


def _considered(sayings: Sequence[Said], room: int) -> list[_Choice]:
    """The statements that are worth most, as many as could find room."""
    left, some = room * _CONSIDERED, list[_Choice]()
    for choice in sorted(_choices(sayings), reverse=True):
        left -= len(sayings[choice.saying].statements[-choice.below].text)
        if left < 0 and some:
            break
        some.append(choice)
    return some


def _choices(sayings: Sequence[Said]) -> Iterator[_Choice]:
    """All statements, each once: where the same is said again, it counts where it was said last."""
    seen: set[str] = set()
    for at in range(len(sayings) - 1, -1, -1):
        faded = _FADES * (1 - (at + 1) / len(sayings))
        for number, statement in enumerate(sayings[at].statements):
            if statement.worth >= 0 and statement.text not in seen:
                seen.add(statement.text)
                yield _Choice(statement.worth - faded, at, -number)


def _line(said: Said, numbers: Sequence[int]) -> Line:
    """Some statements of a saying, in their order."""
    some = [said.statements[number] for number in numbers]
    gaps = [_gap(said.statements[before + 1 : number]) for before, number in pairwise([-1, *numbers])]
    text = "".join(f"{gap}{statement.text}" for gap, statement in zip(gaps, some, strict=True))
    slight = not any(statement.worth >= _SAYS for statement in some)
    return Line(text.strip(), "", (said.entry,), slight=slight)


def _gap(skipped: Sequence[Statement]) -> str:
    """What stands between two statements; where only announcements are skipped, nothing shows it."""
    return _GAP if any(statement.worth >= _SAYS for statement in skipped) else " "
