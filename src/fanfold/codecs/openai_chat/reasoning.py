"""Reasoning that its maker wants back: while they think, DeepSeek and Kimi refuse a message of theirs without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanfold.codecs.openai_chat.reading import THOUGHTS

PLACEHOLDER = " "
"""What goes in the place of reasoning that there is none of; an empty text is refused."""


def reasoned(messages: Iterable[dict[str, Any]], params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages, each of the assistant's with reasoning; as they are where thinking is switched off."""
    if _is_off(params):
        return list(messages)
    return [_reasoned(body) if body.get("role") == "assistant" else body for body in messages]


def _reasoned(body: dict[str, Any]) -> dict[str, Any]:
    return body if any(body.get(key) for key in THOUGHTS) else {**body, "reasoning_content": PLACEHOLDER}


def _is_off(params: Mapping[str, Any]) -> bool:
    """Whether thinking is switched off; the SDK takes what it does not know in `extra_body`."""
    extra = params.get("extra_body")
    places = (params, extra if isinstance(extra, Mapping) else {})
    return any(place.get("thinking") == {"type": "disabled"} for place in places)
