"""Guards: why an edit may not be made. Strategies stay naive; this is what they cannot get wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fanfold.edit import Author, Drop, Elide, Fold, Mend, Note, Pin, Undo
from fanfold.message import Message, Thinking
from fanfold.view import Block, Row, View


def refusal(edit: object, view: View, *, by: Author, desperate: bool) -> str | None:
    """Why this edit cannot be made on this view, or None.

    `desperate`: nothing else is left, so what the model has not seen yet may go too.
    """
    match edit:
        case Fold() | Drop():
            return malformed(edit) or _torn(edit.covers, view, by=by, desperate=desperate)
        case Elide():
            return _unfit(edit, view, by=by, desperate=desperate)
        case Mend():
            return None if by == "mend" else "mending is the codec's business"
        case Note(name=name, text=text):
            return None if isinstance(text, str) and isinstance(name, str) else "its text is no text"
        case Pin() | Undo():
            return "pinning and undoing are a person's decisions"
        case _:
            return f"a plan yields edits and questions, not {type(edit).__name__}"


def held(view: View) -> int:
    """Tokens that are left when everything on offer is gone."""
    return view.tokens - sum(block.tokens for block in view.offered)


def malformed(edit: Fold | Drop) -> str | None:
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


def _torn(covers: Sequence[str], view: View, *, by: Author, desperate: bool) -> str | None:
    """Why these rows cannot be covered: only whole blocks on offer can."""
    wanted = set(covers)
    if any(view.row(id) is None for id in wanted):
        return "it does not cover whole rows of the present view"
    for block in view.blocks:
        inside = [row.id in wanted for row in block.rows]
        if not any(inside):
            continue
        if not all(inside):
            return "it would part a call from its result"
        reason = _kept(block, view, by=by, desperate=desperate)
        if reason is not None:
            return f"{block.rows[0].id[:8]} cannot be covered: {reason}"
    return None


def _kept(block: Block, view: View, *, by: Author, desperate: bool) -> str | None:
    if not desperate and by == "auto":
        return view.protects(block)
    if block.open:
        return "a call in it has no answer yet"
    return next(filter(None, (_sacred(row, view, by) for row in block.rows)), None)


def _sacred(row: Row, view: View, by: Author) -> str | None:
    """Why a row stays even where nothing else is left."""
    back = row.id in view.exempt and by != "person"
    return row.stays or ("a person brought it back" if back else None)


def _unfit(edit: Elide, view: View, *, by: Author, desperate: bool) -> str | None:
    if not isinstance(edit.text, str) or not isinstance(edit.address, str):
        return "an elide needs an address and a text"
    row = view.row(edit.entry)
    if row is None or row.kind != "entry" or not 0 <= edit.part < len(row.messages[0].parts):
        return f"there is no visible part {edit.address!r}"
    if isinstance(row.messages[0].parts[edit.part], Thinking):
        return "thinking is sent whole or not at all"
    if desperate or by != "auto":
        return _sacred(row, view, by)
    return view.keeps(row)
