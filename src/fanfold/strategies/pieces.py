"""Pieces: the parts of a view that can be shortened, with about what each of them costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fanfold.core.edit import ASKED, Edit, Elide, Fold
from fanfold.core.message import Call, Document, Image, Message, Part, Result, Text, replace_part, text_of
from fanfold.core.view import Row, View
from fanfold.text.cutting import clip_text

MARGIN = 48
_LEAST_WORTH_CLIPPING = 64
_LEAST_WORDS = 80
"""Characters that stay of what a person said: where nothing is left of a question, an answer is worth nothing."""
_LEAST_PICTURE = 40
"""Tokens of a picture that takes more room than the note in its place."""


class Piece(NamedTuple):
    """A part of a message in a row."""

    row: Row
    message: int
    number: int
    part: Part
    tokens: int
    pictures: int = 0
    """Tokens of these that pictures and files take: they go as a whole."""

    @property
    def is_worth_clipping(self) -> bool:
        """Whether there is anything to gain."""
        return self.tokens > _LEAST_WORTH_CLIPPING + MARGIN or self.pictures > _LEAST_PICTURE


def pieces(view: View) -> Iterator[Piece]:
    """Every part that could be shortened; of several pictures in a row each counts the same."""
    for row in view.rows:
        if row.stays or row.id in view.exempt:
            continue
        parts = [part for message in row.messages for part in message.parts]
        total, many = max(1, sum(len(text_of(part)) for part in parts)), sum(map(_pictures, parts))
        told = "\n".join(map(text_of, parts)) if many else ""
        seen = max(0, row.tokens - view.count(told)) if many else 0
        for at, message in enumerate(row.messages):
            for number, part in enumerate(message.parts):
                if isinstance(part, Text | Result | Call | Image | Document):
                    pictures = seen * _pictures(part) // max(1, many)
                    spoken = (row.tokens - seen) * len(text_of(part)) // total
                    yield Piece(
                        row=row,
                        message=at,
                        number=number,
                        part=part,
                        tokens=spoken + pictures,
                        pictures=pictures,
                    )


def _pictures(part: Part) -> int:
    """How many pictures and files a part holds."""
    inner = part.parts if isinstance(part, Result) else (part,)
    return sum(isinstance(one, Image | Document) for one in inner)


def shortened(piece: Piece, excess: float, where: str) -> Edit:
    """The edit that shortens one part: an elide, or a fold of the row where the row is not an entry."""
    if piece.row.kind == "entry":
        return Elide(f"{piece.row.id}#{piece.number}", _text(piece, excess, where))
    text = _text(piece, excess)
    messages = list(piece.row.messages)
    parts = list(messages[piece.message].parts)
    parts[piece.number] = replace_part(piece.part, text)
    messages[piece.message] = Message(messages[piece.message].role, tuple(parts))
    return Fold((piece.row.id,), tuple(messages))


def left_out(part: Part, where: str) -> str:
    """What stands where pictures or files were."""
    what = "document" if isinstance(part, Document) else "image"
    return f"[{what} left out to fit the request{where}]"


def _text(piece: Piece, excess: float, where: str = "") -> str:
    """What is left of a part: of words as much as needed, of pictures a note, which is enough for both."""
    said = text_of(piece.part)
    where = where if ASKED not in said else ""
    if not piece.pictures:
        return _clip(said, piece.tokens, excess, where, _LEAST_WORDS if piece.row.is_request else 0)
    spoken, excess = piece.tokens - piece.pictures, excess - piece.pictures + MARGIN
    kept = _clip(said, spoken, excess, "") if excess > 0 and spoken > 0 else said
    return "\n".join(filter(None, (kept, left_out(piece.part, where))))


def _clip(text: str, tokens: int, excess: float, where: str, least: int = 0) -> str:
    """A text, shortened; what asks for a reference itself is given no other."""
    share = max(0.0, (tokens - excess - MARGIN) / tokens)
    return clip_text(text, max(least, int(len(text) * share * 0.9)), where)
