"""Which dialect a request or a list of messages is written in, told by its content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any, Literal

from fanfold.core.errors import BadInput, BadMessage
from fanfold.dialects.dialect import plain
from fanfold.dialects.registry import CHAT, DIALECTS, Body, DialectName, facts
from fanfold.dialects.tools import shape

_KNOWN = f"Known dialects are {', '.join(DIALECTS)}."


def dialect_of(given: Any) -> str:
    """The dialect of a request or of a list of messages; plain words that fit several are `openai.chat`."""
    if isinstance(given, list | tuple):
        found = _of_list(given) or CHAT
        _check_bare(given, facts(found).parts)
        return found
    if not isinstance(given, Mapping):
        raise BadInput(f"This is {type(given).__name__}, neither a request nor a list of messages. {_KNOWN}")
    certain = _by_key(given, "request")
    if certain is not None:
        return certain
    messages, tools = given.get("messages"), given.get("tools")
    if "messages" in given and not isinstance(messages, list | tuple):
        told = "None" if messages is None else type(messages).__name__
        raise BadInput(f"`messages` is a list of messages, not {told}. {_KNOWN}")
    if not isinstance(messages, list | tuple):
        raise BadInput(f"No dialect has a request with only {_keys(given)} in it. {_KNOWN}")
    shapes = (shape(tool) for tool in (tools if isinstance(tools, list | tuple) else ()))
    by_tools = next((found for found in shapes if found in _WITH_MESSAGES), None)
    return by_tools or _of_list(messages) or _by_key(given, "likely") or CHAT


def reply_dialect(given: Any) -> DialectName | None:
    """The dialect of a provider's reply, or of an event of its stream; None where its form tells nothing."""
    try:
        body = given if isinstance(given, Mapping) else plain(given)
    except BadMessage:
        return None
    if not isinstance(body, Mapping):
        return None
    # Hosts of Chat add fields of others to their replies, and `output` may be a field of anybody's.
    return next((name for name in (CHAT, *reversed(DIALECTS)) if facts(name).is_reply(body)), None)


def sign(body: Body) -> DialectName | None:
    """The dialect that a message gives away by its form, whatever else somebody recorded in it."""
    # Chat comes last: histories of other dialects are recorded with its fields, too.
    certain = next((name for name in reversed(DIALECTS) if facts(name).is_message(body)), None)
    content = body.get("content")
    if certain is not None or not isinstance(content, list | tuple):
        return certain
    kinds, fields = _telling("blocks"), _telling("block_fields")
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else getattr(block, "type", None)
        if isinstance(kind, str) and kind in kinds:
            return kinds[kind]
        found = next((fields[key] for key in fields if isinstance(block, Mapping) and key in block), None)
        if found is not None:
            return found
    return None


@cache
def _telling(
    what: Literal["request", "likely", "message", "blocks", "block_fields"],
) -> dict[str, DialectName]:
    """What gives a dialect away, and which one."""
    return {key: name for name in DIALECTS for key in getattr(facts(name), what)}


_WITH_MESSAGES = tuple(name for name in DIALECTS if facts(name).field == "messages")


def _by_key(body: Body, what: Literal["request", "likely", "message"]) -> DialectName | None:
    telling = _telling(what)
    return next((telling[key] for key in body if key in telling and body[key] is not None), None)


def _of_list(messages: Iterable[Any]) -> DialectName | None:
    """What the first telling message tells; most tell nothing, and all are looked at."""
    for at, message in enumerate(messages):
        if isinstance(message, str):
            return "gemini"
        body = message if isinstance(message, Mapping) else plain(message, f"messages[{at}]")
        if not isinstance(body, Mapping):
            raise BadInput(f"messages[{at}] is {type(message).__name__}, a message in no dialect. {_KNOWN}")
        found = sign(body) or _by_key(body, "message")
        if found is not None:
            return found
        if "role" not in body:
            raise BadInput(f"messages[{at}] has only {_keys(body)} in it, in no dialect. {_KNOWN}")
    return None


def _check_bare(messages: Iterable[Any], parts: Collection[str]) -> None:
    """Raise `BadInput` for an object without a role that is no part either: of some program's own list."""
    for at, message in enumerate(messages if parts else ()):
        if isinstance(message, Mapping) and not _is_part(message, parts):
            raise BadInput(
                f"This is no conversation: messages[{at}] has {_keys(message)} in it, together in no dialect. "
                f'A message is such as {{"role": "user", "content": "Hello."}}. {_KNOWN}'
            )


def _is_part(body: Body, parts: Collection[str]) -> bool:
    """Whether this is a message, or has nothing but the fields of a part."""
    return "role" in body or "parts" in body or all(key in parts or body[key] is None for key in body)


def _keys(body: Body) -> str:
    return ", ".join(map(repr, list(body)[:5])) or "nothing"
