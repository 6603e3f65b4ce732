"""Guards: why an edit may not be made. Strategies stay naive; this is what they cannot get wrong."""

from __future__ import annotations

from typing import get_args

from fanfold.core.edit import Author, Drop, Edit, Elide, Fold, Note, Pin, Repair, Undo
from fanfold.core.message import Thinking
from fanfold.core.view import Block, Row, View, called
from fanfold.text.plain import owned

_KINDS = get_args(Edit)
_NOT_WHOLE = "it does not cover whole rows of the present view"
_PARTED = "it would part a call from its result"
CUTTING = frozenset({_NOT_WHOLE, _PARTED})
"""The refusals of edits that would cut a row or a block in two."""


def taken(edit: object) -> Edit:
    """An edit as the log keeps it, every field of its type and a copy of its own; ValueError says what is wrong.

    This is the one place where a stranger's edit is looked at for its types.
    """
    kind = next((kind for kind in _KINDS if isinstance(edit, kind)), None)
    if kind is None:
        raise ValueError(f"a plan yields edits and questions, not {type(edit).__name__}")
    try:
        return owned(edit, kind)  # type: ignore[no-any-return]
    except ValueError as problem:
        raise ValueError(f"this {type(edit).__name__} is malformed: {problem}") from problem


def refusal(edit: Edit, view: View, *, by: Author, desperate: bool) -> str | None:
    """Why this edit cannot be made on this view, or None.

    `desperate`: nothing else is left, so what the model has not seen yet may go too.
    """
    match edit:
        case Fold() | Drop():
            return _empty(edit) or _torn(edit, view, by=by, desperate=desperate)
        case Elide():
            return _unfit(edit, view, by=by, desperate=desperate)
        case Repair():
            return None if by == "mend" else "mending is the codec's business"
        case Note():
            return None
        case Pin() | Undo():
            return "pinning and undoing are a person's decisions"


def held(view: View) -> int:
    """Tokens that are left when everything on offer is gone."""
    return view.tokens - sum(block.tokens for block in view.offered)


def fixed(view: View) -> int:
    """Tokens that no reduction can take: the frame, notes, and what a person pinned or brought back."""
    rows = sum(row.tokens for row in view.rows if row.stays or row.id in view.exempt)
    return view.overhead + view.frame.tokens + rows


def _empty(edit: Fold | Drop) -> str | None:
    """Why an edit says nothing, or the same twice; None if it says something."""
    if not edit.covers:
        return "it covers nothing"
    if len(set(edit.covers)) != len(edit.covers):
        return "its covers name a row twice"
    shows = edit.shows if isinstance(edit, Fold) else "a marker"
    return "it shows nothing" if not (shows.strip() if isinstance(shows, str) else shows) else None


def _torn(edit: Fold | Drop, view: View, *, by: Author, desperate: bool) -> str | None:
    """Why these rows cannot be covered: only whole blocks on offer can, and answers that stay the same answers."""
    wanted = set(edit.covers)
    if any(view.row(id) is None for id in wanted):
        return _NOT_WHOLE
    for block in view.blocks:
        inside = [row.id in wanted for row in block.rows]
        if not any(inside):
            continue
        if not all(inside) and not _answers_alike(edit, view):
            return _PARTED
        reason = _kept(block, view, by=by, desperate=desperate)
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
    calls, results = called(edit.messages)
    return not calls and sorted(results) == sorted(id for row in rows for id in row.results)


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
    row = view.row(edit.entry)
    if row is None or row.kind != "entry" or not 0 <= edit.part < len(row.messages[0].parts):
        return f"there is no visible part {edit.address!r}"
    if isinstance(row.messages[0].parts[edit.part], Thinking):
        return "thinking is sent whole or not at all"
    if desperate or by != "auto":
        return _sacred(row, view, by)
    return view.keeps(row)
