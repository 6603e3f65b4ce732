"""The Chat dialect, read and written for those who have forms of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

Wire = dict[str, Any]


class Asked(NamedTuple):
    """A call of a tool."""

    id: str
    name: str
    args: dict[str, Any]


def calls(body: Wire) -> Iterator[Asked]:
    """The calls in a message; arguments that are no JSON object are put into one."""
    for call in body.get("tool_calls") or ():
        yield Asked(call["id"], call["function"]["name"], _parsed(call["function"]["arguments"]))


def _parsed(raw: str) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        value = raw
    return value if isinstance(value, dict) else {"raw": value}


def spoken(role: str, text: str, made: list[Asked] | None = None) -> Wire:
    """A message of words, and calls."""
    body: Wire = {"role": role, "content": text}
    return {**body, "tool_calls": [_written(call) for call in made]} if made else body


def _written(call: Asked) -> Wire:
    raw = json.dumps(call.args, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": raw}}


def answered(call: str, text: str) -> Wire:
    """A message with a call's result."""
    return {"role": "tool", "tool_call_id": call, "content": text}
