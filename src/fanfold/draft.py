"""A draft: edits are tried on it one by one, guarded, and committed together or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fanfold.budget import Budget
from fanfold.edit import Author, Decision, Drop, Elide, Fold, Mend, Note, Pin, Undo
from fanfold.log import Log
from fanfold.message import Message, Thinking, reading, user, words
from fanfold.refs import REF, named
from fanfold.show import Scale, edited, marker, replaced_notes
from fanfold.view import Block, Row, View


class Draft:
    """A view in the making, and the decisions that make it."""

    def __init__(self, view: View, log: Log, scale: Scale, budget: Budget) -> None:
        self.view = view
        self.log = log
        self.scale = scale
        self.budget = budget
        self.version = view.version
        self.decisions: list[Decision] = []

    def offer(
        self,
        edit: object,
        *,
        why: str = "",
        by: Author = "auto",
        forced: bool = False,
        desperate: bool = False,
    ) -> View:
        """Try an edit; gives back the new view, or the old one with `refused` saying why not.

        `forced`: the window leaves no choice, so the least gain does not count.
        `desperate`: nothing else is left, so what the model has not seen yet is offered too.
        """
        refusal = self._unfit(edit, desperate=desperate, by=by)
        if refusal is not None or not isinstance(edit, Fold | Drop | Elide | Mend | Note):
            return self._refuse(refusal or "it is no edit that a plan can make")
        edit = self._referred(completed(edit, self.view))
        decision = Decision(f"e{self.log.next_edit() + len(self.decisions)}", self.view.tip, edit, by, why)
        rows = edited(self.view.rows, decision, self.scale, self.log)
        if rows is None:
            return self._refuse("it does not cover whole rows of the present view")
        return self._take(decision, replace(self.view, rows=tuple(rows), refused=None), forced)

    def _referred(self, edit: Fold | Drop | Elide | Mend | Note) -> Fold | Drop | Elide | Mend | Note:
        """The edit with a reference put in, where its text asks for one."""
        match edit:
            case Elide(address=address, text=text, ref=None) if REF in text:
                ref = self.log.addresses.get(address) or self._new_ref()
                return Elide(address, named(text, ref), ref)
            case Elide(address=address, text=text, ref=str(old)) if self._taken(old, address):
                new = self._new_ref()
                return Elide(address, text.replace(f"ref={old}", f"ref={new}", 1), new)
            case Fold(covers=covers, shows=str(text), ref=None) if f"ref={REF}" in text:
                ref = self._new_ref()
                return Fold(covers, named(text, ref), ref)
            case Fold(covers=covers, shows=str(text), ref=str(old)) if old in self.log.kept:
                new = self._new_ref()
                return Fold(covers, text.replace(f"ref={old}", f"ref={new}", 1), new)
            case _:
                return edit

    def _new_ref(self) -> str:
        edits = [decision.edit for decision in self.decisions]
        given = {edit.ref for edit in edits if isinstance(edit, Elide | Fold) and edit.ref is not None}
        return self.log.next_ref("m", len(given - self.log.kept.keys()))

    def _taken(self, ref: str, address: str) -> bool:
        """Whether a reference stands for something else: somebody gave it out while this plan was made."""
        return ref in self.log.kept and self.log.kept[ref].address != address

    def _take(self, decision: Decision, after: View, forced: bool) -> View:
        saved = self.view.tokens - after.tokens
        least = 1 if forced else max(1, self.budget.gain)
        if decision.reduces and saved < least and not self._saves_bytes(after, forced):
            return self._refuse(f"it saves {saved:,} tokens, the least is {least:,}", larger=True)
        self.decisions.append(_weighed(decision, self.view.tokens, after.tokens))
        self.view = after
        return after

    def _saves_bytes(self, after: View, forced: bool) -> bool:
        limit = self.budget.max_bytes
        over = limit is not None and self.view.size > limit
        return forced and over and after.size < self.view.size and after.tokens <= self.view.tokens

    def _refuse(self, reason: str, *, larger: bool = False) -> View:
        self.larger = larger
        self.view = replace(self.view, refused=reason)
        return self.view

    larger: bool = False
    """Whether the last edit was refused because it does not make the view smaller."""

    def _unfit(self, edit: object, *, desperate: bool, by: Author) -> str | None:
        match edit:
            case Fold() | Drop():
                return wellformed(edit) or self._torn(edit.covers, desperate=desperate, by=by)
            case Mend():
                return None if by == "mend" else "mending is the codec's business"
            case Elide():
                return self._unfit_elide(edit, desperate=desperate, by=by)
            case Note():
                return (
                    None
                    if isinstance(edit.text, str) and isinstance(edit.name, str)
                    else "its text is no text"
                )
            case Pin() | Undo():
                return "pinning and undoing are a person's decisions"
            case _:
                return f"a plan yields edits and questions, not {type(edit).__name__}"

    def _torn(self, covers: Sequence[str], *, desperate: bool, by: Author) -> str | None:
        """Why these rows cannot be covered: only whole blocks on offer can."""
        wanted = set(covers)
        if any(id not in self.view._index for id in wanted):
            return "it does not cover whole rows of the present view"
        for block in self.view.blocks:
            inside = [row.id in wanted for row in block.rows]
            if not any(inside):
                continue
            if not all(inside):
                return "it would part a call from its result"
            reason = self._kept(block, desperate=desperate, by=by)
            if reason is not None:
                return f"{block.rows[0].id[:8]} cannot be covered: {reason}"
        return None

    def _kept(self, block: Block, *, desperate: bool, by: Author) -> str | None:
        if not desperate and by == "auto":
            return self.view.protects(block)
        if block.open:
            return "a call in it has no answer yet"
        return next(filter(None, (self._sacred(row, by) for row in block.rows)), None)

    def _sacred(self, row: Row, by: Author) -> str | None:
        if row.kind == "note":
            return "it is a note"
        if row.pinned:
            return "it is pinned"
        if row.id in self.view.exempt and by != "person":
            return "a person brought it back"
        return None

    def _unfit_elide(self, edit: Elide, *, desperate: bool, by: Author) -> str | None:
        if not isinstance(edit.text, str) or not isinstance(edit.address, str):
            return "an elide needs an address and a text"
        row = self.view.row(edit.entry)
        if row is None or row.kind != "entry" or not 0 <= edit.part < len(row.messages[0].parts):
            return f"there is no visible part {edit.address!r}"
        if isinstance(row.messages[0].parts[edit.part], Thinking):
            return "thinking is sent whole or not at all"
        sacred = self._sacred(row, by)
        if sacred or desperate or by != "auto":
            return sacred
        return self.view._protects_row(row)


def wellformed(edit: Fold | Drop) -> str | None:
    """Why an edit is malformed, or None."""
    if not isinstance(edit.covers, Iterable) or isinstance(edit.covers, str) or not edit.covers:
        return "it covers nothing"
    if not all(isinstance(id, str) for id in edit.covers) or len(set(edit.covers)) != len(tuple(edit.covers)):
        return "its covers are no row ids, or name a row twice"
    if isinstance(edit, Fold) and isinstance(edit.shows, str):
        return None if edit.shows.strip() else "it shows nothing"
    if isinstance(edit, Fold):
        shows = edit.shows
        fine = isinstance(shows, tuple) and shows and all(isinstance(message, Message) for message in shows)
        return None if fine else "it shows neither a text nor messages"
    return None


def completed(edit: Fold | Drop | Elide | Mend | Note, view: View) -> Fold | Drop | Elide | Mend | Note:
    """The edit with every pinned line that it would hide put back in."""
    if not view.pinned_texts:
        return edit
    match edit:
        case Fold(covers=covers, shows=shows):
            lost = _lost(view, _hidden(view, covers), "\n".join(reading(m) for m in edit.messages))
            if not lost:
                return edit
            if isinstance(shows, str):
                return Fold(covers, f"{shows}\n\n{lost}", edit.ref)
            return Fold(covers, (*shows, user(lost)), edit.ref)
        case Drop(covers=covers):
            lost = _lost(view, _hidden(view, covers), "")
            count = sum(row.count for row in view.rows if row.id in set(covers))
            return Fold(covers, f"{marker(count).text}\n\n{lost}") if lost else edit
        case Elide(text=text):
            row = view.row(edit.entry)
            assert row is not None
            hidden = f"{words(row.messages[0].parts[edit.part])}\n{_read_notes(view, (row.id,))}"
            lost = _lost(view, hidden, text)
            return Elide(edit.address, f"{text}\n\n{lost}", edit.ref) if lost else edit
        case _:
            return edit


def _lost(view: View, before: str, after: str) -> str:
    """The pinned lines that stood before and do not stand after."""
    standing = set(after.splitlines())
    present = set(before.splitlines())
    lines = [line for text in view.pinned_texts for line in text.splitlines() if line.strip()]
    lost = [
        line for line in dict.fromkeys(lines) if (line in present or line in before) and line not in standing
    ]
    lost = [line for line in lost if line not in after]
    return "[pinned, verbatim]\n" + "\n".join(lost) if lost else ""


def _hidden(view: View, covers: Sequence[str]) -> str:
    """What can no longer be read when these rows are covered."""
    return f"{_read_rows(view, covers)}\n{_read_notes(view, covers)}"


def _read_notes(view: View, covers: Iterable[str]) -> str:
    """What stands in the notes that leave when these rows are covered."""
    wanted = set(covers)
    since = next((i for i, row in enumerate(view.rows) if row.id in wanted), len(view.rows))
    return _read_rows(view, replaced_notes(view.rows, since))


def _read_rows(view: View, covers: Iterable[str]) -> str:
    wanted = set(covers)
    return "\n".join(reading(message) for row in view.rows if row.id in wanted for message in row.messages)


def _weighed(decision: Decision, before: int, after: int) -> Decision:
    return Decision(decision.id, decision.at, decision.edit, decision.by, decision.why, before, after)
