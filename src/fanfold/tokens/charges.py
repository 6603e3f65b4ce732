"""What a provider charges beside the words: frames of messages, calls and tools, pictures, pages, sounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fanfold.tokens import media


class Charges(Struct, frozen=True, kw_only=True):
    """Tokens that no text shows. By default OpenAI's Chat, which most others copy."""

    message: int = 4
    call: int = 13
    result: int = 8
    request: int = 3
    """Once for every request: the reply's own frame."""
    tools: int = 12
    """Once, if there are any tools."""
    tool: int = 8
    typed: bool = True
    """Whether tools are shown to the model as types, which are shorter than their JSON."""
    image: media.Rule = media.tiles(85, 170)
    page: int = 1_200
    second: float = 10.0
    """Of sound."""


_CHAT = Charges()
_ANTHROPIC = Charges(
    message=3, call=45, result=36, tools=346, tool=12, typed=False, image=media.area, page=2_500
)
_GEMINI = Charges(
    call=8, result=8, request=1, tools=0, tool=4, typed=False, image=media.crops, page=258, second=32.0
)

_PICTURES: tuple[tuple[str, media.Rule], ...] = (
    ("gpt-4o-mini", media.tiles(2_833, 5_667)),
    ("gpt-4.1-mini", media.patches(1.62)),
    ("gpt-4.1-nano", media.patches(2.46)),
    ("gpt-5-mini", media.patches(1.62)),
    ("gpt-5-nano", media.patches(2.46)),
    ("o4-mini", media.patches(1.72)),
    ("gpt-5", media.tiles(70, 140)),
    ("o1", media.tiles(75, 150)),
    ("o3", media.tiles(75, 150)),
)
"""OpenAI's own table, by the beginning of the name; the first that fits counts. Others: 85 + 170 a tile."""


def charges_for(provider: str, family: str = "", name: str = "") -> Charges:
    """What this provider charges for this model."""
    if family.startswith("claude"):
        return _claude(family)
    if family == "gemma" or provider == "gemini":
        return _gemini(name)
    rule = next((rule for head, rule in _PICTURES if name.startswith(head)), _CHAT.image)
    return Charges(image=rule)


def _claude(family: str) -> Charges:
    if family == "claude":
        return _ANTHROPIC
    return Charges(
        message=4, call=58, result=46, tools=450, tool=16, typed=False, image=media.small_patches, page=3_000
    )


def _gemini(name: str) -> Charges:
    if name.startswith(("gemini-1", "gemini-2", "gemma")):
        return _GEMINI
    return Charges(
        call=8, result=8, request=1, tools=0, tool=4, typed=False, image=media.flat(1_120), page=560, second=32.0
    )  # fmt: skip


def declarations(tools: tuple[Any, ...]) -> Iterator[Mapping[str, Any]]:
    """Each function that a frame's tools declare, whatever the dialect wraps around it."""
    for tool in tools:
        if not isinstance(tool, Mapping):
            continue
        several = tool.get("functionDeclarations") or tool.get("function_declarations")
        if isinstance(several, list | tuple):
            yield from declarations(tuple(several))
            continue
        inner = tool.get("function")
        yield inner if isinstance(inner, Mapping) else tool


def type_text(function: Mapping[str, Any]) -> str:
    """A function as the type that OpenAI's models are shown."""
    schema: Mapping[str, Any] = next(
        (function[key] for key in ("parameters", "input_schema") if isinstance(function.get(key), Mapping)),
        {},
    )
    head = _remark(function.get("description"))
    return f"{head}type {function.get('name')} = (_: {_type(schema, 0)}) => any;\n\n"


def _type(schema: Any, depth: int) -> str:
    if not isinstance(schema, Mapping) or depth > 12:
        return "any"
    if isinstance(schema.get("enum"), list | tuple):
        return " | ".join(f'"{value}"' for value in schema["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list | tuple):
            return " | ".join(_type(one, depth + 1) for one in schema[key])
    if isinstance(schema.get("properties"), Mapping):
        return _object(schema, depth)
    if schema.get("type") == "array":
        return f"{_type(schema.get('items'), depth + 1)}[]"
    return str(schema.get("type", "any"))


def _object(schema: Mapping[str, Any], depth: int) -> str:
    wanted = schema.get("required")
    required = set(map(str, wanted)) if isinstance(wanted, list | tuple) else set()
    lines = [
        f"{_remark(inner.get('description') if isinstance(inner, Mapping) else None)}"
        f"{name}{'' if name in required else '?'}: {_type(inner, depth + 1)},\n"
        for name, inner in schema["properties"].items()
    ]
    return "{\n" + "".join(lines) + "}"


def _remark(text: Any) -> str:
    return f"// {text}\n" if text else ""
