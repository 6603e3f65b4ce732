"""The results of an exam: what could be answered from what each policy would have sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fanfold.core.errors import BadInput
from fanfold.replay.exam.paper import CATEGORIES, GRADES, Folder, Sitting, answer_id


class GradedAnswer(msgspec.Struct, frozen=True):
    """How one answer was graded."""

    session: str
    policy: str
    category: str
    number: int
    question: str
    right: str
    answer: str
    grade: str
    tokens: int
    """Those of the request from which it was answered."""


def results(place: Path | str) -> list[GradedAnswer]:
    """All graded answers of an exam."""
    folder = Folder(place)
    paper = folder.paper
    if paper is None:
        raise BadInput(f"{place} holds no exam. `fanfold exam TRACES --write {place}` writes one.")
    return [one for sitting in paper.sittings for one in _graded(folder, sitting)]


def _graded(folder: Folder, sitting: Sitting) -> list[GradedAnswer]:
    questions, items = folder.questions(sitting), folder.grades(sitting)
    if questions is None or items is None:
        return []
    whose = {
        answer_id(sitting, number, request): request
        for number in range(1, len(questions) + 1)
        for request in sitting.requests
    }
    return [
        GradedAnswer(
            session=sitting.name,
            policy=whose[given.id].policy,
            category=questions[item.number - 1].category,
            number=item.number,
            question=item.question,
            right=item.right,
            answer=given.answer,
            grade=given.grade,
            tokens=whose[given.id].tokens,
        )
        for item in items
        for given in item.given
        if given.grade and given.id in whose
    ]


HEAD = ("policy", *CATEGORIES, "all", "unknown", "false", "questions", "tokens")


def exam_rows(found: Sequence[GradedAnswer]) -> list[tuple[str, ...]]:
    """The table: a row for each policy, the best first."""
    policies = dict.fromkeys(one.policy for one in found)
    groups = {name: [one for one in found if one.policy == name] for name in policies}
    order = sorted(groups, key=lambda name: -_worth(groups[name]))
    return [HEAD, *(_row(name, groups[name]) for name in order)]


def _row(name: str, some: Sequence[GradedAnswer]) -> tuple[str, ...]:
    by_category = ([one for one in some if one.category == category] for category in CATEGORIES)
    tokens = {(one.session, one.tokens) for one in some}
    return (
        name,
        *(f"{_worth(group):.0%}" if group else "–" for group in by_category),
        f"{_worth(some):.0%}",
        *(f"{sum(one.grade == grade for one in some) / len(some):.0%}" for grade in ("unknown", "false")),
        f"{len(some):,}",
        f"{sum(number for _, number in tokens) / len(tokens):,.0f}",
    )


def _worth(some: Sequence[GradedAnswer]) -> float:
    return sum(GRADES[one.grade] for one in some) / len(some) if some else 0.0


def unanswered(found: Sequence[GradedAnswer]) -> list[GradedAnswer]:
    """The questions that nobody could answer, each once."""
    able = {(one.session, one.number) for one in found if GRADES[one.grade] > 0}
    open_ = {(one.session, one.number): one for one in found if (one.session, one.number) not in able}
    return list(open_.values())
