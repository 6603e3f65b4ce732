"""The papers of an exam: a folder of files that models or people fill, one stage after another.

    exam.json               what is examined
    history/01-name.txt     the whole conversation                    for who writes the questions
    questions/01-name.json  the questions with their answers          to be filled
    requests/1f3a….txt      a reduced request, without its policy     for who answers
    answers/1f3a….json      the answers from it                       to be filled
    grades/01-name.json     all answers, shuffled and anonymous       to be filled

A stage is written when the one before it is filled. The folder is the whole state: to go on is to look what is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fanfold.core.errors import BadInput
from fanfold.core.ids import digest
from fanfold.text.json_text import print_json

T = TypeVar("T")

CATEGORIES = ("intent and constraints", "work done and state", "failures and decisions", "exact names")
GRADES = {"right": 1.0, "half": 0.5, "false": 0.0, "unknown": 0.0}
"""What an answer is worth."""
UNKNOWN = re.compile(
    r"\W*(?:unknown|not known|i (?:do not|don't) know|不明|分かりません|わかりません)\W*", re.I
)


class Question(msgspec.Struct, frozen=True):
    """A question about a conversation, with its answer."""

    category: str = ""
    question: str = ""
    answer: str = ""

    @property
    def is_filled(self) -> bool:
        """Whether somebody wrote it."""
        return bool(self.category and self.question.strip() and self.answer.strip())


class Given(msgspec.Struct, frozen=True):
    """An answer on a grading sheet, with an id that does not say whose it is."""

    id: str
    answer: str
    grade: str = ""


class Item(msgspec.Struct, frozen=True):
    """A question on a grading sheet, and all answers to it."""

    number: int
    question: str
    right: str
    given: tuple[Given, ...]


class PolicyRequest(msgspec.Struct, frozen=True):
    """What a policy would have sent, as the answerer gets it."""

    policy: str
    code: str
    """The name of its file; it does not say which policy it is."""
    tokens: int


class Sitting(msgspec.Struct, frozen=True):
    """One conversation that is examined."""

    name: str
    stem: str
    """The name of its files."""
    tokens: int
    """Those of the whole history."""
    requests: tuple[PolicyRequest, ...]


class Paper(msgspec.Struct, frozen=True):
    """What is examined."""

    window: int
    count: int
    """Questions about each conversation."""
    sittings: tuple[Sitting, ...]


class Folder:
    """The files of an exam."""

    def __init__(self, place: Path | str) -> None:
        self.place = Path(place)

    @property
    def paper(self) -> Paper | None:
        """What is examined; None if nothing was written yet."""
        return self._read("exam.json", Paper)

    def write_paper(self, paper: Paper) -> None:
        """Say what is examined."""
        self._write("exam.json", paper)

    def history(self, sitting: Sitting) -> str:
        """The whole conversation."""
        return self._text(f"history/{sitting.stem}.txt")

    def request(self, request: PolicyRequest) -> str:
        """A reduced request."""
        return self._text(f"requests/{request.code}.txt")

    def write_text(self, name: str, text: str) -> None:
        """A file for people and models to read."""
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")

    def _text(self, name: str) -> str:
        return (self.place / name).read_text(encoding="utf-8")

    def questions(self, sitting: Sitting) -> list[Question] | None:
        """The questions, if they are filled."""
        found = self._read(f"questions/{sitting.stem}.json", list[Question])
        if not found or not all(one.is_filled for one in found):
            return None
        if strange := sorted({one.category for one in found} - set(CATEGORIES)):
            raise BadInput(
                f"{self.place}/questions/{sitting.stem}.json: there is no category {strange[0]!r}. "
                f"The categories are {', '.join(CATEGORIES)}."
            )
        return found

    def write_questions(self, sitting: Sitting, questions: Sequence[Question]) -> None:
        """Write the questions, or places for them."""
        self._write(f"questions/{sitting.stem}.json", questions)

    def answers(self, request: PolicyRequest, count: int) -> list[str] | None:
        """The answers from a request, if all are filled."""
        found = self._read(f"answers/{request.code}.json", dict[str, Any])
        answers = [str((found or {}).get(str(number), "")) for number in range(1, count + 1)]
        return answers if all(answer.strip() for answer in answers) else None

    def write_answers(
        self, request: PolicyRequest, questions: Sequence[Question], answers: Sequence[str] = ()
    ) -> None:
        """Write the answers, or places for them beside the questions."""
        asked = {f"question {n}": one.question for n, one in enumerate(questions, 1)}
        given = [*answers, *[""] * (len(questions) - len(answers))]
        filled = {str(n): answer for n, answer in enumerate(given, 1)}
        pairs = (pair for pair in zip(asked.items(), filled.items(), strict=True))
        self._write(f"answers/{request.code}.json", dict(item for pair in pairs for item in pair))

    def grades(self, sitting: Sitting) -> list[Item] | None:
        """The grading sheet, if it was written."""
        found = self._read(f"grades/{sitting.stem}.json", list[Item])
        wrong = {one.grade for item in found or () for one in item.given if one.grade} - set(GRADES)
        if wrong:
            raise BadInput(
                f"{self.place}/grades/{sitting.stem}.json: {sorted(wrong)[0]!r} is no grade. "
                f"The grades are {', '.join(GRADES)}."
            )
        return found

    def write_grades(self, sitting: Sitting, sheet: Sequence[Item]) -> None:
        """Write the grading sheet."""
        self._write(f"grades/{sitting.stem}.json", sheet)

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.place / name).exists()

    def _read(self, name: str, kind: type[T]) -> T | None:
        path = self.place / name
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except msgspec.DecodeError as error:
            raise BadInput(f"{path}: {error}. Mend it, or remove it to have it written anew.") from None

    def _write(self, name: str, value: Any) -> None:
        half = f"{name}.half"
        self.write_text(half, print_json(value) + "\n")
        (self.place / half).replace(self.place / name)


def answer_id(sitting: Sitting, number: int, request: PolicyRequest) -> str:
    """The id of an answer on a grading sheet. It does not show whose answer it is."""
    return digest(f"{sitting.stem} {number} {request.code}".encode())[:8]


def sheet(sitting: Sitting, questions: Sequence[Question], answers: Sequence[Sequence[str]]) -> list[Item]:
    """Every question with all answers, in an order that differs each time; "unknown" needs nobody to grade it."""
    return [
        Item(
            number,
            one.question,
            one.answer,
            tuple(sorted(_given(sitting, number, answers), key=lambda g: g.id)),
        )
        for number, one in enumerate(questions, 1)
    ]


def _given(sitting: Sitting, number: int, answers: Sequence[Sequence[str]]) -> Iterator[Given]:
    for request, some in zip(sitting.requests, answers, strict=True):
        answer = some[number - 1]
        grade = "unknown" if UNKNOWN.fullmatch(answer) else ""
        yield Given(answer_id(sitting, number, request), answer, grade)
