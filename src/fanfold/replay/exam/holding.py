"""Holding an exam: models write the questions, answer them and grade. Each sees only its own papers.

Every answer of a model is written down at once, so that a second run goes on where the first one stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from fanfold.asking.careful import asker, room_of, window_of
from fanfold.asking.model import AskableModel
from fanfold.core.errors import AskFailed, BadInput
from fanfold.core.message import Message, user
from fanfold.core.plan import Answer, Ask
from fanfold.core.record import TokenUsage
from fanfold.replay.exam.making import Told
from fanfold.replay.exam.paper import (
    CATEGORIES,
    GRADES,
    Folder,
    Given,
    Item,
    Paper,
    PolicyRequest,
    Question,
    Sitting,
    sheet,
)
from fanfold.tokens import models
from fanfold.tokens.meter import Bpe
from fanfold.tokens.usage import cost

Asked = AskableModel | Callable[[Ask], Any] | str
"""Who is asked: a model, a function of a question, or the name of a model."""
_JSON = re.compile(r"[\[{].*[\]}]", re.S)
_ROOM = 0.8
"""The part of a model's window that a piece of a history may take."""
_ANSWER, _GRADE, _QUESTION = 60, 12, 90
"""Tokens that a model writes for one answer, one grade and one question, about."""
_LONGEST = 16_000
"""Tokens of an answer at most."""


class Work(msgspec.Struct, frozen=True):
    """What is left to do at one stage, and about how much it will cost."""

    stage: str
    calls: int
    reads: int
    """Tokens."""
    writes: int

    def dollars(self, model: str) -> float | None:
        """By the table of models; None if it has no price."""
        known = models.lookup(model)
        if known is None or known.prices is None:
            return None
        return cost(TokenUsage(input=self.reads, output=self.writes), known)


def left(place: Path | str) -> list[Work]:
    """What is left of an exam, by stage; told before anything is asked."""
    folder = Folder(place)
    paper = _paper(folder)
    asked = [one for one in paper.sittings if folder.questions(one) is None]
    open_ = [
        request
        for one in paper.sittings
        for request in one.requests
        if not _is_answered(folder, one, request)
    ]
    graded = [one for one in paper.sittings if not _is_graded(folder, one)]
    each = paper.count * (_QUESTION + _ANSWER)
    return [
        Work("questions", len(asked), sum(one.tokens for one in asked), len(asked) * paper.count * _QUESTION),
        Work(
            "answers", len(open_), sum(one.tokens + each for one in open_), len(open_) * paper.count * _ANSWER
        ),
        Work(
            "grades",
            len(graded),
            sum(each + len(one.requests) * paper.count * _ANSWER for one in graded),
            sum(len(one.requests) * paper.count * _GRADE for one in graded),
        ),
    ]


def hold(
    place: Path | str,
    *,
    asks: Asked | None = None,
    answers: Asked | None = None,
    grades: Asked | None = None,
    done: Told | None = None,
) -> list[str]:
    """Continue an exam as far as possible, and say what it waits for. Without a model, people fill in the files."""
    folder = Folder(place)
    paper = _paper(folder)
    steps = [
        *((f"questions: {one.name}", _ask, one, asks) for one in paper.sittings),
        *((f"answers: {one.name}", _answer, one, answers) for one in paper.sittings),
        *((f"grades: {one.name}", _grade, one, grades) for one in paper.sittings),
    ]
    waiting: list[str] = []
    for number, (words, step, sitting, who) in enumerate(steps):
        if done is not None:
            done(words, number / len(steps))
        waiting += step(folder, paper, sitting, who)
    return waiting


def _paper(folder: Folder) -> Paper:
    paper = folder.paper
    if paper is None:
        raise BadInput(
            f"{folder.place} holds no exam. `fanfold exam TRACES --write {folder.place}` writes one."
        )
    return paper


def _is_answered(folder: Folder, sitting: Sitting, request: PolicyRequest) -> bool:
    questions = folder.questions(sitting)
    return questions is not None and folder.answers(request, len(questions)) is not None


def _is_graded(folder: Folder, sitting: Sitting) -> bool:
    found = folder.grades(sitting)
    if not found or any(len(item.given) < len(sitting.requests) for item in found):
        return False
    return all(given.grade for item in found for given in item.given)


def _ask(folder: Folder, paper: Paper, sitting: Sitting, who: Asked | None) -> list[str]:
    """The questions about one conversation."""
    if folder.questions(sitting) is not None:
        return []
    if who is None:
        return [
            f"{folder.place}/questions/{sitting.stem}.json: {paper.count} questions, from history/{sitting.stem}.txt"
        ]
    found: list[Question] = []
    pieces = list(_pieces(folder.history(sitting), _room(who)))
    for number, piece in enumerate(pieces, 1):
        count = paper.count * number // len(pieces) - paper.count * (number - 1) // len(pieces)
        each = max(1, round(count / len(CATEGORIES)))
        words = _prompt(
            "questions", count=count, each=each, categories="\n".join(f"- {one}" for one in CATEGORIES)
        )
        part = f"This is part {number} of {len(pieces)} of it.\n\n" if len(pieces) > 1 else ""
        found += _read(_put(who, piece, part + words), list[Question])[:count]
    if len(found) != paper.count or not all(one.is_filled and one.category in CATEGORIES for one in found):
        raise AskFailed(
            f"{_name(who)} wrote {len(found)} questions about {sitting.name} instead of {paper.count}, or left gaps. "
            "Run it again, or choose another model."
        )
    folder.write_questions(sitting, found)
    return []


def _answer(folder: Folder, paper: Paper, sitting: Sitting, who: Asked | None) -> list[str]:
    """The answers from each reduced request of one conversation."""
    questions = folder.questions(sitting)
    if questions is None:
        return []
    waiting = []
    for request in sitting.requests:
        if folder.answers(request, len(questions)) is not None:
            continue
        if who is None:
            if not folder.has(f"answers/{request.code}.json"):
                folder.write_answers(request, questions)
            waiting.append(
                f"{folder.place}/answers/{request.code}.json: answers, from requests/{request.code}.txt"
            )
            continue
        listed = "\n".join(f"{number}. {one.question}" for number, one in enumerate(questions, 1))
        given = _read(
            _put(who, folder.request(request), _prompt("answers", questions=listed)), dict[str, Any]
        )
        answers = [str(given.get(str(n), "")).strip() or "unknown" for n in range(1, len(questions) + 1)]
        folder.write_answers(request, questions, answers)
    return waiting


def _grade(folder: Folder, paper: Paper, sitting: Sitting, who: Asked | None) -> list[str]:
    """The grades of all answers about one conversation."""
    questions = folder.questions(sitting)
    if questions is None or _is_graded(folder, sitting):
        return []
    given = [folder.answers(request, len(questions)) for request in sitting.requests]
    answers = [some for some in given if some is not None]
    if len(answers) < len(given):
        return []
    items = _kept(folder.grades(sitting) or [], sheet(sitting, questions, answers))
    if who is None:
        folder.write_grades(sitting, items)
        return [f"{folder.place}/grades/{sitting.stem}.json: grades ({', '.join(GRADES)})"]
    graded = _read(_put(who, "", _prompt("grades", sheet=_listed(items))), dict[str, str])
    done = [_with(item, graded) for item in items]
    if not all(one.grade in GRADES for item in done for one in item.given):
        raise AskFailed(f"{_name(who)} left answers about {sitting.name} without a grade. Run it again.")
    folder.write_grades(sitting, done)
    return []


def _kept(before: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """A sheet with the grades that were given already."""
    grades = {one.id: one.grade for item in before for one in item.given if one.grade}
    return [_with(item, grades) for item in items]


def _with(item: Item, grades: dict[str, str]) -> Item:
    given = (one if one.grade else Given(one.id, one.answer, grades.get(one.id, "")) for one in item.given)
    return msgspec.structs.replace(item, given=tuple(given))


def _listed(items: Sequence[Item]) -> str:
    """The sheet as the grader reads it; what is graded already is left out."""
    lines = []
    for item in items:
        open_ = [f"- {one.id}: {one.answer}" for one in item.given if not one.grade]
        if open_:
            lines += [f"{item.number}. {item.question}\nThe right answer: {item.right}", *open_, ""]
    return "\n".join(lines)


def _put(who: Asked, text: str, prompt: str) -> str:
    """What a model answers to a prompt about a text."""
    messages: tuple[Message, ...] = (user(text),) if text else ()
    answer: Answer = asker(named(who))(Ask(messages, prompt, max_tokens=_LONGEST))
    if answer.error:
        raise AskFailed(f"{answer.error}. What was answered before is kept: run it again to go on.")
    return answer.text


def named(who: Asked) -> Any:
    """A model by its name, through its provider's SDK; anything else is returned as it is."""
    if not isinstance(who, str):
        return who
    from fanfold.asking import sdks  # late: an extra

    known = models.lookup(who)
    match known.provider if known else "":
        case "anthropic":
            return sdks.Anthropic(who)
        case "gemini":
            return sdks.Gemini(who)
    return sdks.OpenAI(who)


def _name(who: Asked) -> str:
    return who if isinstance(who, str) else str(getattr(who, "name", "The model"))


def _room(who: Asked) -> int | None:
    room = room_of(who) if isinstance(who, str) else window_of(who)
    return int(room * _ROOM) if room else None


def _pieces(text: str, room: int | None) -> Iterator[str]:
    """A text in pieces that fit a model, cut between lines; most fit whole."""
    tokens = Bpe("o200k").text(text)
    number = 1 if room is None else -(-tokens // room)
    size = -(-len(text) // number)
    start = 0
    while start < len(text):
        end = text.find("\n", start + size)
        end = len(text) if end < 0 else end + 1
        yield text[start:end]
        start = end


def _prompt(name: str, **values: Any) -> str:
    text = (files("fanfold.replay.exam") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
    return text.format(**values)


def _read(text: str, kind: Any) -> Any:
    """The JSON in an answer, whatever stands around it."""
    found = _JSON.search(text)
    try:
        return msgspec.json.decode(found[0] if found else text, type=kind)
    except msgspec.DecodeError as error:
        raise AskFailed(
            f"The model's answer is not what was asked for ({error}). Run it again to go on."
        ) from None
