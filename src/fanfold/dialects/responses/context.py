"""The volatile tail: inside a tool loop it joins the last output, for a user's message would end the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanfold.dialects.responses.rules import OUTPUTS

Item = dict[str, Any]


def with_context(items: Sequence[Item], context: str) -> list[Item]:
    """The items with a context that stands in this request only."""
    for at in range(len(items) - 1, -1, -1):
        if items[at].get("type") not in OUTPUTS:
            break
        joined = _joined(items[at], context)
        if joined is not None:
            return [*items[:at], joined, *items[at + 1 :]]
    return [*items, {"role": "user", "content": context}]


def _joined(item: Item, context: str) -> Item | None:
    """The output with the context at its end, or None where it holds no words."""
    match item:
        case {"output": str(text)}:
            return {**item, "output": f"{text}\n\n{context}"}
        case {"type": "function_call_output" | "custom_tool_call_output", "output": list(blocks)}:
            return {**item, "output": [*blocks, {"type": "input_text", "text": context}]}
        case {"type": "shell_call_output", "output": [*before, {"stdout": str(text)} as last]}:
            return {**item, "output": [*before, {**last, "stdout": f"{text}\n\n{context}"}]}
        case {"type": "apply_patch_call_output"}:
            return {**item, "output": context}
        case _:
            return None
