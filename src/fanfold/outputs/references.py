"""What a reference stands for: the content of a part, or the rows that an edit covers."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterable

from fanfold.core.edit import Decision, Elide, Fold, covers_of
from fanfold.core.errors import NotFound
from fanfold.core.log import Log
from fanfold.core.message import (
    Call,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Result,
    argument_texts,
    text_of,
)
from fanfold.core.record import Kept
from fanfold.outputs.source import encode
from fanfold.text.data import media_of

Content = tuple[bytes, str]
"""Bytes and their media type."""


def behind(log: Log, address: str, version: int | None = None, *, told: bool = False) -> Content:
    """The content at `entry#part` as of a version, or behind an edit, whole.

    `told`: for models, who get what the caller's filters left of an output.
    """
    entry, _, number = address.rpartition("#")
    body = log.told if told else log.message
    if entry:
        parts = body(entry, version).parts
        return of_part(parts[int(number)]) if int(number) < len(parts) else (b"", "text/plain")
    return _text("\n\n".join(_row(log, id, body) for id in covers_of(log.decision(address).edit)))


def _row(log: Log, id: str, body: Callable[[str], Message]) -> str:
    """A covered row as text: an entry, or what an earlier edit showed."""
    edit = log.decisions[id].edit if id in log.decisions else None
    if edit is not None and not isinstance(edit, Fold):
        return "\n\n".join(_row(log, covered_id, body) for covered_id in covers_of(edit))
    messages = (body(id),) if edit is None else edit.messages
    return "\n".join(f"[{message.role}]\n{text_of(message)}" for message in messages)


def of_part(part: Part) -> Content:
    """The content of a part: its words, or the picture or file that it is."""
    if isinstance(part, Result):
        told = [text_of(one) for one in part.parts]
        if len(told) == 1 and not told[0]:
            return of_part(part.parts[0])
        return _text("\n".join([text or _label(one) for text, one in zip(told, part.parts, strict=True)]))
    if isinstance(part, Image | Document) and part.data is not None:
        try:
            data = b64decode(part.data)
        except (Error, ValueError):
            data = encode(part.data)
        return data, part.media or "application/octet-stream"
    if isinstance(part, Call) and "\\n" in part.raw and (told := argument_texts(part)):
        return _text(
            "\n".join([part.name, *told])
        )  # lines as the tool gets them, which can be read and searched
    return _text(text_of(part) or _label(part))


def _label(part: Part) -> str:
    match part:
        case Image(url=url) | Document(url=url):
            return f"[{type(part).__name__.lower()} {part.media or ''} {url or ''}]"
        case Opaque(dialect=dialect):
            return f"[a block of {dialect}]"
        case _:
            return ""


def _text(text: str) -> Content:
    data = encode(text)
    return data, media_of(data)


def keep(ref: str, address: str, content: Content) -> Kept:
    """The record that gives this content its reference."""
    data, media = content
    return Kept(ref=ref, address=address, size=len(data), lines=line_count(data), media=media)


def line_count(data: bytes) -> int:
    """How many lines there are, the last one without a newline included."""
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def shelved(log: Log, decisions: Iterable[Decision]) -> list[Kept]:
    """The references that some decisions gave out and that are not recorded yet."""
    found = []
    for decision in decisions:
        edit = decision.edit
        if isinstance(edit, Elide | Fold) and edit.ref is not None and edit.ref not in log.kept:
            address = edit.address if isinstance(edit, Elide) else decision.id
            try:
                found.append(keep(edit.ref, address, behind(log, address)))
            except (
                NotFound
            ):  # a resumed log does not know what older edits cover; whoever looks it up reads all
                found.append(Kept(edit.ref, address))
    return found
