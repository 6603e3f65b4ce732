"""Messages in a provider's own form: lists, request bodies, lines of messages, a conversation per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from fanfold.dialects.detect import sign
from fanfold.dialects.registry import DIALECTS, DialectName, facts, frame_fields
from fanfold.dialects.responses.facts import is_item
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, listing, mapping, mappings, number, seconds, text, without

FRAME = frame_fields()
FIELDS = {dialect: facts(dialect).field for dialect in DIALECTS}
LISTS = ("native", *dict.fromkeys(FIELDS.values()), "traj")
TELLING = {name: dialect for dialect, name in FIELDS.items() if name != "messages"}
"""Names of a list of messages that only one dialect has."""
BODIES = ("request", "body", "request_body")
FRAME_TOO = ("tool_choice", "toolConfig", "tool_config", "functions", "function_call")
NAMED = ("id", "conversation_id", "session_id", "uuid")
TIMES = ("_time", "timestamp", "created_at")
SPELLINGS: dict[str, DialectName] = {name: name for name in DIALECTS} | {"openai_chat": "openai.chat"}


def is_message(value: Wire) -> bool:
    """Does this look like one message of any form?"""
    if text(value, "role"):
        return bool({"content", "parts", "tool_calls"} & set(value)) or is_item(value)
    return is_item(value) or (isinstance(value.get("parts"), list) and "role" not in value)


def dialect_of(messages: Iterable[Wire], model: str = "") -> DialectName:
    """The form that these messages show; where they fit several, the model's name decides."""
    has_chat_role = False
    for message in messages:
        if found := sign(message):
            return found
        has_chat_role |= message.get("role") in ("system", "developer")
    return "anthropic" if "claude" in model and not has_chat_role else "openai.chat"


def fits(value: Any) -> bool:
    if isinstance(value, list):
        first = value[0] if value else None
        return fits(first) if isinstance(first, dict) else bool(first) and _are_messages(listing(first))
    record = mapping(value)
    return is_message(record) or any(map(_holds_list, (record, *(inner(record, key) for key in BODIES))))


def _holds_list(record: Wire) -> bool:
    told = [record[key] for key in LISTS if key in record]
    is_prompt = "model" in record and isinstance(record.get("input"), str)
    return is_prompt or any(isinstance(value, list) and _are_messages(value) for value in told)


def _are_messages(values: list[Any]) -> bool:
    return all(isinstance(value, dict) and is_message(value) for value in values[:8])


def read(recording: Recording) -> Iterator[Conversation]:
    """Conversations line by line; lines that are single messages make one conversation together."""
    loose: list[Wire] = []
    for row in recording.rows():
        value = row.value
        if isinstance(value, dict) and is_message(value):
            loose.append(value)
            continue
        is_list = isinstance(value, list) and value and not _are_messages(value)
        for place, item in enumerate(value if is_list else [value], 1):
            body = _body(recording, row.line, item)
            yield _conversation(recording.name, body, recording.name_part(row.line, place))
    if loose:
        yield _conversation(recording.name, {"messages": loose}, PurePath(recording.name).name)


def _body(recording: Recording, line: int, value: Any) -> Wire:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return {"messages": value}
    record = mapping(value)
    if not fits(record):
        raise recording.wrong(line, "neither a message nor a conversation.")
    held = next((mapping(record[key]) for key in BODIES if _holds_list(inner(record, key))), None)
    return record if held is None else {**without(record, *BODIES), **held}


def _conversation(source: str, body: Wire, fallback: str) -> Conversation:
    key = next((key for key in LISTS if isinstance(body.get(key), list | str)), "messages")
    held, model = body.get(key), text(body, "model")
    messages = [{"role": "user", "content": held}] if isinstance(held, str) else mappings(held)
    dialect = _dialect(body, key, messages, model)
    teller = Teller()
    for message in messages:
        _add(teller, message, dialect)
    response = mapping(body.get("response"))
    if answer := _reply_of(response, dialect):
        for message in answer:
            teller.add(_wire(message, dialect))
        teller.usage[-1] = mapping(response.get("usage")) or mapping(response.get("usageMetadata")) or None
    return teller.finish(
        text(body, *NAMED) or (str(body["id"]) if number(body.get("id")) else fallback),
        source,
        dialect,
        model=model,
        frame={name: body[name] for name in (*FRAME, *FRAME_TOO) if body.get(name) is not None},
        meta=without(body, key, "model", "meta", "response", *NAMED, *FRAME, *FRAME_TOO)
        | mapping(body.get("meta")),
    )


def _dialect(body: Wire, key: str, messages: list[Wire], model: str) -> DialectName:
    if told := SPELLINGS.get(text(body, "dialect")):
        return told
    if key in TELLING:
        return TELLING[key]
    is_anthropic = key == "messages" and body.get("system") is not None
    return "anthropic" if is_anthropic else dialect_of(messages, model)


def _add(teller: Teller, message: Wire, dialect: DialectName) -> None:
    """Append a message without the keys that are no part of its form."""
    times = (seconds(message.get(key)) for key in TIMES)
    time = next((time for time in times if time is not None), None)
    if message.get("_compact"):
        teller.compact([_wire(message, dialect)], time)
    else:
        usage = mapping(message.get("_usage")) or mapping(message.get("usage")) or None
        teller.add(_wire(message, dialect), time, usage)


def _wire(message: Wire, dialect: DialectName) -> Wire:
    if dialect == "anthropic" and message.get("type") == "message":
        return {"role": message.get("role"), "content": message.get("content")}
    dropped = {"usage", *TIMES} if dialect != "openai.responses" else {*TIMES}
    return {key: value for key, value in message.items() if key not in dropped and not key.startswith("_")}


def _reply_of(response: Wire, dialect: DialectName) -> list[Wire]:
    match dialect:
        case "openai.chat":
            return [mapping(choice.get("message")) for choice in mappings(response.get("choices"))[:1]]
        case "openai.responses":
            return mappings(response.get("output"))
        case "gemini":
            return [mapping(choice.get("content")) for choice in mappings(response.get("candidates"))[:1]]
    return [{"role": "assistant", "content": response["content"]}] if response.get("content") else []
