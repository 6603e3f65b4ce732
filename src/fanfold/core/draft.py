"""A draft: edits are tried on it one by one, guarded, and committed together or not at all.

Strategies stay naive: what they cannot get wrong is guarded here. Pinned lines that an edit hides are put back into
what it shows. In the arguments of a call they stand as a reader of the values gets them: JSON writes quotes in its
own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, get_args

from msgspec.structs import replace

from fanfold.core.budget import Budget
from fanfold.core.edit import (
    ASKED,
    Author,
    Decision,
    Drop,
    Edit,
    Elide,
    Fold,
    Note,
    Pin,
    Repair,
    Undo,
    with_ref,
)
from fanfold.core.layout import apply_edit, marker, read_rows, replaced_notes
from fanfold.core.log import Log
from fanfold.core.message import Message, Thinking, text_of, user
from fanfold.core.view import Row, Scale, View, call_ids
from fanfold.text.lines import many
from fanfold.text.plain import own

_KINDS = get_args(Edit)
Shaping = Fold | Drop | Elide | Repair | Note
"""Edits that a plan can make."""
_NOT_WHOLE = "it does not cover whole rows of the present view"
_PARTED = "it would part a call from its result"
CUTTING = frozenset({_NOT_WHOLE, _PARTED})
"""The refusals of edits that would cut a row or a block in two."""
PINNED = "[pinned, verbatim]"
"""The heading over pinned lines that a text had lost."""


class Judge(Scale, Protocol):
    """A scale that also knows what can be sent."""

    def malformed(self, message: Message) -> str | None:
        """Why a message cannot be sent in the wire form that it carries; None if all is well."""


class Draft:
    """A view in the making, and the decisions that make it."""

    def __init__(self, view: View, log: Log, scale: Judge, budget: Budget) -> None:
        self.view = view
        self.log = log
        self.scale = scale
        self.budget = budget
        self.version = view.version
        self.decisions: list[Decision] = []
        self.larger = False
        """Whether the last edit was refused because it does not make the view smaller."""

    def offer(
        self,
        edit: object,
        *,
        why: str = "",
        by: Author = "auto",
        forced: bool = False,
        desperate: bool = False,
    ) -> View:
        """Try an edit; returns the new view, or the old one with `refused` saying why not.

        `forced`: the window leaves no choice, so the least gain does not count.
        `desperate`: nothing else is left, so what the model has not seen yet is offered too.
        """
        try:
            edit = check_edit(edit)
        except ValueError as problem:
            return self._refuse(str(problem))
        reason = refusal(edit, self.view, by=by, desperate=desperate)
        if reason is None and isinstance(edit, Fold) and not isinstance(edit.shows, str):
            reason = self._find_malformed(edit.shows)
        if reason is not None or isinstance(edit, Pin | Undo):
            return self._refuse(reason or "it is no edit that a plan can make")
        edit = self._with_ref(with_pins(edit, self.view))
        decision = Decision(
            id=self.log.next_edit(len(self.decisions)), at=self.view.tip, edit=edit, by=by, why=why
        )
        rows = apply_edit(self.view.rows, decision, self.scale, self.log)
        if rows is None:
            return self._refuse(_NOT_WHOLE)
        after = self.view.with_rows(rows, alike=isinstance(edit, Elide))
        saved = self.view.tokens - after.tokens
        least = 1 if forced else max(1, self.budget.gain)
        if decision.reduces and saved < least and not (forced and self._saves_bytes(after)):
            grown = f"it makes the view larger by {many(-saved, 'token')}"
            few = f"it saves {many(saved, 'token')}, the least is {least:,}"
            return self._refuse(grown if saved < 0 else few, larger=True)
        self.decisions.append(replace(decision, before=self.view.tokens, after=after.tokens))
        self.view = after
        return after

    def back_to(self, view: View, made: int) -> None:
        """Take back what was done since the view was this one, and so many decisions were made."""
        self.view = view
        del self.decisions[made:]

    def _find_malformed(self, shows: Iterable[Message]) -> str | None:
        """Why the wire form of a message that a fold shows cannot be sent; what was recorded so is repaired instead."""
        for message in shows:
            reason = self.scale.malformed(message) if message.wire is not None else None
            if reason is not None and message not in self.view.messages:
                return f"a message that it shows is malformed: {reason}"
        return None

    def _with_ref(self, edit: Shaping) -> Shaping:
        """The edit with a reference put in, where its text asks for one, or where somebody took its own meanwhile."""
        match edit:
            case Elide(address=address, text=text, ref=None) if ASKED in text:
                ref = self.log.addresses.get(address) or self._ref_of(address) or self._next_ref()
                return replace(edit, text=with_ref(text, ref), ref=ref)
            case Elide(address=address, text=text, ref=str(old)):
                if old in self.log.kept and self.log.kept[old].address != address:
                    new = self._next_ref()
                    return replace(edit, text=text.replace(f"ref={old}", f"ref={new}", 1), ref=new)
            case Fold(words=text, ref=None) if ASKED in text.partition("\n")[0]:
                new = self._next_ref()
                return edit.reword(with_ref(text, new), new)
            case Fold(words=text, ref=str(old)) if text and old in self.log.kept:
                new = self._next_ref()
                return edit.reword(text.replace(f"ref={old}", f"ref={new}", 1), new)
        return edit

    def _ref_of(self, address: str) -> str | None:
        """The reference that this draft gave to a part before."""
        made = (one.edit for one in self.decisions)
        return next((edit.ref for edit in made if isinstance(edit, Elide) and edit.address == address), None)

    def _next_ref(self) -> str:
        """A reference that nobody has, neither in the log nor in this draft."""
        made = (one.edit for one in self.decisions)
        given = {edit.ref for edit in made if isinstance(edit, Elide | Fold) and edit.ref is not None}
        return self.log.next_ref("m", len(given - self.log.kept.keys()))

    def _saves_bytes(self, after: View) -> bool:
        """Whether a view that is too long for one request gets shorter, and costs no more tokens."""
        smaller = after.size < self.view.size and after.tokens <= self.view.tokens
        return smaller and not self.view.fits_bytes(self.budget)

    def _refuse(self, reason: str, *, larger: bool = False) -> View:
        self.larger = larger
        self.view = replace(self.view, refused=reason)
        return self.view


def check_edit(edit: object) -> Edit:
    """An edit as the log keeps it, every field of its type and a copy of its own; ValueError says what is wrong.

    This is the one place where the types of somebody else's edit are checked.
    """
    kind = next((kind for kind in _KINDS if isinstance(edit, kind)), None)
    if kind is None:
        raise ValueError(f"a plan yields edits and questions, not {type(edit).__name__}")
    try:
        return own(edit, kind)  # type: ignore[no-any-return]
    except ValueError as problem:
        what = "it covers rows by their ids: give `block.covers`" if "$.covers[" in str(problem) else problem
        raise ValueError(f"this {type(edit).__name__} is malformed: {what}") from problem


def refusal(edit: Edit, view: View, *, by: Author, desperate: bool) -> str | None:
    """Why this edit cannot be made on this view, or None.

    `desperate`: nothing else is left, so what the model has not seen yet may go too.
    """
    everything = desperate or by != "auto"
    match edit:
        case Fold(covers=covers) | Drop(covers=covers):
            if not covers:
                return "it covers nothing"
            if len(set(covers)) != len(covers):
                return "its covers name a row twice"
            shows = edit.shows if isinstance(edit, Fold) else "a marker"
            if not (shows.strip() if isinstance(shows, str) else shows):
                return "it shows nothing"
            return _cover_refusal(edit, view, by=by, everything=everything)
        case Elide(part=part):
            row = view.row(edit.entry)
            if row is None or row.kind != "entry" or not 0 <= part < len(row.messages[0].parts):
                return f"there is no visible part {edit.address!r}"
            if isinstance(row.messages[0].parts[part], Thinking) and (reason := _binds(edit, row, view)):
                return reason
            return _reason_to_stay(row, view, by) if everything else view.keeps(row)
        case Repair():
            return None if by == "mend" else "repairing is the dialect's business"
        case Note():
            return None
        case Pin() | Undo():
            return "pinning and undoing are a person's decisions"


def _binds(edit: Elide, row: Row, view: View) -> str | None:
    """Why thinking stays: it is sent whole or not at all, and providers bind it to the running loop."""
    if edit.text:
        return "thinking is sent whole or not at all"
    if any(row.id == other.id for other in view.loop.rows):
        return "the running loop is bound to its thinking"
    bare = all(isinstance(part, Thinking) for part in row.messages[0].parts)
    return "it would leave nothing of the message" if bare else None


def _cover_refusal(edit: Fold | Drop, view: View, *, by: Author, everything: bool) -> str | None:
    """Why these rows cannot be covered: only whole blocks on offer can, and answers that stay the same answers."""
    wanted = set(edit.covers)
    if None in map(view.row, wanted):
        return _NOT_WHOLE
    for block in view.blocks:
        covers = block.covers
        if wanted.isdisjoint(covers):
            continue
        if not wanted.issuperset(covers) and not _answers_alike(edit, view):
            return _PARTED
        reason = view.protects(block) if block.open or not everything else None
        if everything and reason is None:
            reason = next(filter(None, [_reason_to_stay(row, view, by) for row in block.rows]), None)
        if reason is not None:
            return f"{block.rows[0].id[:8]} cannot be covered: {reason}"
    return None


def _answers_alike(edit: Fold | Drop, view: View) -> bool:
    """Whether an edit shows the same results in the place of rows that hold nothing but the user's side.

    Rows that were repaired cannot be elided: this is how a long part of them is clipped.
    """
    rows = [row for row in map(view.row, edit.covers) if row is not None]
    if isinstance(edit, Drop) or any(row.calls or row.is_reply for row in rows):
        return False
    calls, results = call_ids(edit.messages)
    return not calls and sorted(results) == sorted(id for row in rows for id in row.results)


def _reason_to_stay(row: Row, view: View, by: Author) -> str | None:
    """Why a row stays even where nothing else is left."""
    return row.stays or ("a person brought it back" if row.id in view.exempt and by != "person" else None)


def with_pins(edit: Shaping, view: View) -> Shaping:
    """The edit with every pinned line that it would hide put back in."""
    if not view.pinned_texts:
        return edit
    match edit:
        case Fold(covers=covers, shows=shows):
            shown = "\n".join([text_of(message, unescaped=True) for message in edit.messages])
            lost = _under_heading(lost_lines(view, covers, shown))
            if not lost:
                return edit
            if isinstance(shows, str):
                return replace(edit, shows=f"{shows}\n\n{lost}")
            return replace(edit, shows=(*shows, user(lost)))
        case Drop(covers=covers):
            lost = _under_heading(lost_lines(view, covers, ""))
            head = marker(sum(row.count for row in view.rows if row.id in set(covers))).text
            return Fold(covers, f"{head}\n\n{lost}") if lost else edit
        case Elide(text=text):
            row = view.row(edit.entry)
            assert row is not None
            part = text_of(row.messages[0].parts[edit.part], unescaped=True)
            lost = _under_heading(_missing_lines(view, f"{part}\n{_notes_lost(view, (row.id,))}", text))
            return replace(edit, text=f"{text}\n\n{lost}") if lost else edit
        case _:
            return edit


def lost_lines(view: View, covers: Sequence[str], shown: str) -> list[str]:
    """The pinned lines that these rows show, and a text in their place does not."""
    if not view.pinned_texts:
        return []
    return _missing_lines(view, f"{_text_of_rows(view, covers)}\n{_notes_lost(view, covers)}", shown)


def _under_heading(lost: Sequence[str]) -> str:
    return "\n".join([PINNED, *lost]) if lost else ""


def _missing_lines(view: View, before: str, after: str) -> list[str]:
    """The pinned lines that stood before and do not stand after."""
    lines = [line for text in view.pinned_texts for line in text.splitlines() if line.strip()]
    return [line for line in dict.fromkeys(lines) if line in before and line not in after]


def _notes_lost(view: View, covers: Iterable[str]) -> str:
    """What stands in the notes that leave when these rows are covered."""
    wanted = set(covers)
    since = next((i for i, row in enumerate(view.rows) if row.id in wanted), len(view.rows))
    return _text_of_rows(view, replaced_notes(view.rows, since))


def _text_of_rows(view: View, covers: Iterable[str]) -> str:
    wanted = set(covers)
    return read_rows(row for row in view.rows if row.id in wanted)
