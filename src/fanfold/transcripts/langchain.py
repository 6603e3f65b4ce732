"""LangChain messages as its own functions write them, told in OpenAI's chat form.

`dumps` gives `{lc, id: [… "HumanMessage"], kwargs}`, `messages_to_dict` gives `{type: "human", data}`, a model's dump
`{type: "human", content}`; in a list, in a state's `messages`, or one a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fanfold.transcripts.chat import make_answer, make_bill, make_call, make_image, make_result
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.plain import is_message
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, listing, mapping, mappings, number, some, string, text

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
TELLING = ("human", "ai")
"""Kinds that no other recorder has."""
DEEPEST = 4
"""So many wrappings of a list are taken off."""
HOLDING = ("messages", "values", "channel_values", "state")
THOUGHTS = ("thinking", "reasoning")
CALLING = ("tool_use", "function_call", "tool_call", "input_json_delta", "tool_call_chunk")
"""Content blocks that `tool_calls` says again."""


def fits(value: Any) -> bool:
    return any(kind_of(message) in TELLING for message in _messages_in(value)[:8])


def read(recording: Recording) -> Iterator[Conversation]:
    """A conversation for each list; lines that are single messages make one together."""
    loose: list[Any] = []
    for row in recording.rows():
        if kind_of(row.value):
            loose.append(row.value)
            continue
        lists = listing(row.value)
        parts = lists if lists and not any(kind_of(one) for one in lists) else [row.value]
        for place, part in enumerate(parts, 1):
            fallback = recording.name_part(row.line, place)
            yield _conversation(recording.name, _messages_in(part), mapping(part), fallback)
    if loose:
        yield _conversation(recording.name, loose, {}, PurePath(recording.name).name)


def _conversation(source: str, messages: list[Any], record: Wire, fallback: str) -> Conversation:
    teller, left = Teller(), 0
    for value in messages:
        wire = wire_of(value)
        if wire is None:
            left += 1
            continue
        teller.model = model_of(value) or teller.model
        teller.add(wire, usage=bill_of(value))
    return teller.finish(
        text(record, "id", "thread_id", "session_id") or fallback,
        source,
        "openai.chat",
        meta=some(record, "metadata", "config", "created_at") | ({"left_out": left} if left else {}),
    )


def _messages_in(value: Any, depth: int = DEEPEST) -> list[Any]:
    """The messages in a value: itself, those in its list, or those in the state that it holds."""
    if kind_of(value):
        return [value]
    if isinstance(value, list):  # callbacks put one list into another
        return listing(value[0]) if len(value) == 1 and isinstance(value[0], list) else value
    found = (mapping(value)[key] for key in HOLDING if depth and key in mapping(value))
    return next((messages for one in found if (messages := _messages_in(one, depth - 1))), [])


def kind_of(value: Any) -> str | None:
    """`human`, `ai` and so on, if this is a message of LangChain's."""
    record = mapping(value)
    names = listing(record.get("id")) if "lc" in record else []
    if names and isinstance(record.get("kwargs"), dict):
        name = string(names[-1])
        if "Message" not in name:
            return None
    elif "content" in inner(record, "data") or ("content" in record and "role" not in record):
        name = text(record, "type")
    else:
        return None
    kind = name.removesuffix("Chunk").removesuffix("Message").lower()
    return kind if kind in ROLES or kind == "chat" else None


def _body(value: Any) -> Wire:
    return inner(value, "kwargs") or inner(value, "data") or mapping(value)


def wire_of(value: Any) -> Wire | None:
    """A message in chat form; one in a provider's own form stays as it is."""
    kind, body = kind_of(value), _body(value)
    if kind is None:
        return mapping(value) if is_message(mapping(value)) else None
    if kind == "ai":
        return _answer(body)
    content = _content(body.get("content"))
    if ROLES.get(kind) == "tool":
        return make_result(text(body, "tool_call_id", "name"), content)
    return {"role": ROLES.get(kind) or text(body, "role") or "user", "content": content}


def _answer(body: Wire) -> Wire:
    more = mapping(body.get("additional_kwargs"))
    kept = [call for call in mappings(more.get("tool_calls")) if "function" in call]
    made = [*mappings(body.get("tool_calls")), *mappings(body.get("invalid_tool_calls"))]
    calls = kept or [make_call(text(call, "id"), text(call, "name"), call.get("args")) for call in made]
    blocks = (block for block in mappings(body.get("content")) if block.get("type") in THOUGHTS)
    thought = "".join(text(block, "thinking", "reasoning", "text") for block in blocks)
    return make_answer(_content(body.get("content")), calls, thought or text(more, "reasoning_content"))


def _content(content: Any) -> Any:
    """The content without what stands in other fields of a chat message; texts become blocks."""
    if not isinstance(content, list):
        return content
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return [_block(block) for block in mappings(blocks) if block.get("type") not in (*THOUGHTS, *CALLING)]


def _block(block: Wire) -> Wire:
    if block.get("type") == "text":
        return {"type": "text", "text": text(block, "text")}
    if block.get("type") == "image" and text(block, "url", "data"):
        data = f"data:{text(block, 'mime_type') or 'image/png'};base64,{block.get('data')}"
        return make_image(text(block, "url") or data)
    return block


def model_of(value: Any) -> str:
    """The model that wrote a message."""
    return text(inner(_body(value), "response_metadata"), "model_name", "model")


def bill_of(value: Any) -> Wire | None:
    """What a message cost: LangChain's `usage_metadata`, whose `input_tokens` counts the cached ones too."""
    usage = inner(_body(value), "usage_metadata")
    if not usage:
        return None
    prompt, output = number(usage.get("input_tokens")), number(usage.get("output_tokens"))
    read = number(inner(usage, "input_token_details").get("cache_read"))
    return make_bill(prompt, read, output, number(inner(usage, "output_token_details").get("reasoning")))
