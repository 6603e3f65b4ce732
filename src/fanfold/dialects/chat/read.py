"""From wire bodies to parts, each with the place where it stands."""

from __future__ import annotations

from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Document, Image, Opaque, Part, Result, Role, Text, Thinking
from fanfold.dialects.openai import read_file, read_image
from fanfold.dialects.registry import CHAT
from fanfold.dialects.rules import Body

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
FOREIGN = "fanfold.foreign"
"""The type of a block for what a framework sends itself, in a form of its own: a picture in a result, a film. No rule
of this dialect binds it; it is counted like the picture, file or sound that it is."""
_SAYING = frozenset({"role", "content"})
"""The fields of most messages, which only say something."""
Place = tuple[str | int, ...]


def locate_parts(body: Body, role: Role, where: str = "message") -> list[tuple[Place, Part]]:
    """Every part of a wire message with the place where it stands."""
    content = _contents(body.get("content"), where)
    if role == "tool":
        call, name = OLD if body.get("role") == "function" else body.get("tool_call_id"), body.get("name")
        id, named = call if isinstance(call, str) else "", name if isinstance(name, str) else None
        return [(("content",), Result(id, tuple([part for _, part in content]), name=named))]
    found: list[tuple[Place, Part]] = []
    if _SAYING.issuperset(body):
        return [*content]
    for key in THOUGHTS:
        if isinstance(body.get(key), str) and body[key]:
            found.append(((key,), Thinking(body[key])))
            break
    found += content
    calls = body.get("tool_calls")
    if calls is not None and not isinstance(calls, list | tuple):
        raise BadMessage(f"{where}.tool_calls is {type(calls).__name__}; it must be a list.")
    found += [(("tool_calls", i), _call(call)) for i, call in enumerate(calls or ())]
    match body.get("function_call"):
        case {"name": str(name), "arguments": str(raw)}:
            found.append((("function_call",), Call(OLD, name, raw)))
    if isinstance(body.get("refusal"), str) and body["refusal"]:
        found.append((("refusal",), Text(body["refusal"])))
    return found


def _contents(content: Any, where: str) -> list[tuple[Place, Text | Image | Document | Opaque]]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [(("content",), Text(content))]
    if not isinstance(content, list | tuple):
        kind = type(content).__name__
        raise BadMessage(f"{where}.content is {kind}; it must be a text, a list of parts or null.")
    return [(("content", i), read_block(block, f"{where}.content[{i}]")) for i, block in enumerate(content)]


def read_block(block: Any, where: str = "part") -> Text | Image | Document | Opaque:
    """One block as a part; an unknown one is kept verbatim."""
    if not isinstance(block, dict):
        raise BadMessage(f"{where} is {type(block).__name__}; a part is a dict with a `type`.")
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url" | "fanfold.foreign", "image_url": {"url": str(url)}}:
            return read_image(url)
        case {"type": "file" | "fanfold.foreign", "file": dict(file)}:
            return read_file(file) or Opaque(CHAT, block)
        case {"type": "tool_use" | "tool_result" as kind}:
            raise BadMessage(f"{where} is a {kind} block of Anthropic Messages: name its dialect.")
        case _:
            return Opaque(CHAT, block)


def _call(call: Any) -> Call | Opaque:
    match call:
        case {"id": str(id), "function": {"name": str(name), "arguments": str(raw)}}:
            return Call(id, name, raw)
        case {"id": str(id), "type": "custom", "custom": {"name": str(name), "input": str(raw)}}:
            return Call(id, name, raw)
        case _:
            return Opaque(CHAT, call)
