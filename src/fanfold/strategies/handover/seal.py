"""Summaries mark themselves with a check code, so that nothing else can pass for one.

The code is made from the text and from the ids of the rows behind it. Those ids are hashes of everything that was said
before; no tool output is ever shown them, so none can write a mark that holds. A mark counts in a fold only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile

from msgspec.structs import replace

from fanfold.core.draft import PINNED, lost_lines
from fanfold.core.edit import REF, Fold
from fanfold.core.ids import digest
from fanfold.core.message import Message, user
from fanfold.core.view import Row, Span, View

_HEAD = re.compile(r"\A\[summary of [\d,]+ messages?;(?: ref=\w+;)? check ([0-9a-f]{8})\]\n")
_BETWEEN = "\n\n"


def sealed(text: str, old: Span, view: View, *, ref: bool | None = False) -> str:
    """A summary's text with its mark, and with the pinned lines that it hides: put in later, they would break the mark.

    With `ref`, the mark names a reference to what the summary hides; None leaves it to whether the model has tools to
    look it up.
    """
    text = with_pins(text, old, view)
    many = "message" if old.count == 1 else "messages"
    wanted = view.refs is not None if ref is None else ref
    named = f" ref={REF};" if wanted else ""
    return f"[summary of {old.count:,} {many};{named} check {_code(text, old.covers)}]\n{text}"


def sealed_apart(
    first: str, rest: str, old: Span, view: View, *, ref: bool | None = False
) -> tuple[str, str]:
    """A summary in two texts under one mark, which stands in the first."""
    beginning = f"{first}{_BETWEEN}"
    rest = with_pins(f"{beginning}{rest}", old, view).removeprefix(beginning)
    return sealed(f"{beginning}{rest}", old, view, ref=ref).removesuffix(f"{_BETWEEN}{rest}"), rest


def with_pins(text: str, old: Span, view: View) -> str:
    """A text with the pinned lines that these rows show and it does not."""
    lost = lost_lines(view, old.covers, text)
    return "\n".join([text, PINNED, *lost]) if lost else text


def unsealed(row: Row) -> str | None:
    """The text of a summary that stands in this row under a true mark, or None."""
    if row.kind != "fold":
        return None
    text = _text(row.messages)
    found = _HEAD.match(text)
    if found is None or found.group(1) != _code(text[found.end() :], row.covers):
        return None
    return text[found.end() :]


def seal_again(fold: Fold, old: Span) -> Fold:
    """The same fold over other rows; a summary of ours gets a mark that holds for these."""
    told, texts = _told(fold.messages), _text(fold.messages)
    found = _HEAD.match(texts)
    if found is None or found.group(1) != _code(texts[found.end() :], fold.covers):
        return replace(fold, covers=old.covers)
    many = "message" if old.count == 1 else "messages"
    ref = f" ref={fold.ref};" if fold.ref else ""
    head = f"[summary of {old.count:,} {many};{ref} check {_code(texts[found.end() :], old.covers)}]\n"
    first = head + told[0].text[found.end() :]
    shows = first if isinstance(fold.shows, str) else (user(first), *fold.shows[1:])
    return replace(fold, covers=old.covers, shows=shows)


def _told(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages that a summary's mark stands for."""
    return list(takewhile(lambda message: message.role == "user", messages)) or messages


def _text(messages: Sequence[Message]) -> str:
    return _BETWEEN.join(message.text for message in _told(messages))


@lru_cache(maxsize=64)
def _code(text: str, covers: tuple[str, ...]) -> str:
    ids = " ".join(covers).encode("utf-8", "surrogatepass")
    return digest(b"fanfold summary", ids, text.encode("utf-8", "surrogatepass"))[:8]
