"""From wire bodies to parts, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Document, Image, Opaque, Part, Result, Role, Text, Thinking
from fanfold.dialects.openai import read_file, read_image
from fanfold.dialects.registry import CHAT

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
OLD = "function_call"
"""The id of a function called the old way: such calls have none, and only `function` messages answer them."""
THOUGHTS = ("reasoning_content", "reasoning")
"""The fields in which makers that speak this dialect put a message's reasoning."""
Place = tuple[str | int, ...]


def locate_parts(body: dict[str, Any], role: Role, where: str) -> Iterator[tuple[Place, Part]]:
    """Every part of a wire message with the place where it stands."""
    if role == "tool":
        yield ("content",), _result(body, where)
        return
    for key in THOUGHTS:
        if isinstance(body.get(key), str) and body[key]:
            yield (key,), Thinking(body[key])
            break
    yield from _contents(body.get("content"), where)
    yield from _calls(body, where)
    if isinstance(body.get("refusal"), str) and body["refusal"]:
        yield ("refusal",), Text(body["refusal"])


def _contents(content: Any, where: str) -> Iterator[tuple[Place, Part]]:
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield ("content",), Text(content)
        return
    if not isinstance(content, list | tuple):
        raise BadMessage(
            f"{where}.content is {type(content).__name__}; it must be a text, a list of parts or null."
        )
    for i, block in enumerate(content):
        yield ("content", i), _block(block, f"{where}.content[{i}]")


def _block(block: Any, where: str) -> Text | Image | Document | Opaque:
    if not isinstance(block, dict):
        raise BadMessage(f"{where} is {type(block).__name__}; a part is a dict with a `type`.")
    if block.get("type") in ("tool_use", "tool_result"):
        raise BadMessage(f"{where} is a {block['type']} block of Anthropic Messages: name its dialect.")
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return read_image(url)
        case {"type": "file", "file": dict(file)}:
            return read_file(file) or Opaque(CHAT, block)
        case _:
            return Opaque(CHAT, block)


def _calls(body: dict[str, Any], where: str) -> Iterator[tuple[Place, Part]]:
    calls = body.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise BadMessage(f"{where}.tool_calls is {type(calls).__name__}; it must be a list.")
    for i, call in enumerate(calls or ()):
        yield ("tool_calls", i), _call(call)
    match body.get("function_call"):
        case {"name": str(name), "arguments": str(raw)}:
            yield ("function_call",), Call(OLD, name, raw)


def _call(call: Any) -> Call | Opaque:
    match call:
        case {"id": str(id), "function": {"name": str(name), "arguments": str(raw)}}:
            return Call(id, name, raw)
        case {"id": str(id), "type": "custom", "custom": {"name": str(name), "input": str(raw)}}:
            return Call(id, name, raw)
        case _:
            return Opaque(CHAT, call)


def _result(body: dict[str, Any], where: str) -> Result:
    parts: list[Text | Image | Document | Opaque] = []
    for _, part in _contents(body.get("content"), where):
        if isinstance(part, Text | Image | Document | Opaque):
            parts.append(part)
    call = OLD if body.get("role") == "function" else body.get("tool_call_id")
    name = body.get("name")
    return Result(
        call if isinstance(call, str) else "", tuple(parts), name=name if isinstance(name, str) else None
    )
