"""Anthropic's wire, read: one block, one part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    if isinstance(block, dict) and isinstance(kind := block.get("type"), str) and kind in _READERS:
        found = _READERS[kind](block)
        if found is not None:
            return found
    return Opaque(DIALECT, block)


def own(message: Message) -> bool:
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


def served(block: Any) -> tuple[str, bool | None]:
    """The id in a server tool's block, and whether it asks or answers; None for any other block."""
    name = kind(block)
    if name in ASKS:
        return str(block.get("id")), True
    if name.endswith("_tool_result"):
        return str(block.get("tool_use_id")), False
    return "", None


def waits(body: Body) -> bool:
    """Whether a server's tool has still to give its result to this message."""
    pairs = list(map(served, blocks(body)))
    return not {id for id, asks in pairs if asks} <= {id for id, asks in pairs if asks is False}


def _text(block: Body) -> Part | None:
    text = block.get("text")
    return Text(text) if isinstance(text, str) else None


def _call(block: Body) -> Part | None:
    id, name = block.get("id"), block.get("name")
    if not isinstance(id, str) or not isinstance(name, str):
        return None
    return Call(id, name, to_json(block["input"]) if "input" in block else "")


def _result(block: Body) -> Part | None:
    call = block.get("tool_use_id")
    if not isinstance(call, str):
        return None
    inner = tuple(_shown(parts(block.get("content"))))
    return Result(call, inner, block.get("is_error") is True)


def _shown(found: Iterable[Part]) -> Iterable[Text | Image | Document | Opaque]:
    for one in found:
        yield one if isinstance(one, Text | Image | Document | Opaque) else Opaque(DIALECT, one)


def _thinking(block: Body) -> Part | None:
    text, signature = block.get("thinking"), block.get("signature")
    if not isinstance(text, str):
        return None
    return Thinking(text, signature if isinstance(signature, str) and signature else None)


def _redacted(block: Body) -> Part | None:
    data = block.get("data")
    return Thinking("", data) if isinstance(data, str) and data else None


def _image(block: Body) -> Part | None:
    match block.get("source"):
        case {"type": "base64", "media_type": str(media), "data": str(data)}:
            return Image(media=media, data=data)
        case {"type": "url", "url": str(url)}:
            return Image(url=url)
    return None


def _document(block: Body) -> Part | None:
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


_READERS: dict[str, Callable[[Body], Part | None]] = {
    "text": _text,
    "tool_use": _call,
    "tool_result": _result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "image": _image,
    "document": _document,
}
READ = frozenset(_READERS)
