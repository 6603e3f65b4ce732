"""Which provider's form a list of messages is in."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.codecs.detect import BLOCKS
from fanfold.codecs.dialects import Dialect
from fanfold.transcripts.conversation import Wire
from fanfold.transcripts.values import mappings, string

ITEM_TYPES = frozenset(
    {"reasoning", "compaction", "compaction_summary", "item_reference", "additional_tools"}
)


def dialect_of(messages: Iterable[Wire], model: str | None = None) -> Dialect:
    """The form that these messages show; where they fit several, the model's name decides."""
    has_chat_role = False
    for message in messages:
        if found := sign(message):
            return found
        has_chat_role |= message.get("role") in ("system", "developer")
    if "claude" in (model or "") and not has_chat_role:
        return "anthropic"
    return "openai.chat"


def sign(message: Wire) -> Dialect | None:
    """The form that this message alone gives away."""
    if "parts" in message and "content" not in message:
        return "gemini"
    if is_item(message):
        return "openai.responses"
    if (
        message.get("role") in ("tool", "function")
        or message.get("tool_calls")
        or message.get("function_call")
    ):
        return "openai.chat"
    types = (string(block.get("type")) for block in mappings(message.get("content")))
    return next((BLOCKS[type] for type in types if type in BLOCKS), None)


def is_item(message: Wire) -> bool:
    """Is this an item of the Responses API that is no message?"""
    type = string(message.get("type")) or ""
    return "role" not in message and (type in ITEM_TYPES or type.endswith(("_call", "_call_output")))


def is_message(value: Wire) -> bool:
    """Does this look like one message of any form?"""
    has_body = bool({"content", "parts", "tool_calls"} & set(value))
    return (string(value.get("role")) is not None and has_body) or is_item(value) or _is_content(value)


def _is_content(value: Wire) -> bool:
    return isinstance(value.get("parts"), list) and "role" not in value
