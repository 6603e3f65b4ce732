"""Which provider's form recorded messages are in."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.dialects.detect import sign
from fanfold.dialects.registry import DialectName
from fanfold.dialects.responses.facts import is_item
from fanfold.transcripts.conversation import Wire
from fanfold.transcripts.values import string


def dialect_of(messages: Iterable[Wire], model: str | None = None) -> DialectName:
    """The form that these messages show; where they fit several, the model's name decides."""
    has_chat_role = False
    for message in messages:
        if found := sign(message):
            return found
        has_chat_role |= message.get("role") in ("system", "developer")
    if "claude" in (model or "") and not has_chat_role:
        return "anthropic"
    return "openai.chat"


def is_message(value: Wire) -> bool:
    """Does this look like one message of any form?"""
    has_body = bool({"content", "parts", "tool_calls"} & set(value))
    return (string(value.get("role")) is not None and has_body) or is_item(value) or _is_content(value)


def _is_content(value: Wire) -> bool:
    return isinstance(value.get("parts"), list) and "role" not in value
