"""What Roo Code counts: o200k tokens times 1.5, over blocks of content (systems.md E8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, sqrt
from typing import Any

from fanfold.systems.javascript import length
from fanfold.text.json_text import to_json
from fanfold.tokens.vocabulary import counter

FUDGE = 1.5
UNKNOWN_IMAGE = 300


def estimate_tokens(content: Sequence[Mapping[str, Any]] | str | None) -> int:
    """The tokens of some content; a plain text is one block of text, and no content costs nothing."""
    return ceil(sum(map(_block, blocks_of(content))) * FUDGE)


def blocks_of(content: Sequence[Mapping[str, Any]] | str | None) -> Sequence[Mapping[str, Any]]:
    """Content as blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or ()


def _block(block: Mapping[str, Any]) -> float:
    match block.get("type"):
        case "text":
            return counter("o200k")(block.get("text") or "")
        case "image":
            return _image(block.get("source"))
        case "tool_use":
            return counter("o200k")(_call(block))
        case "tool_result":
            return counter("o200k")("\n".join(_result(block)))
        case _:
            return 0


def _image(source: object) -> int:
    data = source.get("data") if isinstance(source, Mapping) else None
    return ceil(sqrt(length(data))) if isinstance(data, str) else UNKNOWN_IMAGE


def _call(block: Mapping[str, Any]) -> str:
    named = f"Tool: {block.get('name')}"
    if "input" not in block:
        return named
    try:
        return f"{named}\nArguments: {to_json(block['input'])}"
    except (TypeError, ValueError, RecursionError):
        return f"{named}\nArguments: [serialization error]"


def _result(block: Mapping[str, Any]) -> Iterator[str]:
    yield f"Tool Result ({block.get('tool_use_id')})"
    if block.get("is_error"):
        yield "[Error]"
    content = block.get("content")
    if isinstance(content, str):
        yield content
        return
    for item in content or ():
        match item.get("type"):
            case "text":
                yield item.get("text") or ""
            case "image":
                yield "[Image content]"
            case other:
                yield f"[Unsupported content block: {other}]"
