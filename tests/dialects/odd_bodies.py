"""Odd messages of every dialect: broken pairs, hollow blocks, ids and names that nobody takes; but no unknown kinds."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Body = dict[str, Any]
TEXTS = ("Hi.", "Hi.", "", " ", "\n", "long " * 30, "half \ud83d pair", "\x00", "ends with space ")
IDS = ("c1", "c2", "c3", "with space", "x" * 80, "", "é")
NAMES = ("run", "run", "run", "bad name!", "", "n" * 250)
ARGUMENTS = ("{}", '{"a":1}', '{"a":', "[1]", "NaN", "", '{"a":12345678901234567890123}', '{"s":"\\ud800"}')
INPUTS = ({}, {"a": 1}, {"a": 12345678901234567890123}, None, [1], "s")


def talk(dialect: str, random: Random) -> list[Body]:
    """Some messages of a dialect that hardly make a conversation."""
    return [_SPEAKERS[dialect](random) for _ in range(random.choice((1, 2, 2, 3, 3, 5)))]


def _chat(random: Random) -> Body:
    role = random.choice(("user", "assistant", "assistant", "tool", "tool"))
    body: Body = {"role": role, "content": random.choice((_text(random), None, [], _chat_parts(random)))}
    if role == "assistant" and random.random() < 0.7:
        body["tool_calls"] = [_chat_call(random) for _ in range(random.randint(0, 3))]
    if role == "tool":
        body["tool_call_id"] = random.choice((*IDS, None, 7))
    extra = ({"refusal": "No."}, {"reasoning_content": "hm"}, {"name": "ann"}, {"audio": {"id": "a"}})
    return {**body, **random.choice(extra)} if random.random() < 0.1 else body


def _chat_parts(random: Random) -> list[Body]:
    parts: tuple[Body, ...] = (
        {"type": "text", "text": _text(random)},
        {"type": "text"},
        {"type": "text", "text": None},
        {"text": "no type"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "image_url"},
        {"type": "refusal", "refusal": "No."},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"}},
        {"type": "input_audio"},
    )
    return [random.choice(parts) for _ in range(random.randint(1, 3))]


def _chat_call(random: Random) -> Body:
    function = {"name": random.choice(NAMES), "arguments": random.choice(ARGUMENTS)}
    call = {"id": random.choice(IDS), "type": "function", "function": function}
    odd: tuple[Body, ...] = (
        {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}},
        {"id": None, "function": {"name": "run"}},
        {"id": "c2", "type": "function"},
        {"id": "c3", "type": "function", "function": {"name": "run", "arguments": {"a": 1}}},
    )
    return random.choice(odd) if random.random() < 0.2 else call


def _anthropic(random: Random) -> Body:
    count = random.choice((0, 1, 1, 1, 2, 2, 3))
    content: Any = [_block(random) for _ in range(count)]
    if random.random() < 0.15:
        content = random.choice((_text(random), None, 5))
    return {"role": random.choice(("user", "assistant")), "content": content}


def _block(random: Random) -> Any:
    odd: tuple[Any, ...] = (
        {"type": "thinking", "thinking": "hm"},
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "image"},
        {"type": "document"},
        {"type": "server_tool_use", "id": random.choice(IDS), "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": random.choice(IDS), "content": []},
        {"type": "mcp_tool_use", "id": random.choice(IDS), "name": "x", "server_name": "s", "input": {}},
        {"type": "compaction", "content": "summary"},
        {"type": "text"},
        {"type": "tool_use"},
        {"type": "tool_result", "tool_use_id": 7},
        None,
        "str",
    )
    usual: tuple[Any, ...] = (
        {"type": "text", "text": _text(random)},
        {"type": "tool_use", "id": random.choice(IDS), "name": "run", "input": random.choice(INPUTS)},
        {"type": "tool_use", "id": random.choice(IDS), "name": random.choice(NAMES), "input": {}},
        {"type": "tool_result", "tool_use_id": random.choice(IDS), "content": _text(random)},
        {"type": "tool_result", "tool_use_id": random.choice(IDS), "content": [{"type": "text", "text": ""}]},
        {"type": "thinking", "thinking": _text(random), "signature": "sig"},
    )
    return random.choice(odd if random.random() < 0.3 else usual)


def _responses(random: Random) -> Body:
    role = random.choice(("user", "assistant", "system", "developer"))
    kind = "output_text" if role == "assistant" else "input_text"
    blocks = [{"type": kind, "text": _text(random)}, random.choice((None, {"type": "text", "text": "t"}))]
    id = random.choice(("rs_1", "rs_2", "bad", "", None, "rs_é"))
    usual: tuple[Body, ...] = (
        {"role": role, "content": random.choice((_text(random), None, blocks, blocks[:1]))},
        {"type": "reasoning", "id": id, "summary": [], "encrypted_content": random.choice(("sealed", None))},
        {"type": "function_call", "call_id": random.choice(IDS), "name": "run", "arguments": "{}"},
        {"type": "function_call", "call_id": "c1", "name": random.choice(NAMES), "arguments": "[1]"},
        {"type": "function_call_output", "call_id": random.choice(IDS), "output": _text(random)},
    )
    odd: tuple[Body, ...] = (
        {"type": "custom_tool_call", "call_id": random.choice(IDS), "name": "sh", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": random.choice(IDS), "output": _text(random)},
        {"type": "tool_search_call", "call_id": random.choice((*IDS, None)), "arguments": {}},
        {"type": "tool_search_output", "call_id": random.choice((*IDS, None)), "tools": []},
        {"type": "apply_patch_call", "call_id": random.choice(IDS), "operation": {}},
        {"type": "function_call", "call_id": None},
        {"type": "function_call_output", "call_id": {"odd": 1}, "output": None},
        {"type": "reasoning"},
        {"type": None, "role": "user", "content": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "compaction", "encrypted_content": "sealed"},
    )
    return random.choice(odd if random.random() < 0.3 else usual)


def _gemini(random: Random) -> Body:
    parts = [_part(random) for _ in range(random.choice((0, 1, 1, 1, 2, 3)))]
    return {"role": random.choice(("user", "model", "user", "model", "tool", None)), "parts": parts}


def _part(random: Random) -> Any:
    odd: tuple[Any, ...] = (
        {"functionCall": {"name": random.choice(NAMES), "args": random.choice(INPUTS)}},
        {"functionResponse": {"name": "run", "response": random.choice(INPUTS)}},
        {"inlineData": {}},
        {"inlineData": {"mimeType": "image/png", "data": "AA=="}, "text": "both"},
        {"thought": True},
        {"text": "", "thoughtSignature": "c2ln"},
        {"functionCall": {}},
        {"functionResponse": {}},
        {"text": None},
        {},
        None,
    )
    usual: tuple[Any, ...] = (
        {"text": _text(random)},
        {"functionCall": {"name": "run", "args": {"a": 1}}},
        {"functionCall": {"name": "run", "args": {}}, "thoughtSignature": "c2ln"},
        {"functionResponse": {"name": "run", "response": {"output": _text(random)}}},
    )
    return random.choice(odd if random.random() < 0.3 else usual)


def _text(random: Random) -> str:
    return random.choice(TEXTS)


_SPEAKERS: dict[str, Callable[[Random], Body]] = {
    "openai.chat": _chat,
    "openai.responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
