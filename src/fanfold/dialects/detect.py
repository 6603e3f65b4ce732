"""Which dialect a request or a list of messages is written in, told by its content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanfold.core.errors import BadInput, BadMessage
from fanfold.dialects.dialect import plain
from fanfold.dialects.names import ANTHROPIC, CHAT, DIALECTS, GEMINI, RESPONSES, DialectName
from fanfold.dialects.shapes import shape

_REQUEST: dict[str, DialectName] = {
    "contents": GEMINI,
    "systemInstruction": GEMINI,
    "system_instruction": GEMINI,
    "generationConfig": GEMINI,
    "input": RESPONSES,
    "instructions": RESPONSES,
    "previous_response_id": RESPONSES,
    "anthropic_version": ANTHROPIC,
    "anthropic_beta": ANTHROPIC,
    "system": ANTHROPIC,
}
"""Fields of a request that only one dialect has."""
_LIKELY: dict[str, DialectName] = {
    "stop_sequences": ANTHROPIC,
    "thinking": ANTHROPIC,
    "context_management": ANTHROPIC,
    "max_completion_tokens": CHAT,
    "response_format": CHAT,
    "reasoning_effort": CHAT,
}
"""Fields that hosts of another dialect have taken over: they count where nothing else tells."""
_MESSAGE: dict[str, DialectName] = {
    "parts": GEMINI,
    "text": GEMINI,
    "functionCall": GEMINI,
    "functionResponse": GEMINI,
    "function_response": GEMINI,
    "inlineData": GEMINI,
    "inline_data": GEMINI,
    "fileData": GEMINI,
    "file_data": GEMINI,
    "type": RESPONSES,
    "call_id": RESPONSES,
    "tool_calls": CHAT,
    "tool_call_id": CHAT,
    "function_call": CHAT,
    "reasoning_content": CHAT,
    "refusal": CHAT,
    "audio": CHAT,
}
"""Fields of a message or an item that only one dialect has."""
_ROLE: dict[str, DialectName] = {"tool": CHAT, "function": CHAT, "model": GEMINI}
_ITEMS = frozenset({"reasoning", "compaction", "compaction_summary", "item_reference", "additional_tools"})
"""Types of items that only Responses has, beside calls and their outputs."""
BLOCKS: dict[str, DialectName] = {
    "tool_use": ANTHROPIC,
    "tool_result": ANTHROPIC,
    "thinking": ANTHROPIC,
    "redacted_thinking": ANTHROPIC,
    "server_tool_use": ANTHROPIC,
    "web_search_tool_result": ANTHROPIC,
    "document": ANTHROPIC,
    "image": ANTHROPIC,
    "search_result": ANTHROPIC,
    "compaction": ANTHROPIC,
    "image_url": CHAT,
    "input_audio": CHAT,
    "file": CHAT,
    "refusal": CHAT,
    "input_text": RESPONSES,
    "output_text": RESPONSES,
    "input_image": RESPONSES,
    "input_file": RESPONSES,
}
"""Types of content blocks that only one dialect has."""
TOLD = frozenset({*_REQUEST.values(), *_LIKELY.values(), *_MESSAGE.values(), *BLOCKS.values()})
"""The dialects that something gives away."""


def dialect_of(given: Any) -> str:
    """The dialect of a request or of a list of messages; plain words that fit several are `openai.chat`."""
    if isinstance(given, Mapping):
        return _of_request(given)
    if not isinstance(given, list | tuple):
        raise BadInput(
            f"This is {type(given).__name__}, neither a request nor a list of messages. {_known()}"
        )
    return _of_list(given) or CHAT


def reply_dialect(given: Any) -> DialectName | None:
    """The dialect of a provider's reply, or of an event of its stream; None where its form tells nothing."""
    try:
        body = given if isinstance(given, Mapping) else plain(given)
    except BadMessage:
        return None
    match body:
        case {"choices": list()}:
            return CHAT
        case {"candidates": list()} | {"promptFeedback": dict()} | {"prompt_feedback": dict()}:
            return GEMINI
        case {"type": "message", "content": list()} | {"stop_reason": _, "content": list()}:
            return ANTHROPIC
        case {"object": "response"} | {"output": list()}:
            return RESPONSES
        case {"type": str(kind)} if kind.startswith("response."):
            return RESPONSES
        case {"type": str(kind)} if kind.startswith(("message_", "content_block_")):
            return ANTHROPIC
    return None


def _of_request(request: Mapping[str, Any]) -> str:
    certain = _by_key(request, _REQUEST)
    if certain is not None:
        return certain
    messages = request.get("messages")
    if not isinstance(messages, list | tuple):
        raise BadInput(f"No dialect has a request with only {_listed(request)} in it. {_known()}")
    tools = request.get("tools")
    by_tools = _of_tools(tools if isinstance(tools, list | tuple) else ())
    return by_tools or _of_list(messages) or _by_key(request, _LIKELY) or CHAT


def _by_key(body: Mapping[str, Any], telling: Mapping[str, str]) -> str | None:
    return next((telling[key] for key in body if key in telling and body[key] is not None), None)


def _of_tools(tools: Iterable[Any]) -> str | None:
    """What the first telling tool tells of a request with `messages`: only two dialects have those."""
    shapes = (shape(tool) for tool in tools if isinstance(tool, Mapping))
    return next((found for found in shapes if found in (ANTHROPIC, CHAT)), None)


def _of_list(messages: Iterable[Any]) -> str | None:
    """What the first telling message tells; most tell nothing, and all are looked at."""
    for at, message in enumerate(messages):
        if isinstance(message, str):
            return GEMINI
        body = message if isinstance(message, Mapping) else plain(message, f"messages[{at}]")
        if not isinstance(body, Mapping):
            raise BadInput(f"messages[{at}] is {type(message).__name__}, a message in no dialect. {_known()}")
        found = _of_message(body)
        if found is not None:
            return found
        if "role" not in body:
            raise BadInput(f"messages[{at}] has only {_listed(body)} in it, in no dialect. {_known()}")
    return None


def _of_message(body: Mapping[str, Any]) -> str | None:
    return sign(body) or _by_key(body, _MESSAGE)


def sign(body: Mapping[str, Any]) -> DialectName | None:
    """The dialect that a message gives away by its form, whatever else somebody recorded in it."""
    content, role = body.get("content"), body.get("role")
    if "parts" in body and "content" not in body:
        return GEMINI
    if is_item(body):
        return RESPONSES
    if isinstance(role, str) and role in _ROLE:
        return _ROLE[role]
    if body.get("tool_calls") or body.get("function_call"):
        return CHAT
    return _of_blocks(content) if isinstance(content, list | tuple) else None


def is_item(body: Mapping[str, Any]) -> bool:
    """Whether this is an item of the Responses API that is no message."""
    kind = body.get("type")
    named = isinstance(kind, str) and (kind in _ITEMS or kind.endswith(("_call", "_call_output")))
    return named and "role" not in body


def _of_blocks(blocks: Iterable[Any]) -> DialectName | None:
    for block in blocks:
        kind = block.get("type") if isinstance(block, Mapping) else getattr(block, "type", None)
        if isinstance(kind, str) and kind in BLOCKS:
            return BLOCKS[kind]
        if isinstance(block, Mapping) and "cache_control" in block:
            return ANTHROPIC
    return None


def _listed(body: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, list(body)[:5])) or "nothing"


def _known() -> str:
    return f"Known dialects are {', '.join(DIALECTS)}."
