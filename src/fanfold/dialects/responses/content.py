"""Blocks of content ⇄ parts: what stands in messages, and in the outputs of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.core.message import Document, Image, Opaque, Part, Text
from fanfold.dialects.media import is_web, note
from fanfold.dialects.openai import image_url, read_file, read_image, write_file

DIALECT = "openai.responses"
Content = Text | Image | Document | Opaque
_WORDS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})


def read_content(content: Any) -> Iterator[Content]:
    """One part for every block; an empty text is no part."""
    if isinstance(content, list):
        yield from map(read_block, content)
    elif isinstance(content, str):
        if content:
            yield Text(content)
    elif content is not None:
        yield Opaque(DIALECT, content)


def read_block(block: Any) -> Content:
    """One block as a part; what is not known stays as it is."""
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(kind, str) and kind in _WORDS and isinstance(block.get("text"), str):
        return Text(block["text"])
    match block:
        case {"type": "refusal", "refusal": str(text)}:
            return Text(text)
        case {"type": "input_image" | "computer_screenshot", "image_url": str(url)}:
            return read_image(url)
        case {"type": "input_file"}:
            return read_file(block) or Opaque(DIALECT, block)
        case _:
            return Opaque(DIALECT, block)


def write_content(parts: Sequence[Part], role: str) -> Any:
    """Parts as the content of a message: plain words of a person as one text, all else as blocks."""
    if role != "assistant" and all(isinstance(part, Text) for part in parts) and len(parts) < 2:
        return parts[0].text if parts and isinstance(parts[0], Text) else ""
    return [write_block(part, role) for part in parts]


def write_block(part: Part, role: str) -> dict[str, Any]:
    """One part as a block, a short note where there is no form for it; the model's own blocks hold words only."""
    match part:
        case Text(text=text) | Document(text=str(text)):
            return {"type": words_kind(role), "text": text}
        case Opaque(dialect=dialect, body=dict(body)) if dialect == DIALECT:
            return body
        case Image() | Document() if role != "assistant" and (block := _media(part)):
            return block
        case _:
            return {"type": words_kind(role), "text": note(part)}


def _media(part: Image | Document) -> dict[str, Any] | None:
    if isinstance(part, Image):
        url = image_url(part)
        return {"type": "input_image", "image_url": url} if url else None
    if part.data is None and part.url and is_web(part.url):
        return {"type": "input_file", "file_url": part.url}
    taken = write_file(part)
    return {"type": "input_file", **taken} if taken else None


def words_kind(role: str) -> str:
    """The kind of block that holds words in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def is_block(body: Any) -> bool:
    """Whether an unknown body is a block of content, not an item of its own."""
    kind = body.get("type") if isinstance(body, dict) else None
    return isinstance(kind, str) and kind.startswith(("input_", "output_", "refusal"))
