"""Thinking of finished turns: nobody reads it again, and what came of it was said or done.

Providers bind thinking to the running loop, so none of that is touched (design.md, Grammar). What a provider seals, and
does not count, stays as well: there is nothing to gain.
"""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.core.budget import Budget
from fanfold.core.edit import Elide
from fanfold.core.errors import BadSetting
from fanfold.core.message import Thinking
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import Row, View


def drop_thinking(*, keep_turns: int = 0) -> Strategy:
    """Leave out the thinking of finished turns, oldest first, down to the target; the newest `keep_turns` keep theirs.

    The turn that is running keeps its thinking in any case.
    """
    if keep_turns < 0:
        raise BadSetting("drop_thinking keeps the thinking of zero or more finished turns.")

    def drop_thinking(view: View, budget: Budget) -> Plan:
        for address in list(_thoughts(view, keep_turns)):
            if view.tokens <= budget.goal:
                return
            view = yield Elide(address, "")

    return drop_thinking


def _thoughts(view: View, keep_turns: int) -> Iterator[str]:
    """Where thinking stands that may go, oldest first."""
    turns = view.turns[: max(0, len(view.turns) - 1 - keep_turns)] if view.request else ()
    offered = {row.id for block in view.offered for row in block.rows}
    for row in (row for turn in turns for row in turn.rows if row.id in offered):
        yield from _in(row)


def _in(row: Row) -> Iterator[str]:
    """The thinking of a message that says something else as well."""
    if row.kind != "entry" or not row.is_reply or row.is_thought:
        return
    for number, part in enumerate(row.messages[0].parts):
        if isinstance(part, Thinking) and part != Thinking():
            yield f"{row.id}#{number}"
