"""Notes: what stands in the place of a part that a dialect has no form for."""

from __future__ import annotations

from fanfold.core.message import Document, Image, Opaque, Part
from fanfold.dialects.addresses import is_web


def note(part: Part) -> str:
    """The short text that says what was there."""
    match part:
        case Image(media=media, url=url):
            return _noted("an image", media, url)
        case Document(media=media, url=url, name=name):
            return _noted("a document", name or media, url)
        case Opaque(dialect=dialect):
            return _noted(f"a block of {dialect}")
        case _:
            return _noted("a part")


def _noted(what: str, name: str | None = None, url: str | None = None) -> str:
    known = ", ".join(filter(None, (name, url if url and is_web(url) else None)))
    return f"[{what} that cannot be shown here{f': {known}' if known else ''}]"
