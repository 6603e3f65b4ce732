"""Streams as providers send them, with events and fields that nobody knows yet, and what each of them says.

They were written by hand after the providers' documentation. `CORPUS` has them by name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fanfold.core.record import TokenUsage
from fanfold.dialects.registry import DialectName

NEW = {"x_new": {"deep": [1, {"a": None}]}}
"""A field that nobody knows."""


@dataclass(frozen=True)
class Recorded:
    """A stream, and what a client reads from it."""

    dialect: DialectName
    data: bytes
    text: str
    calls: tuple[tuple[str, str, dict[str, Any]], ...]
    usage: TokenUsage
    stop: str
    kind: str = "text/event-stream; charset=utf-8"


def sse(*events: dict[str, Any], named: bool = True, end: str = "\n") -> bytes:
    """Events as server-sent events, with the name that their type is."""
    lines = []
    for event in events:
        lines += [f"event: {event['type']}"] if named else []
        lines += [f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    return (end.join(lines) + end).encode()


def _block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block, **NEW},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


_ANTHROPIC_USAGE = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 2_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
    "service_tier": "standard",
    "inference_geo": "eu",
}
ANTHROPIC = Recorded(
    "anthropic",
    sse(
        {
            "type": "message_start",
            "message": {
                "id": "msg_01A",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-5",
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "container": None,
                "usage": {**_ANTHROPIC_USAGE, "output_tokens": 3},
            },
        },
        *_block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me see — ", **NEW},
            {"type": "thinking_delta", "thinking": "ünïcode 🙂."},
            {"type": "signature_delta", "signature": "EqoBCkgIARAB"},
        ),
        {"type": "ping"},
        *_block(1, {"type": "redacted_thinking", "data": "RW5jcnlwdGVk"}),
        *_block(
            2,
            {"type": "text", "text": "", "citations": []},
            {"type": "text_delta", "text": "I read\n"},
            {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "x"}},
            {"type": "x_new_delta", "x_new": "?"},
            {"type": "text_delta", "text": "both: \"a\" & 'b'."},
        ),
        {"type": "x_new_event", **NEW},
        *_block(
            3,
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"query":"fanfold"}'},
        ),
        *_block(4, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        *_block(
            5,
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"path": "a'},
            {"type": "input_json_delta", "partial_json": '.py"}'},
        ),
        *_block(6, {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None, **NEW},
            "usage": {**_ANTHROPIC_USAGE, "output_tokens": 77, "server_tool_use": {"web_search_requests": 1}},
            "context_management": {"applied_edits": []},
        },
        {"type": "message_stop", **NEW},
    ),
    text="I read\nboth: \"a\" & 'b'.",
    calls=(("toolu_1", "read", {"path": "a.py"}), ("toolu_2", "now", {})),
    usage=TokenUsage(input=12, cache_write=100, cache_read=2_000, output=77),
    stop="tool_use",
)


def _chunk(delta: dict[str, Any] | None, stop: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}]
    head = {"id": "gen-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": "x/y"}
    return {**head, "provider": "Somebody", "choices": choices, "obfuscation": "aB3", **more}


def _piece(index: int, text: str, **more: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": text}, **more}]}


CHAT = Recorded(
    "openai.chat",
    b": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n"
    + sse(
        _chunk({"role": "assistant", "content": "", "refusal": None, **NEW}),
        _chunk(
            {"reasoning": "Let me see.", "reasoning_details": [{"type": "reasoning.text", "text": "Let"}]}
        ),
        _chunk({"content": "I read\n"}),
        _chunk({"content": "both 🙂."}),
        _chunk(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": ""},
                        **NEW,
                    }
                ]
            }
        ),
        _chunk(_piece(0, '{"path": "a')),
        _chunk(
            {
                "tool_calls": [
                    {
                        "index": 1,
                        "id": "call_2",
                        "type": "function",
                        "function": {"name": "now", "arguments": ""},
                    }
                ]
            }
        ),
        _chunk(_piece(0, '.py"}')),
        _chunk(_piece(1, "{}")),
        _chunk({}, "tool_calls", native_finish_reason="tool_use"),
        _chunk(
            None,
            usage={
                "prompt_tokens": 2_112,
                "completion_tokens": 77,
                "total_tokens": 2_189,
                "cost": 0.0123,
                "prompt_tokens_details": {"cached_tokens": 2_000, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        ),
        named=False,
    )
    + b"data: [DONE]\n\n",
    text="I read\nboth 🙂.",
    calls=(("call_1", "read", {"path": "a.py"}), ("call_2", "now", {})),
    usage=TokenUsage(input=112, cache_read=2_000, output=77, reasoning=5),
    stop="tool_calls",
)


_REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Let me see."}],
    "encrypted_content": "gAAAAAB",
}
_SEARCH = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "fanfold"},
}
_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "phase": "commentary",
    "content": [{"type": "output_text", "text": "I read both 🙂.", "annotations": [], "logprobs": [], **NEW}],
}
_CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"path":"a.py"}',
    **NEW,
}
_RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_790_000_000,
    "status": "in_progress",
    "background": False,
    "error": None,
    "incomplete_details": None,
    "model": "gpt-5.2",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": None,
    **NEW,
}


def _responses() -> list[dict[str, Any]]:
    text = {"item_id": "msg_1", "output_index": 2, "content_index": 0}
    summary = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    arguments = {"item_id": "fc_1", "output_index": 3}
    usage = {
        "input_tokens": 2_112,
        "input_tokens_details": {"cached_tokens": 2_000},
        "output_tokens": 77,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 2_189,
    }
    output = [_REASONING, _SEARCH, _MESSAGE, _CALL]
    events = [
        {"type": "response.created", "response": _RESPONSE},
        {"type": "response.in_progress", "response": _RESPONSE},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_REASONING, "summary": []}},
        {
            "type": "response.reasoning_summary_part.added",
            **summary,
            "part": {"type": "summary_text", "text": ""},
        },
        {
            "type": "response.reasoning_summary_text.delta",
            **summary,
            "delta": "Let me see.",
            "obfuscation": "x",
        },
        {"type": "response.reasoning_summary_text.done", **summary, "text": "Let me see."},
        {"type": "response.reasoning_summary_part.done", **summary, "part": _REASONING["summary"][0]},  # type: ignore[index]
        {"type": "response.output_item.done", "output_index": 0, "item": _REASONING},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {**_SEARCH, "status": "in_progress"},
        },
        {"type": "response.web_search_call.searching", "output_index": 1, "item_id": "ws_1"},
        {"type": "response.output_item.done", "output_index": 1, "item": _SEARCH},
        {"type": "response.output_item.added", "output_index": 2, "item": {**_MESSAGE, "content": []}},
        {"type": "response.content_part.added", **text, "part": {"type": "output_text", "text": ""}},
        {"type": "response.output_text.delta", **text, "delta": "I read ", "logprobs": []},
        {"type": "response.x_new.delta", **text, "delta": "?", **NEW},
        {"type": "response.output_text.delta", **text, "delta": "both 🙂.", "logprobs": []},
        {"type": "response.output_text.done", **text, "text": "I read both 🙂.", "logprobs": []},
        {"type": "response.content_part.done", **text, "part": _MESSAGE["content"][0]},  # type: ignore[index]
        {"type": "response.output_item.done", "output_index": 2, "item": _MESSAGE},
        {"type": "response.output_item.added", "output_index": 3, "item": {**_CALL, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", **arguments, "delta": '{"path":"a'},
        {"type": "response.function_call_arguments.delta", **arguments, "delta": '.py"}'},
        {"type": "response.function_call_arguments.done", **arguments, "arguments": _CALL["arguments"]},
        {"type": "response.output_item.done", "output_index": 3, "item": _CALL},
        {"type": "x_new_event", **NEW},
        {
            "type": "response.completed",
            "response": {**_RESPONSE, "status": "completed", "output": output, "usage": usage},
        },
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


RESPONSES = Recorded(
    "openai.responses",
    sse(*_responses()),
    text="I read both 🙂.",
    calls=(("call_1", "read", {"path": "a.py"}),),
    usage=TokenUsage(input=112, cache_read=2_000, output=77, reasoning=5),
    stop="completed",
)


def _candidate(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {
        "promptTokenCount": 2_112,
        "cachedContentTokenCount": 2_000,
        "candidatesTokenCount": 72,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 2_189,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2_112}],
        "trafficType": "ON_DEMAND",
    }
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **more}
    head = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro"}
    return {**head, "responseId": "r-1", **NEW}


_GEMINI = [
    _candidate({"text": "Let me see.", "thought": True}),
    _candidate({"text": "I read "}, groundingMetadata={"webSearchQueries": ["fanfold"]}),
    _candidate({"text": "both 🙂."}, {"executableCode": {"language": "PYTHON", "code": "print('}]')"}}),
    _candidate({"xNewPart": {"a": "]}"}}),
    _candidate(
        {
            "functionCall": {"name": "read", "args": {"path": "a.py"}, "id": "f1"},
            "thoughtSignature": "Q2tBQg==",
        }
    ),
    _candidate({"text": ""}, finishReason="STOP", avgLogprobs=-0.1, safetyRatings=[]),
]
GEMINI = Recorded(
    "gemini",
    sse(*_GEMINI, named=False, end="\r\n"),
    text="I read both 🙂.",
    calls=(("f1", "read", {"path": "a.py"}),),
    usage=TokenUsage(input=112, cache_read=2_000, output=77, reasoning=5),
    stop="STOP",
)
GEMINI_ARRAY = Recorded(
    "gemini",
    b"["
    + b"\n,\r\n".join(json.dumps(one, indent=2, ensure_ascii=False).encode() for one in _GEMINI)
    + b"\n]\n",
    text=GEMINI.text,
    calls=GEMINI.calls,
    usage=GEMINI.usage,
    stop=GEMINI.stop,
    kind="application/json; charset=UTF-8",
)
CORPUS = {
    "anthropic": ANTHROPIC,
    "chat": CHAT,
    "responses": RESPONSES,
    "gemini": GEMINI,
    "gemini array": GEMINI_ARRAY,
}
