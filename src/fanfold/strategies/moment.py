"""The right moment: where a piece of work has just ended, a reduction does the least harm.

Between two such boundaries the agent is in the middle of something, and needs what it has just seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fanfold.core.message import Call, Result
from fanfold.core.view import Row, View
from fanfold.strategies.handover.evidence import ended, is_saving
from fanfold.strategies.handover.tools import Tools, Use

_DONE = ("completed", "complete", "done")


def boundary(view: View, tools: Tools) -> str:
    """What has just ended at the end of a view: a word for it, or nothing where the work is in full swing.

    It is a boundary where the person asks for something or answers a question, the plan is made or an item of it is
    finished, a check has passed, work was committed, or another agent has reported.
    """
    newest = _newest(view.rows)
    if any(row.is_request for row in newest):
        return "request"
    calls = _calls(view.rows)
    for result in _results(newest):
        call = calls.get(result.call)
        if call is not None and (told := _ends(result, tools.use(call), call, view, tools)):
            return told
    return ""


def _newest(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows behind the last reply."""
    at = next((at for at in range(len(rows) - 1, -1, -1) if rows[at].is_reply), -1)
    return [row for row in rows[at + 1 :] if row.kind == "entry"]


def _results(rows: Sequence[Row]) -> Iterator[Result]:
    return (result for row in rows for message in row.messages for result in message.results)


def _calls(rows: Sequence[Row]) -> dict[str, Call]:
    """The calls of the last reply, by their ids."""
    last = next((row for row in reversed(rows) if row.is_reply), None)
    return {call.id: call for message in (last.messages if last else ()) for call in message.calls}


def _ends(result: Result, use: Use, call: Call, view: View, tools: Tools) -> str:
    """What a call has brought to its end."""
    how = ended(result, use)
    if how.ok is False:
        return ""
    if use.plan or use.task is not None:
        return "plan" if _finishes(use, call, view, tools) else ""
    if how.check:
        return "check" if how.ok else ""
    if how.ok and is_saving(use):
        return "commit"
    if use.kind == "ask":
        return "request"
    return "report" if use.kind == "agent" else ""


def _finishes(use: Use, call: Call, view: View, tools: Tools) -> bool:
    """Whether a plan is the first one, for which all was looked at; has more finished items than the one before; or a
    task is finished."""
    if use.task is not None:
        return use.task[2].lower() in _DONE
    older = (
        tools.use(one)
        for row in reversed(view.rows)
        if row.calls
        for message in row.messages
        for one in message.calls
        if one.id != call.id
    )
    before = next((one for one in older if one.plan), None)
    if before is None:
        return len(use.plan) > 1 and not _finished(use)
    return _finished(use) > _finished(before)


def _finished(use: Use) -> int:
    return sum(state.lower() in _DONE for _, state in use.plan)
