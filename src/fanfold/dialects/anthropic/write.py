"""Anthropic's wire, written: messages that did not come over it, and parts that were elided."""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Any

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text
from fanfold.dialects.anthropic.read import DIALECT
from fanfold.dialects.anthropic.tools import NAMING
from fanfold.dialects.dialect import id_digest, is_sent, leaves_out, plain, read_arguments
from fanfold.dialects.media import is_web, note, unpack
from fanfold.dialects.rules import Body

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def wire(message: Message) -> tuple[Body, ...]:
    """One message in wire form: as received, or written from its parts."""
    return (message.wire.body,) if message.wire and message.came_over(DIALECT) else write(message)


@lru_cache(maxsize=4096)
def plain_id(id: str) -> bool:
    """Whether Anthropic takes this as the id of a call: letters, digits, underscores, dashes."""
    return _ID.fullmatch(id) is not None


def wire_id(id: str) -> str:
    """The id as Anthropic takes it; another one stays apart from every other."""
    return id if plain_id(id) else f"{re.sub(r'[^a-zA-Z0-9_-]', '_', id)[:40]}_{id_digest(id)[:8]}"


def arguments(raw: str) -> dict[str, Any]:
    """A call's input as the object Anthropic wants; arguments that are none come in one under `_raw`."""
    value = read_arguments(raw)
    return value if isinstance(value, dict) else {"_raw": raw}


def text_block(text: str) -> Body:
    """A block of plain words."""
    return {"type": "text", "text": text}


def patch(was: Message, message: Message) -> Body:
    """The wire form as received, with exactly those parts changed that were elided."""
    assert was.wire is not None
    body: Body = plain(was.wire.body)
    for i, (before, after) in enumerate(zip(was.parts, message.parts, strict=True)):
        if after is before or after == before:
            continue
        if isinstance(body["content"], str):
            body["content"] = after.text if isinstance(after, Text) else ""
        else:
            body["content"][i] = _replace(body["content"][i], after)
    if isinstance(body["content"], list):
        pairs = zip(body["content"], was.parts, message.parts, strict=True)
        body["content"] = [block for block, before, after in pairs if not leaves_out(before, after)]
    return body


def _replace(block: Any, part: Part) -> Any:
    match part:
        case Call(raw=raw):
            return {**block, "input": arguments(raw)}
        case Result():
            return {**block, "content": _result(part)["content"]}
        case Text(text=text):
            is_marked = isinstance(block, dict) and "cache_control" in block
            return text_block(text) | ({"cache_control": block["cache_control"]} if is_marked else {})
        case _:
            return block


def write(message: Message) -> tuple[Body, ...]:
    """A message that did not come over this wire. Where it has no place for the role, the user speaks."""
    role = "assistant" if message.role == "assistant" else "user"
    found = [_block(part, role) for part in message.parts if is_sent(part)]
    if message.role == "system":
        # Older models know no system messages among the others; a blank text stays one, and is repaired like any.
        found = [
            text_block(f"[system]\n{block['text']}")
            if block["type"] == "text" and block["text"].strip()
            else block
            for block in found
        ]
    return ({"role": role, "content": found},) if found else ()


def _block(part: Part, role: str) -> Body:
    match part:
        case Call(id=id, name=name, raw=raw):
            call = {"type": "tool_use", "id": wire_id(id), "name": NAMING.fit(name)}
            return {**call, "input": arguments(raw)}
        case Result():
            return _result(part)
        case Image() | Document() if role == "assistant":
            return text_block(note(part))
        case _:
            return _content_block(part)


def _result(result: Result) -> Body:
    found = [_content_block(part) for part in result.parts if is_sent(part)]
    found = [block for block in found if block.get("text") != ""]
    content: Any = found
    if all(block.keys() == {"type", "text"} for block in found):
        content = "\n".join(block["text"] for block in found)
    block = {"type": "tool_result", "tool_use_id": wire_id(result.call), "content": content}
    return {**block, "is_error": True} if result.error else block


def _content_block(part: Part) -> Body:
    match part:
        case Text(text=text):
            return text_block(text)
        case Image() if source := _image_source(part):
            return {"type": "image", "source": source}
        case Document() if source := _document_source(part):
            return {"type": "document", "source": source, **({"title": part.name} if part.name else {})}
        case Opaque(dialect=dialect, body=dict(body)) if dialect == DIALECT:
            return body
        case _:
            return text_block(note(part))


def _image_source(image: Image) -> Body | None:
    media, data = image.media or "image/png", image.data
    if data is None and image.url and image.url.startswith("data:"):
        media, data = unpack(image.url) or (media, image.url)
    if data is not None:
        return {"type": "base64", "media_type": media, "data": data} if media in _PICTURES else None
    return {"type": "url", "url": image.url} if image.url and is_web(image.url) else None


def _document_source(document: Document) -> Body | None:
    words, data = document.text, document.data
    if words is None and data is not None:
        media, data = unpack(data) or (document.media or "application/pdf", data)
        if media == "application/pdf":
            return {"type": "base64", "media_type": media, "data": data}
        if not media.startswith("text/"):
            return None
        try:
            words = base64.b64decode(data, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            return None
    if words is not None:
        return {"type": "text", "media_type": "text/plain", "data": words} if words.strip() else None
    return {"type": "url", "url": document.url} if document.url and is_web(document.url) else None
