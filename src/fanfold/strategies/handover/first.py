"""The user's first request: it stays in place while it is short, and in words where it is not."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from fanfold.core.budget import Budget
from fanfold.core.draft import with_pins
from fanfold.core.edit import Drop, Edit, Fold
from fanfold.core.layout import marker
from fanfold.core.message import Message
from fanfold.core.view import Row, Span, View
from fanfold.strategies.handover.facts import Asked
from fanfold.strategies.handover.seal import sealed
from fanfold.strategies.handover.sections import Story
from fanfold.strategies.handover.tongue import tongue_of
from fanfold.strategies.handover.words import words_said
from fanfold.strategies.handover.writing import quote

_AROUND = 8
"""Tokens that a message may cost beside its text."""


def first_request(view: View, budget: Budget) -> Row | None:
    """The user's first request, if it is still in view and takes no more than a tenth of the window."""
    row = next((row for row in view.rows if row.is_request), None)
    return row if row and row.tokens <= budget.window // 10 + _AROUND else None


def room_to_quote(budget: Budget) -> int:
    """The tokens that a quotation of the first request may take."""
    return budget.room // 10


def asking_row(view: View) -> Row | None:
    """The row that tells what was asked first: the first request, or a summary before it."""
    return next((row for row in view.rows if row.is_request or row.kind == "fold"), None)


def dropping(
    view: View, budget: Budget, *, but: Sequence[Row] = (), quoting: bool = True
) -> Generator[Edit, Any, View]:
    """Drop the oldest blocks until the target is reached, with what stands in their place; returns the view.

    `quoting`: what was asked first is quoted in the marker.
    """
    while view.tokens > budget.goal:
        edit = _dropped(view, budget, but, quoting)
        if edit is None:
            break
        view = yield edit
        if view.refused:
            break
    return view


def _dropped(view: View, budget: Budget, but: Sequence[Row], quoting: bool) -> Drop | Fold | None:
    """One edit that drops just as many of the oldest blocks as must go, its own marker counted."""
    room = 0
    while True:
        old = view.oldest(leaving=budget.goal - room, but=but)
        if not old.rows:
            return None
        edit = without(old, view, room_to_quote(budget)) if quoting else Drop(old.covers)
        taken = _taken(edit, old, view)
        if taken <= room:
            return None if _is_marker(old) and old.tokens <= taken else edit
        room = taken


def _is_marker(old: Span) -> bool:
    """Whether these rows are only what stands in the place of others: to drop them anew would gain nothing."""
    return all(row.kind in ("drop", "fold") for row in old.rows)


def _taken(edit: Drop | Fold, old: Span, view: View) -> int:
    """The tokens of what stands in the place of these rows, the pinned lines among them included."""
    shown = with_pins(edit, view)
    return sum(map(view.weigh, shown.messages if isinstance(shown, Fold) else (marker(old.count),)))


def without(old: Span, view: View, at_most: int) -> Drop | Fold:
    """The edit that drops these rows; what was asked first is quoted in its marker, in about so many tokens."""
    quote = quoted_first(old, view, at_most)
    if not quote:
        return Drop(old.covers)
    return Fold(old.covers, sealed(f"{marker(old.count).text}\n{quote}", old, view))


def quoted_first(old: Span, view: View, at_most: int) -> str:
    """What was asked first, quoted in about so many tokens, if these rows show it; and what they rule."""
    first = next((row for row in view.rows if row.is_request), None)
    if not any(row.asked and (row.kind != "entry" or row is first) for row in old.rows):
        return ""
    asked = tuple(_requests(old.rows, view))
    # A plan tries several stretches, and mostly the same was asked in them.
    known: tuple[object, str] = view.memory.get("quoted", (None, ""))
    if known[0] != (asked, at_most):
        story = Story(asked, tongue_of(item.words.text for item in asked))
        known = view.memory["quoted"] = (asked, at_most), quote(story, at_most, view.count)
    return known[1]


def _requests(rows: Sequence[Row], view: View) -> Iterator[Asked]:
    """What the user asked in these rows and behind them, as it was recorded."""
    found: dict[str, Asked] = {}
    for row in rows:
        for entry in row.asked:
            message = row.whole if row.kind == "entry" else view.said(entry)
            if message is not None and message.text.strip():
                found[entry] = request_in(entry, message, view)
    return iter(found.values())


def request_in(entry: str, message: Message, view: View) -> Asked:
    """What the user asked in a message, which is read once."""
    known: dict[str, tuple[Message, Asked]] = view.memory.setdefault("asked", {})
    one = known.get(entry)
    if one is None or one[0] is not message:
        one = known[entry] = message, Asked(entry, words_said(message))
    return one[1]
