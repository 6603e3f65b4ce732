"""From log to view: the path, the standing edits, the rows. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from msgspec.structs import replace

from fanfold.core.edit import (
    Cover,
    Decision,
    Drop,
    Elide,
    Fold,
    Note,
    Pin,
    Repair,
    Undo,
    covered,
    with_elided,
)
from fanfold.core.log import Log
from fanfold.core.message import Message, Text
from fanfold.core.record import Edited, Framed, Moved, is_visible
from fanfold.core.view import Kind, Row, Scale, View, Weight, called, together


def show(log: Log, tip: str | None, version: int, scale: Scale, title: str = "") -> View:
    """The view at an entry as of a version: what a request made then would have shown."""
    layout = Layout(log, scale, version)
    for id in [None, *log.tree.path(tip)]:
        layout.step(id)
    return layout.view(tip, version, title)


class Layout:
    """Rows in the making: entries come in path order, and edits right after the entry they were made at."""

    def __init__(
        self,
        log: Log,
        scale: Scale,
        version: int | None,
        weights: dict[str, tuple[int, Weight]] | None = None,
    ) -> None:
        self.log = log
        self.scale = scale
        self.version = version
        self.rows: list[Row] = []
        self.frame: Row | None = None
        self.shadowed: list[str] = []
        self.weights = weights if weights is not None else {}
        self._dead = log.undone(version)
        self._placed: set[str] = set()

    def step(self, id: str | None) -> None:
        """Take in one entry, and the edits made there."""
        if id is not None:
            self._append(self._entry(id))
        for edit in self.log.here.get(id, ()):
            if edit not in self._dead and self._made(edit, id):
                self.apply(self.log.decisions[edit])

    def _made(self, edit: str, at: str | None) -> bool:
        if self.version is None:
            return True
        return any(born <= self.version and place == at for born, place in self.log.places[edit])

    def _entry(self, id: str) -> Row:
        message = self.log.message(id, self.version)
        weight = self._weight(id, message)
        calls, results = called((message,))
        asked = (id,) if message.is_request else ()
        return Row(id, "entry", (message,), weight, (id,), calls=calls, results=results, asked=asked)

    def _weight(self, id: str, message: Message) -> Weight:
        body = self.log.replaced_at(id, self.version) if id in self.log.replaced else 0
        known = self.weights.get(id)
        if known is None or known[0] != body:
            known = self.weights[id] = (body, self.scale.message(message))
        return known[1]

    def _append(self, row: Row) -> None:
        """Results go before notes made while their call was open: a call and its results stay together."""
        at = len(self.rows)
        while row.results and at and self.rows[at - 1].kind == "note":
            at -= 1
        if at < len(self.rows) and not self._called(row, at):
            at = len(self.rows)
        self.rows.insert(at, row)

    def _called(self, row: Row, at: int) -> bool:
        """Whether the step that ends here made a call that the row answers."""
        while at and self.rows[at - 1].results and not self.rows[at - 1].calls:
            at -= 1
        return bool(at) and not set(self.rows[at - 1].calls).isdisjoint(row.results)

    def apply(self, decision: Decision) -> None:
        """Let one edit shape the rows, once; one that fits no whole rows here is shadowed."""
        if decision.id in self._placed:
            return
        self._placed.add(decision.id)
        rows = edited(self.rows, decision, self.scale, self.log, self.version)
        if rows is None:
            self.shadowed.append(decision.id)
        else:
            self.rows = rows

    def _holding(self, ids: Set[str]) -> set[str]:
        """The rows that show some of these rows, as they were or as the grammar needs them."""
        return {
            row.id
            for row in (self.rows if ids else ())
            if row.id in ids or (row.kind == "mend" and not ids.isdisjoint(self.log.repaired(row.id)))
        }

    def view(self, tip: str | None, version: int, title: str) -> View:
        """The rows so far as a frozen value."""
        if self.frame is None:
            frame = self.log.frame(self.version)
            self.frame = Row("frame", "frame", frame.system, self.scale.frame(frame), ())
        pins = [pin for _, pin in self.log.pins(self.version)] if self.log.lasting else []
        kept = self._holding({pin.entry for pin in pins if pin.entry})
        rows = (
            [replace(row, pinned=True) if row.id in kept else row for row in self.rows] if kept else self.rows
        )
        back = self.log.exempt(self.version) if self.log.lasting else frozenset()
        return View(
            tuple(rows),
            self.frame,
            tip,
            version,
            self.scale.overhead,
            tuple(pin.text for pin in pins if pin.text),
            back | self._holding(back),
            tuple(self.shadowed),
            title=title,
        )


class Projection:
    """Keeps the view of a growing log at hand: a new message costs one row, a new edit the rows it covers."""

    def __init__(self, log: Log, scale: Scale, title: str = "", *, refs: bool = False) -> None:
        self.log = log
        self.scale = scale
        self.title = title
        self.refs = refs
        """Whether a model can look things up again, so that views name references."""
        self._layout = Layout(log, scale, None)
        self._read = 0
        self._start: tuple[str | None, tuple[Row, ...], tuple[str, ...]] | None = None
        """The tip, rows and shadowed edits that it went on from, if not from nothing."""
        self._torn = False
        """Whether taking something in was broken off, so that what is here may lack it."""
        self._view: View | None = None
        self._tip: str | None = None
        self.path: list[str] = []
        self.depth: dict[str, int] = {}
        self._layout.step(None)

    def view(self) -> View:
        """The view at the head, now."""
        self.follow()
        if self._view is None:
            view = self._layout.view(self._tip, self.log.version, self.title)
            refs = MappingProxyType(self.log.addresses) if self.refs else view.refs
            self._view = replace(
                view,
                refs=refs,
                kept=self.log.kept_as,
                said=self.log.said,
                behind=self.log.entries_behind,
                looked=self.log.looked_at,
                count=self.scale.text,
                weigh=self._weigh,
            )
        return self._view

    def _weigh(self, message: Message) -> int:
        return self.scale.message(message).tokens

    @property
    def weights(self) -> dict[str, tuple[int, Weight]]:
        """What was weighed before, so that it is not weighed again."""
        return self._layout.weights

    def weighed(self, id: str) -> int:
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
        self._lay_out()

    def resume(self, tip: str | None, rows: Iterable[Row], shadowed: Iterable[str]) -> None:
        """Go on from rows that were laid out before, in a log that has no records yet."""
        self._start = (tip, tuple(rows), tuple(shadowed))
        self._lay_out()

    def _lay_out(self) -> None:
        """Begin anew, from the first entry or from where this log goes on."""
        self._torn, self._view = True, None
        if self._start is None:
            self._rebuild(self.log.head)
            self._read = len(self.log.records)
        else:
            self._rebuild(None)
            self._tip, rows, shadowed = self._start
            self._layout.rows, self._layout.shadowed = list(rows), list(shadowed)
            self._read = 0
        self._torn = False

    def follow(self) -> None:
        """Take in what was recorded since the last look; if that look was broken off, everything."""
        if self._torn:
            self._lay_out()
        if self._read < len(self.log.records):
            self._torn = True
            self._take_in()
            self._torn = False

    def _take_in(self) -> None:
        log = self.log
        while self._read < len(log.records):
            record = log.records[self._read]
            self._read += 1
            if not is_visible(record):
                continue
            match record:
                case Moved(head=head):
                    self._move(head)
                case Edited(decisions=decisions):
                    self._decide(decisions)
                case Framed():
                    self._layout.frame = None
                case _:
                    self._rebuild(self.log.head)
            self._view = None

    def _move(self, head: str | None) -> None:
        if head is not None and self.log.tree[head].parent == self._tip and head not in self.depth:
            self._step(head)
        elif head != self._tip:
            self._rebuild(head)

    def _step(self, id: str) -> None:
        self.depth[id] = len(self.path)
        self.path.append(id)
        self._tip = id
        self._layout.step(id)

    def _decide(self, decisions: Iterable[Decision]) -> None:
        for decision in decisions:
            if isinstance(decision.edit, Pin):
                continue
            if decision.at != self._tip or isinstance(decision.edit, Undo):
                return self._rebuild(self._tip)
            self._layout.apply(decision)
        return None

    def _rebuild(self, tip: str | None) -> None:
        self.path = []
        self.depth = {}
        self._tip = tip
        self._layout = Layout(self.log, self.scale, None, self._layout.weights)
        self._layout.step(None)
        for id in self.log.tree.path(tip):
            self._step(id)


def edited(
    rows: Sequence[Row], decision: Decision, scale: Scale, log: Log, version: int | None = None
) -> list[Row] | None:
    """The rows after one edit, or None where it does not fit."""
    match decision.edit:
        case Elide(entry=entry):
            stale = log.replaced_at(entry, version) > log.born.get(decision.id, log.version + 1)
            return None if stale else _elided(rows, decision, decision.edit, scale)
        case Repair() if log.lasting and _outdated(decision, log, version):
            return None
        case Fold() | Drop() | Repair():
            return _covered(rows, decision, decision.edit, scale, log)
        case Note(name=name, text=text, late=late):
            message = Message("user", (Text(f"[note: {name}]\n{text}"),))
            weight = scale.message(message)
            why = (decision.id,)
            note = Row(
                decision.id, "note", (message,), weight, (), 0, why, decision.why, name=name, late=late
            )
            return [*rows, note]
        case _:
            return list(rows)


def _elided(rows: Sequence[Row], decision: Decision, edit: Elide, scale: Scale) -> list[Row] | None:
    at = _find(rows, lambda row: row.id == edit.entry)
    if at is None:
        return None
    row = rows[at]
    (message,) = row.messages
    if not 0 <= edit.part < len(message.parts):
        return None
    was = row.was or message
    message = with_elided(message, edit)
    row = replace(
        row,
        messages=(message,),
        weight=scale.message(message, was),
        was=was,
        told=with_elided(row.whole, edit) if edit.instead else row.told,
        why=(*row.why, decision.id),
        reason=decision.why,
        tip=decision.at,
    )
    return _current([*rows[:at], row, *rows[at + 1 :]], at)


def _outdated(repair: Decision, log: Log, version: int | None) -> bool:
    """Whether an edit under a repair was undone, or redone, since the repair was made."""
    made = log.born.get(repair.id, log.version)
    changed = {log.meant(id) for id in log.lasting if log.born[id] > made} & set(log.decisions)
    if not changed:
        return False
    then, now, under = log.undone(made), log.undone(version), log.under(repair.id)
    return any(
        (id in then) != (id in now)
        for id in changed
        if log.born[id] < made and not under.isdisjoint((id, *covered(log.decisions[id].edit)))
    )


class _Hit(NamedTuple):
    rows: list[Row]
    at: int


def _covered(
    rows: Sequence[Row], decision: Decision, edit: Cover, scale: Scale, log: Log
) -> list[Row] | None:
    hit = _hit(rows, edit.covers, log)
    if hit is None:
        return None
    count = sum(row.count for row in hit.rows)
    kind, messages = _shown(edit, count)
    calls, results = called(messages)
    weight = together([scale.message(message) for message in messages])
    new = Row(
        decision.id,
        kind,
        messages,
        weight,
        edit.covers,
        count,
        (decision.id,),
        decision.why,
        calls=calls,
        results=results,
        tip=decision.at,
        replied=any(row.is_reply or row.replied for row in hit.rows),
        asked=() if decision.by == "person" else tuple(id for row in hit.rows for id in row.asked),
    )
    gone = {row.id for row in hit.rows}
    left = [new if i == hit.at else row for i, row in enumerate(rows) if i == hit.at or row.id not in gone]
    return left if isinstance(edit, Repair) else _current(left, hit.at)


def _shown(edit: Cover, count: int) -> tuple[Kind, tuple[Message, ...]]:
    """What stands in the place of so many messages, and the kind of its row."""
    match edit:
        case Fold():
            return "fold", edit.messages
        case Drop():
            return "drop", (marker(count),)
        case Repair(shows=shows):
            return "mend", shows


def _hit(rows: Sequence[Row], covers: Sequence[str], log: Log) -> _Hit | None:
    wanted = set(covers)
    found = [(i, row) for i, row in enumerate(rows) if row.id in wanted]
    if len(found) != len(wanted):
        found = _by_leaves(rows, wanted, log) or []
    if not found:
        return None
    return _Hit([row for _, row in found], found[0][0])


def _by_leaves(rows: Sequence[Row], wanted: set[str], log: Log) -> list[tuple[int, Row]] | None:
    """The rows that together show exactly the wanted entries, or None where one would be cut."""
    leaves = log.leaves(wanted)
    found = []
    for i, row in enumerate(rows):
        mine = log.leaves((row.id,)) if row.kind != "note" else set()
        if mine and mine <= leaves:
            found.append((i, row))
        elif mine & leaves:
            return None
    covered = set().union(*(log.leaves((row.id,)) for _, row in found)) if found else set()
    return found if covered == leaves else None


def replaced_notes(rows: Sequence[Row], since: int) -> set[str]:
    """The notes that a reduction from this row on takes away, for a later one of the same name stands."""
    last = {row.name: row.id for row in rows if row.kind == "note"}
    return (
        {row.id for row in rows[since:] if row.kind == "note" and last[row.name] != row.id} if last else set()
    )


def _current(rows: list[Row], since: int) -> list[Row]:
    """The rows without notes that were replaced; what stands before the reduction does not change."""
    gone = replaced_notes(rows, since)
    return [row for row in rows if row.id not in gone] if gone else rows


def marker(count: int) -> Message:
    """What stands in the place of dropped messages."""
    many = "message was" if count == 1 else "messages were"
    return Message("user", (Text(f"[{count:,} earlier {many} left out here to fit the context window]"),))


def _find(rows: Sequence[Row], test: Callable[[Row], bool]) -> int | None:
    return next((i for i in range(len(rows) - 1, -1, -1) if test(rows[i])), None)
