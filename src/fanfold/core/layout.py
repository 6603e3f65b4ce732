"""From log to view: the path, the standing edits, the rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from fanfold.core.edit import Cover, Decision, Drop, Elide, Fold, Note, Pin, Repair, covers_of, with_elided
from fanfold.core.log import Log
from fanfold.core.message import Message, Opaque, text_of, user
from fanfold.core.view import Kind, Row, Scale, View, Weight, sum_up, weigh


def show(log: Log, tip: str | None, version: int, scale: Scale, title: str = "") -> View:
    """The view at an entry as of a version: what a request made then would have shown."""
    layout = Layout(log, scale, version)
    for id in [None, *log.tree.path(tip)]:
        layout.step(id)
    return layout.view(tip, version, title=title)


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
        self._total: Weight | None = None
        """What the rows weigh together, while they only grow."""
        self.weights = weights if weights is not None else {}
        """What each entry weighs, with the version that last changed its body."""
        self._dead = log.undone(version)
        self._applied: set[str] = set()
        self._views: dict[str, dict[str, tuple[str, ...]]] = {}
        """The rows in view when a thing was pinned, with the edits that shaped them; by what made the pin stand."""

    def step(self, id: str | None) -> None:
        """Take in one entry, and the edits made there."""
        log = self.log
        if id is not None:
            message = log.message(id, self.version)
            body = log.replaced_at(id, self.version) if id in log.replaced else 0
            known = self.weights.get(id)
            if known is None or known[0] != body:
                known = self.weights[id] = (body, self.scale.message(message))
            asked = (id,) if message.is_request else ()
            row = Row(id=id, kind="entry", messages=(message,), weight=known[1], covers=(id,), asked=asked)
            if message.role == "system":
                sets = any(isinstance(part, Opaque) for part in message.parts)
                if sets or not any(r.is_reply or r.replied for r in self.rows):
                    row = replace(row, instructs=True)
            self.rows.insert(self._place(row), row)
            self._total = self._total + row.weight if self._total is not None else None
        for edit in log.here.get(id, ()):
            if edit not in self._dead and (
                self.version is None
                or any(born <= self.version and place == id for born, place in log.places[edit])
            ):
                self.apply(log.decisions[edit])

    def _place(self, row: Row) -> int:
        """Where a row goes. Results go before notes made while their call was open: they stay with their call."""
        at = end = len(self.rows)
        while row.results and at and self.rows[at - 1].kind == "note":
            at -= 1
        if at == end:
            return end
        caller = at
        while caller and self.rows[caller - 1].results and not self.rows[caller - 1].calls:
            caller -= 1
        return at if caller and not set(self.rows[caller - 1].calls).isdisjoint(row.results) else end

    def apply(self, decision: Decision) -> None:
        """Let one edit shape the rows, once; one that fits no whole rows here, or hides a later pin, is shadowed."""
        if decision.id in self._applied:
            return
        self._applied.add(decision.id)
        rows = apply_edit(self.rows, decision, self.scale, self.log, self.version)
        if rows is None or self._hides_pinned(decision, rows):
            self.shadowed.append(decision.id)
        else:
            self.rows, self._total = rows, None

    def _hides_pinned(self, decision: Decision, rows: Sequence[Row]) -> bool:
        """Whether an edit that stands again hides what was pinned since, in a view that it had not shaped."""
        if isinstance(decision.edit, Repair | Note) or getattr(decision.edit, "instead", False):
            return False  # what a filter keeps from models stays so, whatever is pinned
        pins = list(self.log.pinned_since(self.log.born.get(decision.id, self.log.version), self.version))
        if not pins:
            return False
        left = {row.id: row.messages for row in rows}
        gone = [row for row in self.rows if left.get(row.id) is not row.messages]
        near = [pin for pin in pins if _is_lost(pin[1], gone, rows, self.log)]
        return any(_is_lost(pin, self._seen(gone, at, decision.id), rows, self.log) for at, pin in near)

    def _seen(self, rows: Sequence[Row], since: Decision, edit: str) -> list[Row]:
        """Those of the rows that stood in the view in which a thing was pinned, and not as an edit leaves them."""
        if since.id not in self._views:
            then = Layout(self.log, self.scale, self.log.born[since.id] - 1, dict(self.weights))
            for id in [None, *self.log.tree.path(since.at)]:
                then.step(id)
            self._views[since.id] = {row.id: row.why for row in then.rows}
        shaped = self._views[since.id]
        return [row for row in rows if row.id in shaped and edit not in shaped[row.id]]

    def _rows_holding(self, ids: Set[str]) -> set[str]:
        """The rows that show some of these rows, as they were or as the grammar needs them."""
        return {
            row.id
            for row in (self.rows if ids else ())
            if row.id in ids or (row.kind == "mend" and not ids.isdisjoint(self.log.rows_repaired_by(row.id)))
        }

    def view(self, tip: str | None, version: int, **beside: Any) -> View:
        """The rows so far as a frozen value."""
        frame = self.log.frame(self.version)
        weight = self.scale.frame(frame, self.rows)  # which tools are there depends on the rows
        if self.frame is None or self.frame.weight is not weight:
            self.frame = Row(id="frame", kind="frame", messages=frame.system, weight=weight, covers=())
        if self._total is None:
            self._total = sum_up(self.rows)
        rows, back = self.rows, frozenset[str]()
        texts: tuple[str, ...] = ()
        if self.log.lasting:
            pins = [pin for _, pin in self.log.pins(self.version)]
            kept = self._rows_holding({pin.entry for pin in pins if pin.entry})
            rows = [replace(row, pinned=True) if row.id in kept else row for row in rows]
            texts = tuple(pin.text for pin in pins if pin.text)
            back = self.log.exempt(self.version)
            back |= self._rows_holding(back)
        return View(
            rows=tuple(rows),
            frame=self.frame,
            tip=tip,
            version=version,
            overhead=self.scale.overhead,
            pinned_texts=texts,
            exempt=back,
            shadowed=tuple(self.shadowed),
            total=self._total,
            **beside,
        )


def _is_lost(pin: Pin, gone: Sequence[Row], rows: Iterable[Row], log: Log) -> bool:
    """Whether a pinned thing stands in rows that are gone, and nowhere in those that are left."""
    if pin.entry is not None:
        return any(pin.entry in log.rows_repaired_by(row.id) for row in gone)
    before = read_rows(gone)
    lines = [line for line in pin.lines if line in before]
    after = read_rows(rows) if lines else ""
    return any(line not in after for line in lines)


def read_rows(rows: Iterable[Row]) -> str:
    """What can be read in rows."""
    return "\n".join([text_of(message, unescaped=True) for row in rows for message in row.messages])


def apply_edit(
    rows: Sequence[Row], decision: Decision, scale: Scale, log: Log, version: int | None = None
) -> list[Row] | None:
    """The rows after one edit, or None where it does not fit."""
    match decision.edit:
        case Elide(entry=entry):
            stale = log.replaced_at(entry, version) > log.born.get(decision.id, log.version + 1)
            return None if stale else _elide(rows, decision, decision.edit, scale)
        case Repair() if log.lasting and _is_outdated(decision, log, version):
            return None
        case Fold() | Drop() | Repair():
            return _cover(rows, decision, decision.edit, scale, log)
        case Note(name=name, text=text, late=late):
            message = user(f"[note: {name}]\n{text}")
            note = Row(
                id=decision.id,
                kind="note",
                messages=(message,),
                weight=scale.message(message),
                covers=(),
                count=0,
                why=(decision.id,),
                reason=decision.why,
                name=name,
                late=late,
            )
            return [*rows, note]
        case _:
            return list(rows)


def _elide(rows: Sequence[Row], decision: Decision, edit: Elide, scale: Scale) -> list[Row] | None:
    entry = edit.entry
    at = next((i for i, row in enumerate(rows) if row.id == entry), None)
    if at is None or not 0 <= edit.part < len(rows[at].messages[0].parts):
        return None
    row = rows[at]
    was = row.was or row.messages[0]
    message = with_elided(row.messages[0], edit)
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
    return _without_old_notes([*rows[:at], row, *rows[at + 1 :]], at)


def _is_outdated(repair: Decision, log: Log, version: int | None) -> bool:
    """Whether an edit under a repair was undone, or redone, since the repair was made."""
    made = log.born.get(repair.id, log.version)
    changed = {log.meant(id) for id in log.lasting if log.born[id] > made} & set(log.decisions)
    if not changed:
        return False
    then, now, under = log.undone(made), log.undone(version), log.under(repair.id)
    return any(
        (id in then) != (id in now)
        for id in changed
        if log.born[id] < made and not under.isdisjoint((id, *covers_of(log.decisions[id].edit)))
    )


def _cover(rows: Sequence[Row], decision: Decision, edit: Cover, scale: Scale, log: Log) -> list[Row] | None:
    wanted = set(edit.covers)
    found = [i for i, row in enumerate(rows) if row.id in wanted]
    if len(found) != len(wanted):
        found = list(_find_rows_showing(rows, log.leaves(wanted), log))
    if not found:
        return None
    kind: Kind
    hit = [rows[i] for i in found]
    count = sum(map(attrgetter("count"), hit))
    match edit:
        case Fold():
            kind, messages = "fold", edit.messages
        case Drop():
            kind, messages = "drop", (marker(count),)
        case Repair(shows=shows):
            kind, messages = "mend", shows
    new = Row(
        id=decision.id,
        kind=kind,
        messages=messages,
        weight=weigh(messages, scale),
        covers=edit.covers,
        count=count,
        why=(decision.id,),
        reason=decision.why,
        tip=decision.at,
        replied=any(row.is_reply or row.replied for row in hit),
        instructs=kind == "mend" and any(map(attrgetter("instructs"), hit)),
        asked=() if decision.by == "person" else tuple([id for row in hit for id in row.asked]),
    )
    at, gone = found[0], set(found)
    left = [new if i == at else row for i, row in enumerate(rows) if i == at or i not in gone]
    return left if kind == "mend" else _without_old_notes(left, at)


def _find_rows_showing(rows: Sequence[Row], leaves: set[str], log: Log) -> Iterator[int]:
    """Where the rows stand that together show exactly these entries; nowhere if one of them would be cut."""
    behind = [log.leaves((row.id,)) if row.kind != "note" else set() for row in rows]
    touched = [i for i, mine in enumerate(behind) if mine & leaves]
    if touched and set().union(*(behind[i] for i in touched)) == leaves:
        yield from touched


def replaced_notes(rows: Sequence[Row], since: int) -> set[str]:
    """The notes that a reduction from this row on takes away, for a later one of the same name stands."""
    notes = [(i, row) for i, row in enumerate(rows) if row.kind == "note"]
    last = {row.name: row.id for _, row in notes}
    return {row.id for i, row in notes if i >= since}.difference(last.values())


def _without_old_notes(rows: list[Row], since: int) -> list[Row]:
    """The rows without notes that were replaced; what stands before the reduction does not change."""
    gone = replaced_notes(rows, since)
    return [row for row in rows if row.id not in gone] if gone else rows


def marker(count: int) -> Message:
    """What stands in the place of dropped messages."""
    many = "message was" if count == 1 else "messages were"
    return user(f"[{count:,} earlier {many} left out here to fit the context window]")
