"""Blocks of content ⇄ parts: what stands in messages, and in the outputs of functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.codecs.addresses import unpacked
from fanfold.message import Document, Image, Opaque, Part, Text

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
            return _image(url)
        case {"type": "input_file", "file_data": str(data)}:
            return _document(data, block.get("filename"))
        case {"type": "input_file", "file_url": str(url)}:
            return Document(url=url, name=_text(block.get("filename")))
        case _:
            return Opaque(DIALECT, block)


def write_content(parts: Sequence[Part], role: str) -> Any:
    """Parts as the content of a message: plain words of a person as one text, all else as blocks."""
    if role != "assistant" and all(isinstance(part, Text) for part in parts) and len(parts) < 2:
        return parts[0].text if parts and isinstance(parts[0], Text) else ""
    return [write_block(part, role) for part in parts]


def write_block(part: Part, role: str) -> dict[str, Any]:
    """One part as a block; the model's own blocks hold words only."""
    match part:
        case Text(text=text) | Document(text=str(text)):
            return {"type": words_kind(role), "text": text}
        case Opaque(dialect="openai.responses", body=dict(body)):
            return body
        case Opaque(dialect=dialect):
            return {"type": words_kind(role), "text": f"[a block of {dialect} that cannot be shown here]"}
        case Image() | Document() if role == "assistant":
            return {"type": "output_text", "text": f"[{type(part).__name__.lower()}]"}
        case Image(url=str(url)):
            return {"type": "input_image", "image_url": url}
        case Image(media=media, data=data):
            return {"type": "input_image", "image_url": f"data:{media or 'image/png'};base64,{data or ''}"}
        case Document(url=str(url)):
            return {"type": "input_file", "file_url": url}
        case Document(media=media, data=data, name=name):
            data = f"data:{media or 'application/pdf'};base64,{data or ''}"
            return {"type": "input_file", "filename": name or "document.pdf", "file_data": data}
        case _:
            return {"type": words_kind(role), "text": ""}


def words_kind(role: str) -> str:
    """The kind of block that holds words in a message of this role."""
    return "output_text" if role == "assistant" else "input_text"


def is_block(body: Any) -> bool:
    """Whether an unknown body is a block of content, not an item of its own."""
    kind = body.get("type") if isinstance(body, dict) else None
    return isinstance(kind, str) and kind.startswith(("input_", "output_", "refusal"))


def _image(url: str) -> Image:
    inline = unpacked(url)
    return Image(*inline) if inline else Image(url=url)


def _document(data: str, name: Any) -> Document:
    media, data = unpacked(data) or (None, data)
    return Document(media, data, name=_text(name))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
