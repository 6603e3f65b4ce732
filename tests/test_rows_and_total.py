"""The rows that a person is shown come to the total above them, whatever bills taught."""

from __future__ import annotations

from fanfold.core.view import View
from fanfold.stores.memory import Memory
from tests.inspector.world import open_worked


def rows_of(view: View) -> int:
    return view.frame.tokens + sum(row.tokens for row in view.rows)


def test_the_total_after_undo_and_redo_is_the_sum_of_its_rows() -> None:
    with open_worked(Memory(), window=9_000, system="You watch disks.", strategy="drop_oldest") as chat:
        edit = next(one.decision.id for one in chat.edits() if one.fate == "stands")
        chat.undo(edit)
        chat.redo(edit)
        assert chat.view().tokens == rows_of(chat.view())
        assert chat.stats()["messages"] > len(chat.view().rows)
