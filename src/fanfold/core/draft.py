"""A draft: edits are tried on it one by one, guarded, and committed together or not at all."""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from fanfold.core.budget import Budget
from fanfold.core.edit import Author, Decision, Drop, Edit, Elide, Fold, Note, Pin, Repair, Undo
from fanfold.core.guards import refusal, taken
from fanfold.core.layout import edited
from fanfold.core.log import Log
from fanfold.core.message import Message
from fanfold.core.pins import completed
from fanfold.core.refs import ASKED, named
from fanfold.core.view import View
from fanfold.core.weight import Scale


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
        """Try an edit; gives back the new view, or the old one with `refused` saying why not.

        `forced`: the window leaves no choice, so the least gain does not count.
        `desperate`: nothing else is left, so what the model has not seen yet is offered too.
        """
        try:
            edit = taken(edit)
        except ValueError as problem:
            return self._refuse(str(problem))
        reason = refusal(edit, self.view, by=by, desperate=desperate) or self._malformed(edit)
        if reason is not None or isinstance(edit, Pin | Undo):
            return self._refuse(reason or "it is no edit that a plan can make")
        edit = self._referred(completed(edit, self.view))
        decision = Decision(self.log.next_edit(len(self.decisions)), self.view.tip, edit, by, why)
        rows = edited(self.view.rows, decision, self.scale, self.log)
        if rows is None:
            return self._refuse("it does not cover whole rows of the present view")
        return self._take(decision, replace(self.view, rows=tuple(rows), refused=None), forced)

    def back_to(self, view: View, made: int) -> None:
        """Take back what was done since the view was this one, and so many decisions were made."""
        self.view = view
        del self.decisions[made:]

    def _malformed(self, edit: Edit) -> str | None:
        """Why the wire form of a message that a fold shows cannot be sent; what was recorded so is repaired instead."""
        for message in edit.shows if isinstance(edit, Fold) and not isinstance(edit.shows, str) else ():
            reason = self.scale.malformed(message) if message.wire is not None else None
            if reason is not None and message not in self.view.messages:
                return f"a message that it shows is malformed: {reason}"
        return None

    def _referred(self, edit: Fold | Drop | Elide | Repair | Note) -> Fold | Drop | Elide | Repair | Note:
        """The edit with a reference put in, where its text asks for one."""
        match edit:
            case Elide(address=address, text=text, ref=None) if ASKED in text:
                ref = self.log.addresses.get(address) or self._given(address) or self._new_ref()
                return replace(edit, text=named(text, ref), ref=ref)
            case Elide(address=address, text=text, ref=str(old)) if self._taken(old, address):
                new = self._new_ref()
                return replace(edit, text=text.replace(f"ref={old}", f"ref={new}", 1), ref=new)
            case Fold(words=text, ref=None) if ASKED in text.partition("\n")[0]:
                ref = self._new_ref()
                return edit.reworded(named(text, ref), ref)
            case Fold(words=text, ref=str(old)) if text and old in self.log.kept:
                new = self._new_ref()
                return edit.reworded(text.replace(f"ref={old}", f"ref={new}", 1), new)
            case _:
                return edit

    def _new_ref(self) -> str:
        edits = [decision.edit for decision in self.decisions]
        given = {edit.ref for edit in edits if isinstance(edit, Elide | Fold) and edit.ref is not None}
        return self.log.next_ref("m", len(given - self.log.kept.keys()))

    def _given(self, address: str) -> str | None:
        """The reference that this plan gave out for an address already."""
        edits = (decision.edit for decision in self.decisions)
        return next((edit.ref for edit in edits if isinstance(edit, Elide) and edit.address == address), None)

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


def _weighed(decision: Decision, before: int, after: int) -> Decision:
    return Decision(decision.id, decision.at, decision.edit, decision.by, decision.why, before, after)
