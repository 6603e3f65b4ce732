"""What tells Gemini's generateContent from other dialects."""

from __future__ import annotations

from fanfold.dialects.registry import Body, Facts


def _is_reply(body: Body) -> bool:
    match body:
        case {"candidates": list()} | {"promptFeedback": dict()} | {"prompt_feedback": dict()}:
            return True
    return False


FACTS = Facts(
    field="contents",
    frame=("systemInstruction", "system_instruction", "tools"),
    most_bytes=20 * 10**6,
    is_reply=_is_reply,
    is_message=lambda body: ("parts" in body and "content" not in body) or body.get("role") == "model",
    request=("contents", "systemInstruction", "system_instruction", "generationConfig"),
    message=(
        "parts", "text", "functionCall", "functionResponse", "function_response", "inlineData", "inline_data",
        "fileData", "file_data",
    ),
    parts=(
        "text", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data",
        "fileData", "file_data", "executableCode", "executable_code", "codeExecutionResult", "code_execution_result",
        "toolCall", "tool_call", "toolResponse", "tool_response", "thought", "thoughtSignature", "thought_signature",
        "videoMetadata", "video_metadata", "mediaResolution", "media_resolution", "partMetadata", "part_metadata",
    ),
)  # fmt: skip
