"""Anthropic's wire, read: one block, one part."""

from __future__ import annotations

from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking, Wire
from fanfold.dialects.dialect import SPEAKERS, read_role, told_miss
from fanfold.dialects.rules import Body
from fanfold.text.json_text import to_json

DIALECT = "anthropic"
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
ASKS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Uses of tools that the server runs itself."""


def read(body: Any, where: str = "message") -> Message:
    """One wire message; what is no message at all is refused, broken content is kept as it is."""
    body, role = read_role(body, SPEAKERS, where)
    if body.get("tool_calls"):
        raise BadMessage(f"{where}.tool_calls: this is a message of Chat Completions: name its dialect.")
    return Message(role, parts(body.get("content")), Wire(DIALECT, body))


def parts(content: Any) -> tuple[Part, ...]:
    """The parts of a message's content: as many as it has blocks."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(map(part, content)) if isinstance(content, list) else ()


def part(block: Any) -> Part:
    """One block as a part; unknown and malformed ones are kept verbatim."""
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "tool_use", "id": str(id), "name": str(name)}:
            return Call(id, name, to_json(block["input"]) if "input" in block else "")
        case {"type": "tool_result", "tool_use_id": str(id)}:
            inner = tuple(
                one if isinstance(one, Text | Image | Document | Opaque) else Opaque(DIALECT, one)
                for one in parts(block.get("content"))
            )
            return Result(id, inner, block.get("is_error") is True)
        case {"type": "thinking", "thinking": str(text)}:
            signature = block.get("signature")
            return Thinking(text, signature if isinstance(signature, str) and signature else None)
        case {"type": "redacted_thinking", "data": str(data)} if data:
            return Thinking("", data)
        case {"type": "image", "source": {"type": "base64", "media_type": str(media), "data": str(data)}}:
            return Image(media, data)
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return Image(url=url)
        case {"type": "document", "source": source}:
            return _document(source, block.get("title")) or Opaque(DIALECT, block)
    return Opaque(DIALECT, block)


def _document(source: Any, title: Any) -> Document | None:
    name = title if isinstance(title, str) else None
    match source:
        case {"type": "base64", "media_type": str(media), "data": str(data)}:
            return Document(media=media, data=data, name=name)
        case {"type": "text", "media_type": str(media), "data": str(text)}:
            return Document(media=media, text=text, name=name)
        case {"type": "url", "url": str(url)}:
            return Document(url=url, name=name)
    return None


def read_miss(body: Body) -> str:
    """Why the prompt cache missed, where a response has diagnostics that say so."""
    match body.get("diagnostics"):
        case {"cache_miss_reason": {"type": reason, **more}}:
            return told_miss(reason, more.get("cache_missed_input_tokens"))
    return ""


def is_own(message: Message) -> bool:
    """Whether a message came over this wire."""
    return message.wire is not None and message.wire.dialect == DIALECT


def blocks(body: Body) -> list[Any]:
    """The blocks of a wire message; a text stands for one block."""
    content = body.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def kind(block: Any) -> str:
    """A block's type, or nothing for what is no block."""
    found = block.get("type") if isinstance(block, dict) else None
    return found if isinstance(found, str) else ""


def server_use(block: Any) -> tuple[str, bool | None]:
    """The id in a server tool's block, and whether it asks or answers; None for any other block."""
    name = kind(block)
    if name in ASKS:
        return str(block.get("id")), True
    if name.endswith("_tool_result"):
        return str(block.get("tool_use_id")), False
    return "", None


def server_ids(content: list[Any]) -> tuple[set[str], set[str]]:
    """What tools of the server were asked in these blocks, and what they answered, by id."""
    uses = list(map(server_use, content))
    return {id for id, asks in uses if asks}, {id for id, asks in uses if asks is False}


def waits(body: Body) -> bool:
    """Whether a server's tool has still to give its result to this message."""
    asked, given = server_ids(blocks(body))
    return not asked <= given
