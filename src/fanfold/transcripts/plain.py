"""Messages in a provider's own form: lists, request bodies, lines of messages, a conversation per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from fanfold.dialects.registry import DIALECTS, DialectName, facts, frame_fields
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.dialects import dialect_of, is_message
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Numbered, Recording
from fanfold.transcripts.values import first_string, listing, mapping, mappings, number, seconds, string

NAME = "plain"
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


def fits(value: Any) -> bool:
    if isinstance(value, list):
        first = value[0] if value else None
        return fits(first) if isinstance(first, dict) else bool(first) and _are_messages(listing(first))
    record = mapping(value)
    return (
        is_message(record) or _holds_list(record) or any(_holds_list(mapping(record.get(k))) for k in BODIES)
    )


def _holds_list(record: Wire) -> bool:
    told = [record[key] for key in LISTS if key in record]
    is_prompt = "model" in record and isinstance(record.get("input"), str)
    return is_prompt or any(isinstance(value, list) and _are_messages(value) for value in told)


def _are_messages(values: list[Any]) -> bool:
    return all(isinstance(value, dict) and is_message(value) for value in values[:8])


def read(recording: Recording) -> Iterator[Conversation]:
    """Conversations line by line; lines that are single messages make one conversation together."""
    loose: list[Wire] = []
    name = PurePath(recording.name).name
    for row in recording.rows():
        if isinstance(row.value, dict) and is_message(row.value):
            loose.append(row.value)
            continue
        for place, body in enumerate(_bodies(recording, row), 1):
            yield _conversation(
                recording.name, body, f"{name}#{row.line}" + (f".{place}" if place > 1 else "")
            )
    if loose:
        yield _conversation(recording.name, {"messages": loose}, name)


def _bodies(recording: Recording, row: Numbered) -> Iterator[Wire]:
    """The conversations of one JSON value: one, or a list of them."""
    value = row.value
    if isinstance(value, list) and value and not _are_messages(value):
        for item in value:
            yield _body(recording, row.line, item)
        return
    yield _body(recording, row.line, value)


def _body(recording: Recording, line: int, value: Any) -> Wire:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return {"messages": value}
    record = mapping(value)
    if not fits(record):
        raise recording.wrong(line, "neither a message nor a conversation.")
    inner = next((mapping(record[key]) for key in BODIES if _holds_list(mapping(record.get(key)))), None)
    outer = {key: field for key, field in record.items() if key not in BODIES}
    return record if inner is None else {**outer, **inner}


def _conversation(source: str, body: Wire, fallback: str) -> Conversation:
    key = next((key for key in LISTS if isinstance(body.get(key), list | str)), "messages")
    messages = _messages_of(body.get(key))
    model = string(body.get("model"))
    dialect = _dialect(body, key, messages, model)
    draft = Recorded()
    for message in messages:
        _add(draft, message, dialect)
    _answer(draft, mapping(body.get("response")), dialect)
    known = {key, "model", "meta", "response", *NAMED, *FRAME, *FRAME_TOO}
    rest = {name: value for name, value in body.items() if name not in known}
    return draft.finish(
        first_string(body, *NAMED) or (str(body["id"]) if number(body.get("id")) else fallback),
        source,
        NAME,
        dialect,
        model=model,
        frame={name: body[name] for name in (*FRAME, *FRAME_TOO) if body.get(name) is not None},
        meta={**rest, **mapping(body.get("meta"))},
    )


def _messages_of(value: Any) -> list[Wire]:
    return [{"role": "user", "content": value}] if isinstance(value, str) else mappings(value)


def _dialect(body: Wire, key: str, messages: list[Wire], model: str | None) -> DialectName:
    if told := SPELLINGS.get(string(body.get("dialect")) or ""):
        return told
    if key in TELLING:
        return TELLING[key]
    is_anthropic = key == "messages" and body.get("system") is not None
    return "anthropic" if is_anthropic else dialect_of(messages, model)


def _add(draft: Recorded, message: Wire, dialect: DialectName) -> None:
    """Append a message without the keys that are no part of its form."""
    times = (seconds(message.get(key)) for key in TIMES)
    time = next((time for time in times if time is not None), None)
    usage = mapping(message.get("_usage")) or mapping(message.get("usage")) or None
    wire = _wire(message, dialect)
    if message.get("_compact"):
        draft.compact([wire], time)
    else:
        draft.add(wire, time, usage)


def _wire(message: Wire, dialect: DialectName) -> Wire:
    if dialect == "anthropic" and message.get("type") == "message":
        return {"role": message.get("role"), "content": message.get("content")}
    dropped = {"usage", *TIMES} if dialect != "openai.responses" else {*TIMES}
    return {key: value for key, value in message.items() if key not in dropped and not key.startswith("_")}


def _answer(draft: Recorded, response: Wire, dialect: DialectName) -> None:
    """Append what a recorded response holds."""
    usage = mapping(response.get("usage")) or mapping(response.get("usageMetadata")) or None
    answer = _reply_of(response, dialect)
    for message in answer:
        draft.add(_wire(message, dialect))
    if answer:
        draft.usage[-1] = usage


def _reply_of(response: Wire, dialect: DialectName) -> list[Wire]:
    match dialect:
        case "openai.chat":
            return [mapping(choice.get("message")) for choice in mappings(response.get("choices"))[:1]]
        case "openai.responses":
            return mappings(listing(response.get("output")))
        case "gemini":
            return [mapping(choice.get("content")) for choice in mappings(response.get("candidates"))[:1]]
    return [{"role": "assistant", "content": response["content"]}] if response.get("content") else []


FORMAT = Format(NAME, fits, read)
