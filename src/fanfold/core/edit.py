"""Edits: recorded decisions about what to show.

An edit names the rows it covers by their ids: an entry's own id, or the id of the edit that made the row.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fanfold.core.errors import BadEdit
from fanfold.core.message import Message, replace_part, user

READ, GREP, SEARCH = "tool_output_cache", "tool_output_cache_grep", "tool_output_cache_search"
RECALL = frozenset((READ, GREP, SEARCH))
"""The tools with which a model looks things up again."""

REF = "{ref}"
"""Stands for the reference in a text, until the reference is known."""

ASKED = f"ref={REF}"
"""What a text says that asks for a reference."""

TRIMMED = "[tool output trimmed; ref={ref}]"
"""The plainest placeholder (systems.md A5)."""

MOST_DIGITS = 9
"""No part and no reference has a longer number."""

Author = Literal["person", "auto", "pass", "mend"]


class Fold(msgspec.Struct, frozen=True, tag="fold", omit_defaults=True):
    """Rows become one row, which shows a text or some messages."""

    covers: tuple[str, ...]
    shows: str | tuple[Message, ...]
    ref: str | None = None
    """A reference to what is covered; given by the draft where the first line of the text says `ref={ref}`."""
    sources: tuple[tuple[int, str], ...] = ()
    """Where lines of its text come from: the number of each, from 1, and the beginnings of ids of entries, or of their
    parts (`7be1c0de#0`), with spaces between them."""

    def __post_init__(self) -> None:
        if not isinstance(self.shows, str | list | tuple):
            raise BadEdit(f"A fold shows a text or a tuple of messages, not {repr(self.shows)[:80]}.")

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is shown instead of the covered rows."""
        return (user(self.shows),) if isinstance(self.shows, str) else self.shows

    @property
    def words(self) -> str:
        """The text that is shown first, if it is nothing but text."""
        first = self.messages[0]
        return first.text if first == user(first.text) else ""

    def reword(self, words: str, ref: str) -> Fold:
        """The same with other words first, which name this reference."""
        shows = words if isinstance(self.shows, str) else (user(words), *self.shows[1:])
        return Fold(self.covers, shows, ref, self.sources)


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """Rows leave the view behind a marker."""

    covers: tuple[str, ...]


class Elide(msgspec.Struct, frozen=True, tag="elide", omit_defaults=True):
    """One part of a message (`entry#part`) becomes a short text, with a reference to the whole.

    A text with `ref={ref}` in it asks for a reference, which the draft puts in. Thinking is left out by no text at all.
    """

    address: str
    text: str
    ref: str | None = None
    beside: bool = False
    """Whether the pictures and files of a result stay beside the text; documents of words are a part of it."""
    instead: bool = False
    """Whether this text is all that models ever get of the part: the caller's own filters left it so."""

    @property
    def entry(self) -> str:
        """The id of the entry whose part this is."""
        return self.address.rpartition("#")[0]

    @property
    def part(self) -> int:
        """The number of the part within its message."""
        number = number_in(self.address.rpartition("#")[2])
        return -1 if number is None else number


def number_in(digits: str) -> int | None:
    """The number of a part or a reference; None where there is none, or one that nothing ever has."""
    return int(digits) if digits.isdecimal() and len(digits) <= MOST_DIGITS else None


class Repair(msgspec.Struct, frozen=True, tag="mend"):
    """Rows as the provider's grammar needs them."""

    covers: tuple[str, ...]
    shows: tuple[Message, ...]


class Pin(msgspec.Struct, frozen=True, tag="pin", omit_defaults=True):
    """An entry, or lines of text, that every later view shows verbatim."""

    entry: str | None = None
    text: str | None = None

    @property
    def lines(self) -> list[str]:
        """The lines of its text."""
        return [line for line in (self.text or "").splitlines() if line.strip()]


class Note(msgspec.Struct, frozen=True, tag="note", omit_defaults=True):
    """State beside the conversation; a later note of the same name replaces it at the next reduction."""

    name: str
    text: str
    late: bool = False
    """What stands before it had been sent when it was made, and must not change any more."""


class Undo(msgspec.Struct, frozen=True, tag="undo"):
    """The named edit no longer counts; undoing an undo brings the edit back."""

    edit: str


def with_elided(message: Message, *edits: Elide) -> Message:
    """The message with the texts of these edits in the place of its parts."""
    parts = list(message.parts)
    for edit in edits:
        parts[edit.part] = replace_part(parts[edit.part], edit.text, beside=edit.beside)
    return Message(message.role, tuple(parts))


Edit = Fold | Drop | Elide | Repair | Pin | Note | Undo
Cover = Fold | Drop | Repair
"""Edits that put one row in the place of whole rows."""


class Decision(msgspec.Struct, frozen=True, omit_defaults=True):
    """An edit as it was made: its id, where, by whom and why."""

    id: str
    at: str | None
    """The tip of the path the edit was made on; it stands on every path through it."""
    edit: Edit
    by: Author = "auto"
    why: str = ""
    """The name of the strategy or filter, or a person's reason."""
    before: int = 0
    after: int = 0

    @property
    def reduces(self) -> bool:
        """Whether this edit was made to save room."""
        return isinstance(self.edit, Fold | Drop | Elide)


def covers_of(edit: Edit) -> tuple[str, ...]:
    """The ids of the rows an edit covers."""
    match edit:
        case Elide():
            return (edit.entry,)
        case Pin() | Note() | Undo():
            return ()
        case _:
            return edit.covers


def with_ref(text: str, ref: str) -> str:
    """The text with its reference put in, once: what follows may be an excerpt with anything in it."""
    return text.replace(ASKED, f"ref={ref}", 1)
