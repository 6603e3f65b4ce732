"""The user's first request: it stays in place while it is short, and in words where it is not."""

from __future__ import annotations

from collections.abc import Iterator

from fanfold.edit import Drop, Fold
from fanfold.show import marker
from fanfold.strategies.gist import Gist, size_of
from fanfold.strategies.gleaning import rules, told
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
    quote = quoted_first(old, view, at_most)
    if not quote:
        return Drop(old.covers)
    return Fold(old.covers, sealed(f"{marker(old.count).text}\n{quote}", old, view))


def quoted_first(old: Span, view: View, at_most: int) -> str:
    """What was asked first, quoted in about so many tokens, if these rows show it."""
    first, size = next(_first(old, view), None), int(at_most * _BYTES)
    return "\n".join(_without_repetition(first, size).user_blocks(size)) if first else ""


def _without_repetition(first: Gist, size: int) -> Gist:
    """A gist whose rules are none that its request tells, if that is quoted whole."""
    if size_of(first.asked[0]) > size:
        return first
    lines = first.asked[0].splitlines()
    return Gist(asked=first.asked, rules=tuple(rule for rule in first.rules if rule not in lines))


def _first(old: Span, view: View) -> Iterator[Gist]:
    """What the user asked and ruled first, if these rows show it: in a marker or summary before, or as it was said."""
    first = next((row for row in view.rows if row.is_request), None)
    for row in old.rows:
        gist = told(row) if row.kind == "fold" else _request(row) if row is first else Gist()
        asked = gist.asked[:1] or _own_words(row, gist)
        if asked:
            yield Gist(asked=asked, rules=gist.rules)


def _request(row: Row) -> Gist:
    asked = "\n".join(message.text for message in row.messages).strip()
    return Gist(asked=(asked,), rules=tuple(rules([asked]))) if asked else Gist()


def _own_words(row: Row, gist: Gist) -> tuple[str, ...]:
    """The words of a summary of ours: where it lists no request, they tell it."""
    return (gist.written,) if gist.written and unsealed(row) is not None else ()
