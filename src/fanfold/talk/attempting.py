"""Units of work that somebody else may have been quicker with: raise, repeat, or keep as a branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fanfold.errors import Closed, Gone, Moved
from fanfold.record import Answered, Branched, Kept
from fanfold.talk import outputs
from fanfold.talk.state import State

T = TypeVar("T")


def attempt(state: State, work: Callable[[State], T]) -> T:
    """Do a unit of work. If somebody else wrote first, do what the session was opened with as `on_moved`."""
    while True:
        value: list[T] = []
        try:
            with state:
                if state.closed:
                    raise Closed(f"The session {state.terms.name!r} is closed; open it again to go on.")
                value.append(work(state))
            return value[0]
        except Gone as gone:
            if not state.meet(gone.stubs):
                raise
        except Moved:
            if branched(state) and value:
                return value[0]
            if not repeatable(state):
                raise


def repeatable(state: State) -> bool:
    """Catch up after somebody else wrote first, and say whether to repeat. Answers that were paid for are kept."""
    with state.lock:
        lost = [record for record in state.keeping.lost[0] if isinstance(record, Answered)]
        state.catch_up()
        answers = [
            answer for answer in lost if not state.log.leaves(answer.sources) & set(state.log.tree.erased)
        ]
        if answers:
            with state:
                state.write(*answers)
    return state.terms.on_moved == "reapply"


def branched(state: State) -> bool:
    """Keep the messages that came second as a branch: under their old parent, the head elsewhere."""
    with state.lock:
        records, entered = state.keeping.lost
        if state.terms.on_moved != "branch" or not entered:
            return False
        state.catch_up()
        with state:
            state.keeping.enter(*entered)
            state.write(Branched(entered[-1].id, state.terms.clock()))
            blobs = {record.address: record for record in records if isinstance(record, Kept) and record.blob}
            for entry in entered:
                outputs.arrived_beside(state, entry, blobs)
    return True
