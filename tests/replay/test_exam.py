"""The take-over exam: questions from the whole, answers from the reduced request, grades without knowing whose."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fanfold.core.errors import AskFailed, BadInput
from fanfold.core.message import text_of
from fanfold.core.plan import Ask
from fanfold.replay import Trace, traces
from fanfold.replay.exam import (
    CATEGORIES,
    Folder,
    chosen,
    exam_rows,
    hold,
    left,
    prepare,
    results,
    unanswered,
)
from fanfold.replay.exam.holding import named
from fanfold.testing import FakeModel, called, replied, returned, said

WINDOW = 3_000
POLICIES = ["none", "drop_oldest"]


def recorded(folder: Path, name: str = "talk", begin: str = "Look through the shop.") -> Trace:
    """A conversation that does not fit: the order stands in its first output only."""
    messages = [said(begin)]
    for step in range(40):
        messages.append(
            replied(f"I look at page {step}.", called(f"c{step}", "find", json.dumps({"page": step})))
        )
        messages.append(returned(f"c{step}", "order HAT-4711" if not step else "nothing here " * 60))
    path = folder / f"{name}.json"
    path.write_text(json.dumps([*messages, replied("There is no other.")]))
    (trace,) = traces([path])
    return trace


QUESTIONS = [
    {"category": CATEGORIES[n % 4], "question": f"What is the order? ({n})", "answer": "HAT-4711"}
    for n in range(16)
]


def asks(question: Ask) -> str:
    """Writes sixteen questions, with words around them."""
    assert "order HAT-4711" in text_of(question.messages[0])
    return f"Here they are:\n```json\n{json.dumps(QUESTIONS)}\n```"


def answers(question: Ask) -> str:
    """Knows the order if it stands in the request; the last question it always gets wrong."""
    known = "HAT-4711" in text_of(question.messages[0])
    given = {str(n): "It is HAT-4711." if known else "unknown" for n in range(1, 17)}
    return json.dumps({**given, "16": "HAT-9"})


def grades(question: Ask) -> str:
    """Right is who names the order."""
    found = re.findall(r"^- (\w+): (.*)$", question.prompt, re.M)
    return json.dumps(
        {id: "right" if "HAT-4711" in answer else "false" for id, answer in found if len(id) == 8}
    )


def test_an_exam_by_models_tells_what_each_policy_left_to_know(tmp_path: Path) -> None:
    folder = tmp_path / "exam"
    prepare([recorded(tmp_path)], POLICIES, folder, window=WINDOW)
    assert [work.calls for work in left(folder)] == [1, 2, 1]
    assert left(folder)[0].reads > 5_000
    assert hold(folder, asks=FakeModel(asks), answers=FakeModel(answers), grades=FakeModel(grades)) == []
    assert [work.calls for work in left(folder)] == [0, 0, 0]
    found = results(folder)
    head, best, worst = (dict(zip(exam_rows(found)[0], row, strict=True)) for row in exam_rows(found))
    assert len(head) == 10
    assert best == {
        "policy": "none", **dict.fromkeys(CATEGORIES[:3], "100%"), "exact names": "75%", "all": "94%", "unknown": "0%",
        "false": "6%", "questions": "16", "tokens": best["tokens"],
    }  # fmt: skip
    assert (worst["policy"], worst["all"], worst["unknown"], worst["false"]) == (
        "drop_oldest",
        "0%",
        "94%",
        "6%",
    )
    assert int(worst["tokens"].replace(",", "")) < WINDOW < int(best["tokens"].replace(",", ""))
    assert [one.number for one in unanswered(found)] == [16]


def test_nobody_sees_what_is_not_for_his_eyes(tmp_path: Path) -> None:
    folder = tmp_path / "exam"
    prepare([recorded(tmp_path)], POLICIES, folder, window=WINDOW)
    answering, grading = FakeModel(answers), FakeModel(grades)
    hold(folder, asks=FakeModel(asks), answers=answering, grades=grading)
    papers = [str(question) for question in (*answering.asked, *grading.asked)]
    assert len(papers) == 3
    assert not [policy for policy in POLICIES for paper in papers if policy in paper]
    assert not [paper for paper in papers[:2] if "answer': 'HAT-4711" in paper]
    assert grading.asked[0].messages == ()
    order = [[given.id for given in item.given] for item in Folder(folder).grades(_sitting(folder)) or ()]
    firsts = {ids.index(min(ids)) for ids in order}
    assert firsts == {0}  # by their ids, which say nothing
    assert len({id for ids in order for id in ids}) == 32


def _sitting(folder: Path) -> Any:
    paper = Folder(folder).paper
    assert paper is not None
    return paper.sittings[0]


def test_a_second_run_goes_on_where_the_first_one_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "exam"
    talks = [recorded(tmp_path), recorded(tmp_path, "other")]
    prepare(talks, POLICIES, folder, window=WINDOW)
    failing = FakeModel(answers, answers, answers, ValueError("the line is dead"))
    with pytest.raises(AskFailed, match=r"the line is dead.*run it again to go on"):
        hold(folder, asks=FakeModel(asks), answers=failing, grades=FakeModel(grades))
    again, none = FakeModel(answers), FakeModel(AssertionError())
    prepare(talks, POLICIES, folder, window=WINDOW)
    hold(folder, asks=none, answers=again, grades=FakeModel(grades))
    assert (again.calls, none.calls) == (1, 0)
    assert len(results(folder)) == 64


def test_a_policy_can_be_added_later(tmp_path: Path) -> None:
    folder, trace = tmp_path / "exam", recorded(tmp_path)
    prepare([trace], ["none"], folder, window=WINDOW)
    hold(folder, asks=FakeModel(asks), answers=FakeModel(answers), grades=FakeModel(grades))
    prepare([trace], ["drop_oldest"], folder, window=WINDOW)
    more = FakeModel(answers)
    hold(folder, answers=more, grades=FakeModel(grades))
    assert more.calls == 1
    assert {one.policy for one in results(folder)} == {"none", "drop_oldest"}


def test_people_fill_the_files_one_stage_after_another(tmp_path: Path) -> None:
    folder = tmp_path / "exam"
    prepare([recorded(tmp_path)], POLICIES, folder, window=WINDOW)
    (waiting,) = hold(folder)
    (questions,) = folder.glob("questions/*.json")
    assert waiting.startswith(str(questions))
    assert "order HAT-4711" in next(folder.glob("history/*.txt")).read_text()
    blank = json.loads(questions.read_text())
    assert [one["category"] for one in blank] == [name for name in CATEGORIES for _ in range(4)]
    questions.write_text(json.dumps(QUESTIONS))
    assert len(hold(folder)) == 2
    for path in folder.glob("answers/*.json"):
        sheet = json.loads(path.read_text())
        assert sheet["question 1"] == "What is the order? (0)"
        known = "HAT-4711" in (folder / "requests" / f"{path.stem}.txt").read_text()
        path.write_text(json.dumps({str(n): "HAT-4711" if known else "I don't know." for n in range(1, 17)}))
    (waiting,) = hold(folder)
    (grading,) = folder.glob("grades/*.json")
    assert str(grading) in waiting
    items = json.loads(grading.read_text())
    for item in items:
        for given in item["given"]:
            assert given["grade"] == ("unknown" if "know" in given["answer"] else "")
            given["grade"] = given["grade"] or "half"
    grading.write_text(json.dumps(items))
    assert hold(folder) == []
    shares = {row[0]: row[5] for row in exam_rows(results(folder))}
    assert shares == {"policy": "all", "none": "50%", "drop_oldest": "0%"}


def test_what_was_filled_wrongly_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "exam"
    prepare([recorded(tmp_path)], POLICIES, folder, window=WINDOW)
    (path,) = folder.glob("questions/*.json")
    path.write_text(json.dumps([{**QUESTIONS[0], "category": "gossip"}]))
    with pytest.raises(BadInput, match="there is no category 'gossip'"):
        hold(folder)
    path.write_text("[")
    with pytest.raises(BadInput, match=r"questions/.*\.json: .*remove it to have it written anew"):
        hold(folder)
    with pytest.raises(BadInput, match="holds no exam"):
        results(tmp_path)
    with pytest.raises(BadInput, match="holds an exam with a window of 3,000"):
        prepare([recorded(tmp_path)], POLICIES, folder, window=4_000)


@pytest.mark.parametrize(
    "written", ["no idea", "[]", json.dumps([*QUESTIONS[:3], {**QUESTIONS[3], "answer": ""}])]
)
def test_a_model_that_does_not_do_what_was_asked_is_told_on(tmp_path: Path, written: str) -> None:
    folder = tmp_path / "exam"
    prepare([recorded(tmp_path)], POLICIES, folder, window=WINDOW, count=4)
    with pytest.raises(AskFailed, match="again"):
        hold(folder, asks=FakeModel(written))


class Small:
    """A model whose window holds half of the history."""

    name = "gpt-4"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, messages: Any, system: str, max_tokens: int | None) -> str:
        """As many questions as it is asked for."""
        text = text_of(messages[0])
        self.asked.append(text)
        count = re.search(r"Write (\d+) questions", text)
        assert count is not None
        return json.dumps(QUESTIONS[: int(count[1])])


def test_a_history_that_does_not_fit_the_model_is_asked_about_in_parts(tmp_path: Path) -> None:
    folder = tmp_path / "exam"
    long = recorded(tmp_path, begin="Look through the shop. " * 400)
    prepare([long], ["none"], folder, window=WINDOW)
    model = Small()
    hold(folder, asks=model)
    assert len(model.asked) == 2
    assert "This is part 1 of 2 of it." in model.asked[0]
    assert "order HAT-4711" in model.asked[0]
    assert "I look at page 39." in model.asked[1]
    assert len(Folder(folder).questions(_sitting(folder)) or ()) == 16


def test_long_conversations_are_chosen_that_are_recorded_from_their_beginning(tmp_path: Path) -> None:
    some = [recorded(tmp_path, f"t{n}") for n in range(6)]
    continued = recorded(tmp_path, "late", "This session is being continued from a previous conversation.")
    assert chosen([*some, continued], WINDOW) == some
    assert chosen(some, 100_000) == []
    few = chosen(some, WINDOW, 3)
    assert len(few) == 3
    assert few == chosen(some, WINDOW, 3)


def test_a_model_is_found_by_its_name() -> None:
    kinds = {
        name: type(named(name)).__name__ for name in ("claude-opus-4-5", "gpt-5.2", "gemini-2.5-pro", "mine")
    }
    assert list(kinds.values()) == ["Anthropic", "OpenAI", "Gemini", "OpenAI"]
