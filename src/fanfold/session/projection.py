"""The view of a growing log: what was shown before is not computed again."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from operator import is_
from types import MappingProxyType
from typing import Any

from fanfold.core.edit import RECALL, Decision, Pin, Undo
from fanfold.core.layout import Layout
from fanfold.core.log import Log
from fanfold.core.message import Message
from fanfold.core.record import VISIBLE, Edited, Framed, Move, Record
from fanfold.core.view import Row, Scale, View, Weight
from fanfold.stores.checkpoint import Checkpoint


class Projection:
    """Keeps the view of a growing log at hand: a new message costs one row, a new edit the rows it covers."""

    def __init__(self, log: Log, scale: Scale, title: str = "", *, refs: bool = False) -> None:
        self.log = log
        self.scale = scale
        self.title = title
        self.refs = refs
        """Whether the session offers tools with which a model looks things up again."""
        self.names_refs = refs
        """Whether views name references: a model has such tools, be it from somebody else."""
        self.weights: dict[str, tuple[int, Weight]] = {}
        """What was weighed before, so that it is not weighed again."""
        self.memory: dict[Any, Any] = {}
        """What strategies keep for their next plan."""
        self._read = 0
        self._start: tuple[str | None, tuple[Row, ...], tuple[str, ...]] | None = None
        """The tip, rows and shadowed edits that it went on from, if not from nothing."""
        self._said: int | None = 0
        self._said_before: int | None = None
        """What was said before that in tokens, as far as it is known."""
        self._look_ups: set[str] = set()
        """The calls with which a model looked something up."""
        self._torn = False
        """Whether taking something in was broken off, so that what is here may lack it."""
        self._view: View | None = None
        self._drafted: tuple[Sequence[Decision], View, View] | None = None
        """Decisions that are about to be recorded, the view that they were made on, and what they made of it."""
        self._layout = Layout(log, scale, None, self.weights)
        self._rebuild(None)

    def expect(self, decisions: Sequence[Decision], before: View, after: View) -> None:
        """Take over what a draft made of a view, once its decisions are recorded: every edit is applied once."""
        self._drafted = (decisions, before, after)

    def view(self) -> View:
        """The view at the head, now."""
        self.follow()
        if self._view is None:
            self._view = self._layout.view(
                self._tip,
                self.log.version,
                title=self.title,
                refs=MappingProxyType(self.log.addresses) if self.names_refs else None,
                kept=self.log.kept_as,
                said=self.log.said,
                behind=self.log.entries_behind,
                looked=self.log.looked.get,
                count=self.scale.text,
                weigh=lambda message: self.scale.message(message).tokens,
                memory=self.memory,
            )
        return self._view

    @property
    def said(self) -> int | None:
        """The tokens of all entries of the path as they were said, without look-ups; None where that is not known."""
        self.follow()
        return self._said

    def tokens_of(self, id: str) -> int:
        """The tokens of an entry on the path, as the view counts them."""
        self.follow()
        return self.weights[id][1].tokens

    @property
    def passed(self) -> set[str | None]:
        """The entries before the tip, as far as they are known here; none of them can be the tip by going on."""
        self.follow()
        start = self._start[0] if self._start is not None else None
        return {start, *self.path} - {self._tip}

    @property
    def at_hand(self) -> set[str]:
        """The entries of the path, and those that it went on from, as far as they were looked at."""
        start = self._start[1] if self._start is not None else ()
        return {*self.path.copy(), *(row.id for row in start)}

    @property
    def behind(self) -> int:
        """How many records were not looked at yet."""
        return len(self.log.records) - self._read

    @property
    def ahead(self) -> bool:
        """Whether records were shown that the log no longer has."""
        return self._read > len(self.log.records)

    def forget(self) -> None:
        """Make the next view anew, from the same rows."""
        self._view = None

    def restart(self) -> None:
        """Lay out everything anew: the log was rewritten by an erasure."""
        self._start = None
        self.weights.clear()
        self.memory = {}  # a plan that is still at work keeps what it found for itself
        self._lay_out()

    def complete(self) -> None:
        """Go on with the same rows in a log that has everything now that happened before them."""
        self.path: list[str] = self.log.tree.path(self._tip)
        self.depth: dict[str, int] = {id: at for at, id in enumerate(self.path)}
        self._start, self._read, self._view = None, len(self.log.records), None

    def resume(self, last: Checkpoint, rows: Iterable[Row]) -> None:
        """Go on from rows that were laid out before, in a log that has no records yet."""
        self._start, self._said_before = (last.head, tuple(rows), tuple(last.shadowed)), last.said
        self._lay_out()

    def _lay_out(self) -> None:
        """Begin anew, from the first entry or from where this log goes on."""
        self._torn, self._view = True, None
        if self._start is None:
            self._rebuild(self.log.head)
            self._read = len(self.log.records)
        else:
            self._rebuild(None)
            self._said = self._said_before
            self._tip, rows, shadowed = self._start
            self._layout.rows, self._layout.shadowed = list(rows), list(shadowed)
            self._read = 0
        self._torn = False

    def follow(self) -> None:
        """Take in what was recorded since the last look; if that look was broken off, everything."""
        if self._torn:
            self._lay_out()
        while self._read < len(self.log.records):
            # The mark stays if an exception ends this: the next look then lays out everything anew.
            self._torn = True
            record = self.log.records[self._read]
            self._read += 1
            if type(record) in VISIBLE:
                self._view = None
                self._take_in(record)
            self._torn = False

    def _take_in(self, record: Record) -> None:
        match record:
            case Move(head=head):
                if head is not None and self.log.tree[head].parent == self._tip and head not in self.depth:
                    self._step(head)
                elif head != self._tip:
                    self._rebuild(head)
            case Edited(decisions=decisions) if self._drafted is not None and self._is_drafted(decisions):
                last = self._layout
                self._layout = Layout(self.log, self.scale, None, self.weights)
                self._layout.rows, self._layout.shadowed = list(self._drafted[2].rows), last.shadowed
                self._layout.frame, self._drafted = last.frame, None
            case Edited(decisions=decisions):
                for decision in decisions:
                    if isinstance(decision.edit, Pin):
                        continue
                    if isinstance(decision.edit, Undo) or decision.at != self._tip:
                        return self._rebuild(self._tip)
                    self._layout.apply(decision)
            case Framed():
                self._layout.frame = None
            case _:
                self._rebuild(self.log.head)
        return None

    def _is_drafted(self, decisions: Sequence[Decision]) -> bool:
        """Whether a draft made just these decisions on just these rows, none of them pinned or brought back."""
        made, before, _ = self._drafted or ((), None, None)
        if before is None or self.log.lasting or len(made) != len(decisions):
            return False
        same = len(before.rows) == len(self._layout.rows) and all(map(is_, before.rows, self._layout.rows))
        return same and all(map(is_, made, decisions))

    def _step(self, id: str) -> None:
        self.depth[id] = len(self.path)
        self.path.append(id)
        self._tip = id
        self._layout.step(id)
        if self._said is not None and not self._is_look_up(self.log.message(id)):
            self._said += self.weights[id][1].tokens

    def _is_look_up(self, message: Message) -> bool:
        """Whether a message only looks something up, or answers that."""
        calls = message.calls
        looked_up = [call.id for call in calls if call.name in RECALL]
        self._look_ups.update(looked_up)
        if self._look_ups and (results := message.results):
            return self._look_ups.issuperset([result.call for result in results])
        return bool(looked_up) and len(looked_up) == len(calls)

    def _rebuild(self, tip: str | None) -> None:
        self.path, self.depth = [], {}
        self._tip, self._said = tip, 0
        self._layout = Layout(self.log, self.scale, None, self.weights)
        self._layout.step(None)
        for id in self.log.tree.path(tip):
            self._step(id)


def standing_on(path: Container[str], log: Log) -> list[Decision]:
    """The edits that stand on a path, in the order they were made."""
    dead = log.undone()
    return [
        decision
        for id, decision in log.decisions.items()
        if id not in dead and not isinstance(decision.edit, Undo) and _stands(decision, path, log)
    ]


def _stands(decision: Decision, path: Container[str], log: Log) -> bool:
    """Whether an edit that nobody undid holds on a path; a pin does so wherever its entry is, or its text."""
    if isinstance(decision.edit, Pin):
        return decision.edit.entry is None or decision.edit.entry in path
    return any(at is None or at in path for _, at in log.places.get(decision.id, ()))
