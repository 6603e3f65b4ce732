"""Anthropic's wire, read: one block, one part."""

from __future__ import annotations

from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import (
    Call,
    Document,
    Image,
    Message,
    Opaque,
    Part,
    Result,
    Role,
    Text,
    Thinking,
    Wire,
)
from fanfold.dialects.dialect import plain
from fanfold.text.json_text import to_json

DIALECT = "anthropic"
Body = dict[str, Any]
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
THOUGHTS = frozenset({"thinking", "redacted_thinking"})
READ = frozenset({"text", "tool_use", "tool_result", "image", "document"}) | THOUGHTS
"""Types of blocks that are read into parts."""
ASKS = frozenset({"server_tool_use", "mcp_tool_use"})
"""Uses of tools that the server runs itself."""


def read(body: Any, where: str = "message") -> Message:
    """One wire message; what is no message at all is refused, broken content is kept as it is."""
    body = plain(body, where)
    if not isinstance(body, dict):
        raise BadMessage(
            f"{where} is {type(body).__name__}, not a message: give a dict with role and content."
        )
    role = _ROLES.get(str(body.get("role")))
    if role is None:
        known = ", ".join(_ROLES)
        raise BadMessage(f"{where} has the role {body.get('role')!r}; known roles are {known}.")
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
    match kind(block):
        case "text" if isinstance(block.get("text"), str):
            return Text(block["text"])
        case "tool_use" if isinstance(block.get("id"), str) and isinstance(block.get("name"), str):
            return Call(block["id"], block["name"], to_json(block["input"]) if "input" in block else "")
        case "tool_result" if isinstance(block.get("tool_use_id"), str):
            inner = tuple(
                one if isinstance(one, Text | Image | Document | Opaque) else Opaque(DIALECT, one)
                for one in parts(block.get("content"))
            )
            return Result(block["tool_use_id"], inner, block.get("is_error") is True)
        case "thinking" if isinstance(block.get("thinking"), str):
            signature = block.get("signature")
            return Thinking(
                block["thinking"], signature if isinstance(signature, str) and signature else None
            )
        case "redacted_thinking" if isinstance(block.get("data"), str) and block["data"]:
            return Thinking("", block["data"])
        case "image" | "document":
            return _media(block) or Opaque(DIALECT, block)
    return Opaque(DIALECT, block)


def _media(block: Body) -> Image | Document | None:
    if block["type"] == "document":
        title = block.get("title")
        name = title if isinstance(title, str) else None
        match block.get("source"):
            case {"type": "base64", "media_type": str(media), "data": str(data)}:
                return Document(media=media, data=data, name=name)
            case {"type": "text", "media_type": str(media), "data": str(text)}:
                return Document(media=media, text=text, name=name)
            case {"type": "url", "url": str(url)}:
                return Document(url=url, name=name)
        return None
    match block.get("source"):
        case {"type": "base64", "media_type": str(media), "data": str(data)}:
            return Image(media=media, data=data)
        case {"type": "url", "url": str(url)}:
            return Image(url=url)
    return None


def is_own(message: Message) -> bool:
    """Whether a message came over this wire."""
    return message.came_over(DIALECT)


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


def waits(body: Body) -> bool:
    """Whether a server's tool has still to give its result to this message."""
    pairs = list(map(server_use, blocks(body)))
    return not {id for id, asks in pairs if asks} <= {id for id, asks in pairs if asks is False}
