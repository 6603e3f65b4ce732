"""Units of work that somebody else may have been quicker with: raise, repeat, or keep as a branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from fanfold.core.errors import Closed, Gone, Moved
from fanfold.core.record import Answered, Branched, Kept, Record
from fanfold.core.tree import Entry
from fanfold.session import outputs
from fanfold.session.state import State
from fanfold.session.traces import is_told

T = TypeVar("T")


def attempt(state: State, work: Callable[[State], T]) -> T:
    """Do a unit of work. If somebody else wrote first, do what the session was opened with as `on_moved`."""
    done: list[T] = []

    def once() -> T:
        done[:] = [work(_open(state))]
        return done[0]

    while True:
        done.clear()
        try:
            return state.unit(once)
        except Gone as gone:
            if not state.meet(gone.stubs):
                raise
        except Moved:
            if branched(state) and done:
                return done[0]
            if not repeatable(state):
                raise


def _open(state: State) -> State:
    if state.closed:
        raise Closed(f"The session {state.terms.name!r} is closed; open it again to go on.")
    return state


def repeatable(state: State) -> bool:
    """Catch up after somebody else wrote first, and say whether to repeat. Answers that were paid for are kept."""
    with state.lock:
        lost = [record for record in state.keeping.lost[0] if isinstance(record, Answered)]
        state.catch_up()
        erased = list(state.log.tree.erased)
        answers = [answer for answer in lost if not is_told(state.log, answer.sources, erased)]
        if answers:
            state.unit(lambda: state.write(*answers))
    return state.terms.on_moved == "reapply"


def branched(state: State) -> bool:
    """Keep the messages that came second as a branch: under their old parent, the head elsewhere."""
    with state.lock:
        records, entered = state.keeping.lost
        if state.terms.on_moved != "branch" or not entered:
            return False
        state.catch_up()
        state.unit(lambda: _branch(state, records, entered))
    return True


def _branch(state: State, records: Sequence[Record], entered: Sequence[Entry]) -> None:
    state.keeping.enter(*entered)
    state.write(Branched(entered[-1].id, state.terms.clock()))
    blobs = {record.address: record for record in records if isinstance(record, Kept) and record.blob}
    for entry in entered:
        outputs.arrived_beside(state, entry, blobs)
