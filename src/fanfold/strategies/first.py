"""The user's first request: it stays in place while it is short, and in words where it is not."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.edit import Drop, Fold
from fanfold.show import marker
from fanfold.strategies.gist import listed, shortened
from fanfold.strategies.gleaning import told
from fanfold.strategies.seal import sealed, unsealed
from fanfold.view import Row, Span, View

_BYTES = 2.5
"""About so many bytes a token has."""


def first_request(view: View, at_most: int) -> Row | None:
    """The user's first request, if it is still in view and costs no more than `at_most`."""
    row = next((row for row in view.rows if row.is_request), None)
    return row if row and row.tokens <= at_most else None


def asking_row(view: View) -> Row | None:
    """The row that tells what was asked first: the first request, or a summary before it."""
    return next((row for row in view.rows if row.is_request or row.kind == "fold"), None)


def without(old: Span, view: View, at_most: int) -> Drop | Fold:
    """The edit that drops these rows; what was asked first is quoted in its marker, in about so many tokens."""
    asked = next(_asked(old, view), None)
    if asked is None:
        return Drop(old.covers)
    quote = listed("asked", [shortened(asked, int(at_most * _BYTES))])
    text = f"{marker(old.count).text}\n{quote}"
    return Fold(old.covers, sealed(text, old, view))


def _asked(old: Span, view: View) -> Iterator[str]:
    """What the user asked first, if these rows show it: in an earlier marker or summary, or as it was said."""
    first = next((row for row in view.rows if row.is_request), None)
    for row in old.rows:
        if row.kind == "fold":
            yield from _asked_in(row)
        elif row is first:
            yield "\n".join(message.text for message in row.messages).strip()


def _asked_in(row: Row) -> tuple[str, ...]:
    """What a summary of ours says was asked first; its own words, where they tell it."""
    gist = told(row)
    return gist.asked[:1] or ((gist.written,) if gist.written and unsealed(row) is not None else ())
