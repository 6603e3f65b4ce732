"""What OpenAI's two dialects have in common: names of functions, tools of plain text, pictures and documents."""

from __future__ import annotations

from typing import Any

from fanfold.core.message import Document, Image
from fanfold.core.record import Frame
from fanfold.core.view import Violation
from fanfold.dialects.dialect import Marks, ProviderDialect
from fanfold.dialects.media import is_web, pack, unpack
from fanfold.dialects.registry import Body
from fanfold.dialects.rules import Params
from fanfold.dialects.tools import Freeform, Naming
from fanfold.tokens.models import Model

NAMING = Naming("a-zA-Z0-9_-", 64)
LONGEST_TEXT = 10 * 1024 * 1024
"""Characters of one text."""
_PDF = "application/pdf"
_FILES = ("application/", "text/")
"""Kinds of media that are taken as files; sounds and films are not."""


class OpenAIDialect(ProviderDialect):
    """A dialect that others speak too: what only OpenAI itself demands and offers is left to its own models."""

    def __init__(self, model: Model | None = None) -> None:
        super().__init__(model)
        self._is_openai = model is not None and model.provider == "openai"

    def check_frame(self, frame: Frame, params: Params) -> list[Violation]:
        """OpenAI's rules that these tools break; others who speak this dialect may take more."""
        return super().check_frame(frame, params) if self._is_openai else []

    def cache_key(self, marks: Marks | None, params: Params) -> dict[str, str]:
        """The parameter that makes the prompt cache hit, unless the caller gave one."""
        wanted = marks is not None and self._is_openai and "prompt_cache_key" not in params
        return {"prompt_cache_key": marks.key} if marks and wanted else {}


def freeform(body: Body) -> Freeform:
    """A tool that takes plain text; its grammar as Responses writes it."""
    form = body.get("format")
    match form:
        case {"type": "grammar", "grammar": dict(grammar)}:
            form = {"type": "grammar", **grammar}
    return Freeform(str(body["name"]), body.get("description"), form)


def read_image(url: str) -> Image:
    """A picture from its address."""
    inline = unpack(url)
    return Image(*inline) if inline else Image(url=url)


def image_url(image: Image) -> str | None:
    """The address of a picture; None where OpenAI cannot get at it."""
    if image.data is not None:
        return pack(image.media or "image/png", image.data)
    return image.url if image.url and (is_web(image.url) or unpack(image.url)) else None


def read_file(file: dict[str, Any]) -> Document | None:
    """A document from its bytes, its address, or the id under which OpenAI keeps it."""
    name = file.get("filename")
    name = name if isinstance(name, str) else None
    match file:
        case {"file_data": str(data)}:
            media, data = unpack(data) or (None, data)
            return Document(media, data, name=name)
        case {"file_url": str(url)} | {"file_id": str(url)}:
            return Document(url=url, name=name)
    return None


def write_file(document: Document) -> dict[str, str] | None:
    """A document's bytes, or the id under which OpenAI keeps it; None where it has neither."""
    if document.data is not None:
        media, data = unpack(document.data) or (document.media or _PDF, document.data)
        if not media.startswith(_FILES):
            return None
        name = document.name or ("document.pdf" if media == _PDF else "document")
        return {"filename": name, "file_data": pack(media, data)}
    return {"file_id": document.url} if document.url and "://" not in document.url else None
