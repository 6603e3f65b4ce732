"""What tells OpenAI Chat Completions from other dialects."""

from __future__ import annotations

from fanfold.dialects.registry import Facts

FACTS = Facts(
    field="messages",
    frame=("tools",),
    most_bytes=50 * 2**20,
    is_reply=lambda body: isinstance(body.get("choices"), list),
    is_message=lambda body: (
        body.get("role") in ("tool", "function") or bool(body.get("tool_calls") or body.get("function_call"))
    ),
    likely=("max_completion_tokens", "response_format", "reasoning_effort"),
    message=("tool_calls", "tool_call_id", "function_call", "reasoning_content", "refusal", "audio"),
    blocks=("image_url", "input_audio", "file", "refusal"),
)
