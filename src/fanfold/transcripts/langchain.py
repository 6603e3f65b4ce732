"""LangChain messages as its own functions write them, told in OpenAI's chat form.

`dumps` gives `{lc, id: [… "HumanMessage"], kwargs}`, `messages_to_dict` gives `{type: "human", data}`, a model's dump
`{type: "human", content}`; in a list, in a state's `messages`, or one a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fanfold.transcripts.bills import langchain_bill
from fanfold.transcripts.chat import make_answer, make_call, make_result
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.dialects import is_message
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, some, string

NAME = "langchain"
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
    name = PurePath(recording.name).name
    for row in recording.rows():
        if kind_of(row.value):
            loose.append(row.value)
            continue
        lists = listing(row.value)
        parts = lists if lists and not any(kind_of(one) for one in lists) else [row.value]
        for place, part in enumerate(parts, 1):
            fallback = f"{name}#{row.line}" + (f".{place}" if place > 1 else "")
            yield conversation(recording.name, _messages_in(part), mapping(part), fallback)
    if loose:
        yield conversation(recording.name, loose, {}, name)


def conversation(source: str, messages: list[Any], record: Wire, fallback: str) -> Conversation:
    """Messages as one conversation."""
    draft, models, left = Recorded(), list[str](), 0
    for value in messages:
        wire = wire_of(value)
        if wire is None:
            left += 1
            continue
        models += [model] if (model := model_of(value)) else []
        draft.add(wire, usage=bill_of(value))
    return draft.finish(
        first_string(record, "id", "thread_id", "session_id") or fallback,
        source,
        NAME,
        "openai.chat",
        model=models[-1] if models else None,
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
        name = string(names[-1]) or ""
        return _kind(name) if "Message" in name else None
    if isinstance(record.get("data"), dict) and "content" in record["data"]:
        return _kind(string(record.get("type")) or "")
    return _kind(string(record.get("type")) or "") if "content" in record and "role" not in record else None


def _kind(name: str) -> str | None:
    kind = name.removesuffix("Chunk").removesuffix("Message").lower()
    return kind if kind in ROLES or kind == "chat" else None


def _body(value: Any) -> Wire:
    record = mapping(value)
    return mapping(record.get("kwargs")) or mapping(record.get("data")) or record


def wire_of(value: Any) -> Wire | None:
    """A message in chat form; one in a provider's own form stays as it is."""
    kind, body = kind_of(value), _body(value)
    if kind is None:
        return mapping(value) if is_message(mapping(value)) else None
    if kind == "ai":
        return _answer(body)
    if ROLES.get(kind) == "tool":
        return make_result(first_string(body, "tool_call_id", "name") or "", _content(body.get("content")))
    role = ROLES.get(kind) or string(body.get("role")) or "user"
    return {"role": role, "content": _content(body.get("content"))}


def _answer(body: Wire) -> Wire:
    more = mapping(body.get("additional_kwargs"))
    kept = [call for call in mappings(more.get("tool_calls")) if "function" in call]
    made = [*mappings(body.get("tool_calls")), *mappings(body.get("invalid_tool_calls"))]
    calls = kept or [
        make_call(string(call.get("id")) or "", string(call.get("name")) or "", call.get("args"))
        for call in made
    ]
    blocks = (block for block in mappings(body.get("content")) if block.get("type") in THOUGHTS)
    thought = "".join(first_string(block, "thinking", "reasoning", "text") or "" for block in blocks)
    return make_answer(
        _content(body.get("content")), calls, thought or string(more.get("reasoning_content")) or ""
    )


def _content(content: Any) -> Any:
    """The content without what stands in other fields of a chat message; texts become blocks."""
    if not isinstance(content, list):
        return content
    left_out = (*THOUGHTS, *CALLING)
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return [_block(block) for block in mappings(blocks) if block.get("type") not in left_out]


def _block(block: Wire) -> Wire:
    if block.get("type") == "text":
        return {"type": "text", "text": string(block.get("text")) or ""}
    if block.get("type") == "image" and (string(block.get("url")) or string(block.get("data"))):
        mime = string(block.get("mime_type")) or "image/png"
        url = string(block.get("url")) or f"data:{mime};base64,{block['data']}"
        return {"type": "image_url", "image_url": {"url": url}}
    return block


def model_of(value: Any) -> str | None:
    """The model that wrote a message."""
    return first_string(mapping(_body(value).get("response_metadata")), "model_name", "model")


def bill_of(value: Any) -> Wire | None:
    """What a message cost, as the provider bills it."""
    return langchain_bill(mapping(_body(value).get("usage_metadata")))


FORMAT = Format(NAME, fits, read)
