"""Marks in bodies that a client changed: once the entry is erased, its marks are nowhere."""

from collections.abc import Iterable, Sequence
from typing import Any

from fanfold import Session
from laws import holds


class Marks:
    """Words that stand in one place only, and what must have become of them."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}
        """The entry in whose place each mark was sent."""
        self._gone: set[str] = set()
        self._made = 0

    def new(self) -> str:
        """Words that nobody said before."""
        self._made += 1
        return f"as-of-day-{self._made:05}"

    def put(self, mark: str, entry: str) -> None:
        """This mark was sent in the place of this entry."""
        self._places[mark] = entry

    def of(self, entry: str) -> list[str]:
        """The marks of an entry."""
        return [mark for mark, place in self._places.items() if place == entry]

    def erased(self, entry: str, sessions: Iterable[Session]) -> bool:
        """An entry was erased with its marks, but for those that a client sent elsewhere, too."""
        marks = self.of(entry)
        told = _told(sessions, but=entry) if marks else ""
        gone = {mark for mark in marks if mark not in told}
        self._gone |= gone
        return bool(gone)

    def sent_again(self, bodies: Sequence[Any], before: Sequence[str], after: Sequence[str]) -> None:
        """A transcript was merged: in another place, after other messages, an erased body is a new one."""
        for mark in set(self._gone):
            at = next((i for i, body in enumerate(bodies) if mark in str(body)), len(bodies))
            same = before[:at] == after[:at] and before[at : at + 1] == [self._places[mark]]
            if at < len(bodies) and not same:
                self._gone.discard(mark)

    def are_gone(self, sessions: Iterable[Session]) -> None:
        """Nothing of what was erased is in any record, entry or view."""
        if not self._gone:
            return
        for session in sessions:
            log = holds.log_of(session)
            for what in (log.records, log.tree.entries.values(), session.view().messages):
                left = [(mark, one) for one in what for mark in self._gone if mark in str(one)]
                assert not left, f"{left[0][0]} was erased and is left in {left[0][1]}"


def _told(sessions: Iterable[Session], but: str) -> str:
    """All that was said, or sent in the place of what was said, but for one entry."""
    told = []
    for session in sessions:
        log = holds.log_of(session)
        told += [log.bodies(id) for id in log.tree.entries if id != but]
    return str(told)
