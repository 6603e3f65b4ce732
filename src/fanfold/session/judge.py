"""Judging rows by the provider's rules before they are sent, and repair what breaks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fanfold.core.draft import Draft
from fanfold.core.edit import Decision, Repair
from fanfold.core.errors import BadInput
from fanfold.core.view import Row, View, Violation
from fanfold.dialects.dialect import Dialect
from fanfold.session.state import State

ROUNDS = 3
"""How often repairs are made: what one of them shows may break a rule beside its neighbours."""


def repair(state: State, params: Mapping[str, Any]) -> tuple[Decision, ...]:
    """Record repairs where the rows would break the provider's grammar."""
    made: list[Decision] = []
    for _ in range(ROUNDS):
        repairs = _repaired(state, params)
        made += repairs
        if not repairs:
            break
    return tuple(made)


def _repaired(state: State, params: Mapping[str, Any]) -> tuple[Decision, ...]:
    view = state.view()
    if not broken(state, view, params):
        return ()
    draft = Draft(view, state.log, state.gauge, state.terms.budget)
    rows = [_as_recorded(row, state.dialect) for row in view.rows]
    for covers, shows in state.dialect.repair(rows, params):
        draft.offer(Repair(covers, shows), why="mend", by="mend", forced=True)
    if draft.decisions:
        state.commit(draft.decisions)
        state.store()
    return tuple(draft.decisions)


def _as_recorded(row: Row, dialect: Dialect) -> Row:
    """The row with what no JSON text can carry: that is replaced when it is sent, and not by what repairs the row."""
    wire = tuple(body for message in row.messages for body in dialect.wire(message, row.was))
    return row if wire == row.weight.wire else replace(row, weight=replace(row.weight, wire=wire))


def broken(state: State, view: View, params: Mapping[str, Any]) -> list[Violation]:
    """The rules that a request of this view would break; what was found legal before is not judged again."""
    if state.legal is not None and state.legal[0] is view and state.legal[1] == params:
        return []
    allowed = state.dialect.allow(view.rows, params)
    settled = _settled(state, view, params) if allowed.rows is view.rows else 0
    found = state.dialect.check(allowed.rows, allowed.params, settled)
    if not found:
        state.legal = (view, params)
    return found


def judge_frame(state: State, params: Mapping[str, Any]) -> None:
    """Refuse tools that the provider would refuse: nobody but the caller can put them right."""
    frame, choice = state.frame()[0], params.get("tool_choice")
    if state.offered is not None and state.offered[0] is frame and state.offered[1] == choice:
        return
    found = state.dialect.check_frame(frame, params)
    if found:
        raise BadInput(f"{'; '.join(map(str, found))}. Offer other tools: `open(…, tools=…)`.")
    state.offered = (frame, choice)


def _settled(state: State, view: View, params: Mapping[str, Any]) -> int:
    """How many of the first rows were found legal before, with the same parameters."""
    if state.legal is None or state.legal[1] != params:
        return 0
    rows = state.legal[0].rows
    return len(rows) if view.rows[: len(rows)] == rows else 0
