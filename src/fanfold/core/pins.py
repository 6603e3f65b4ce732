"""Pinned lines: whatever an edit hides, they stand verbatim in what it shows.

In the arguments of a call they stand as whoever reads the values gets them: JSON writes quotes in its own way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fanfold.core.edit import Drop, Elide, Fold, Note, Repair
from fanfold.core.layout import marker, replaced_notes
from fanfold.core.message import user
from fanfold.core.reading import legible, legible_part
from fanfold.core.view import View

PINNED = "[pinned, verbatim]"
"""The heading over pinned lines that a text had lost."""


def completed(edit: Fold | Drop | Elide | Repair | Note, view: View) -> Fold | Drop | Elide | Repair | Note:
    """The edit with every pinned line that it would hide put back in."""
    if not view.pinned_texts:
        return edit
    match edit:
        case Fold(covers=covers, shows=shows):
            lost = _lost(view, _hidden(view, covers), "\n".join(legible(m) for m in edit.messages))
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
            hidden = f"{legible_part(row.messages[0].parts[edit.part])}\n{_read_notes(view, (row.id,))}"
            lost = _lost(view, hidden, text)
            return replace(edit, text=f"{text}\n\n{lost}") if lost else edit
        case _:
            return edit


def lost_lines(view: View, covers: Sequence[str], shown: str) -> list[str]:
    """The pinned lines that these rows show, and a text in their place does not."""
    return _missing(view, _hidden(view, covers), shown) if view.pinned_texts else []


def _lost(view: View, before: str, after: str) -> str:
    """The pinned lines that stood before and do not stand after, under a heading."""
    lost = _missing(view, before, after)
    return "\n".join([PINNED, *lost]) if lost else ""


def _missing(view: View, before: str, after: str) -> list[str]:
    lines = [line for text in view.pinned_texts for line in text.splitlines() if line.strip()]
    return [line for line in dict.fromkeys(lines) if line in before and line not in after]


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
    return "\n".join(legible(message) for row in view.rows if row.id in wanted for message in row.messages)
