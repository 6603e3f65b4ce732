"""The take-over exam: what can be answered from nothing but a reduced request.

from fanfold.replay.exam import chosen, exam_rows, hold, prepare, results

prepare(chosen(traces(["runs/"]), 32_000, 4), ["default", "drop_oldest"], folder, window=32_000)
hold(folder, asks="claude-opus-4-5", answers="gpt-5.2", grades="claude-opus-4-5")
exam_rows(results(folder))
"""

from fanfold.replay.exam.holding import Work, hold, left
from fanfold.replay.exam.making import chosen, prepare
from fanfold.replay.exam.paper import CATEGORIES, GRADES, Folder, Paper, Question, Sitting
from fanfold.replay.exam.paper import PolicyRequest as Request
from fanfold.replay.exam.results import GradedAnswer as Result
from fanfold.replay.exam.results import exam_rows, results, unanswered

__all__ = [
    "CATEGORIES",
    "GRADES",
    "Folder",
    "Paper",
    "Question",
    "Request",
    "Result",
    "Sitting",
    "Work",
    "chosen",
    "exam_rows",
    "hold",
    "left",
    "prepare",
    "results",
    "unanswered",
]
