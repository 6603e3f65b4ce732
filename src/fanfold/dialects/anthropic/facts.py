"""What tells Anthropic Messages from other dialects."""

from __future__ import annotations

from fanfold.dialects.registry import Body, Facts


def _is_reply(body: Body) -> bool:
    match body:
        case {"type": "message", "content": list()} | {"stop_reason": _, "content": list()}:
            return True
        case {"type": str(kind)}:
            return kind.startswith(("message_", "content_block_"))
    return False


FACTS = Facts(
    field="messages",
    frame=("system", "tools"),
    most_bytes=32 * 10**6,
    is_reply=_is_reply,
    request=("anthropic_version", "anthropic_beta", "system"),
    likely=("stop_sequences", "thinking", "context_management"),
    blocks=(
        "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result",
        "document", "image", "search_result", "compaction",
    ),
    block_fields=("cache_control",),
)  # fmt: skip
