"""Items ⇄ messages: every item of an input is one message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Call, Message, Opaque, Part, Result, Text, Thinking, Wire
from fanfold.dialects.dialect import is_sent, plain
from fanfold.dialects.responses.calls import (
    ANSWERING,
    ASKING,
    read_call,
    read_output,
    short,
    with_arguments,
    with_output,
    write_call,
    write_output,
)
from fanfold.dialects.responses.content import DIALECT, is_block, read_content, words_kind, write_content
from fanfold.dialects.responses.rules import ROLES, kind_of, speaker

Item = dict[str, Any]
_LOCAL = frozenset({"parsed", "parsed_arguments"})
"""Fields that the official SDK adds to what the server said; the server refuses them."""


def read(body: Any, where: str = "message") -> Message:
    """One item as a message; a plain text is a user's."""
    item = body if isinstance(body, str) else unparsed(body, where)
    if isinstance(item, str):
        return Message("user", (Text(item),) if item else (), Wire(DIALECT, item))
    if not isinstance(item, dict):
        raise BadMessage(
            f"{where} is {type(item).__name__}, not an item: give a dict with a type, or role and content."
        )
    kind = _known(item, where)
    return Message(speaker(item), tuple(_parts(item, kind)), Wire(DIALECT, item))


def unparsed(body: Any, where: str = "message") -> Any:
    """A plain copy; of an SDK's object without what the SDK itself put in."""
    item = plain(body, where)
    return item if isinstance(body, dict) or not isinstance(item, dict) else without_parsed(item)


def read_said(item: Any, where: str) -> Message:
    """An item that the model made; one that only refers to another is none."""
    if isinstance(item, dict) and kind_of(item) == "item_reference":
        raise BadMessage(f"{where} has neither a type nor a role, so it is no item that a model made.")
    return read(item, where)


def without_parsed(item: Item) -> Item:
    """An output item without the fields that the SDK's helpers put in."""
    kept = {key: value for key, value in item.items() if key not in _LOCAL}
    content = item.get("content")
    if kind_of(item) == "message" and isinstance(content, list):
        kept["content"] = [
            {key: value for key, value in block.items() if key not in _LOCAL}
            if isinstance(block, dict)
            else block
            for block in content
        ]
    return kept


def _known(item: Item, where: str) -> str:
    """The kind of an item, if it is one."""
    told, kind = item.get("type"), kind_of(item)
    if told is not None and not isinstance(told, str):
        raise BadMessage(f"{where}.type is {type(told).__name__}; it must be a text.")
    if told is None and kind == "item_reference" and not isinstance(item.get("id"), str):
        raise BadMessage(f"{where} has neither a type nor a role, so it is no item.")
    if kind == "message" and str(item.get("role")) not in ROLES:
        raise BadMessage(f"{where} has the role {item.get('role')!r}; known roles are {', '.join(ROLES)}.")
    return kind


def _parts(item: Item, kind: str) -> Iterator[Part]:
    if kind == "message":
        yield from read_content(item.get("content"))
    elif kind == "reasoning":
        yield _thinking(item)
    elif kind in ASKING:
        yield read_call(item)
    elif kind in ANSWERING:
        yield read_output(item)
    else:
        yield Opaque(DIALECT, item)


def _thinking(item: Item) -> Thinking:
    """The summary is what can be read; open models show the whole reasoning as content."""
    told = item.get("summary") or item.get("content")
    words = [part.text for part in read_content(told) if isinstance(part, Text)]
    sealed = item.get("encrypted_content")
    return Thinking("\n".join(words), sealed if isinstance(sealed, str) else None)


def patched(was: Message, message: Message) -> Any:
    """The item as received, with exactly those parts changed that were elided.

    It keeps its id: reasoning before it is bound to that id, and the server takes the content it is given.
    """
    assert was.wire is not None
    body = plain(was.wire.body)
    for number, (before, after) in enumerate(zip(was.parts, message.parts, strict=True)):
        if after != before:
            body = _put(body, number, after)
    return body


def _put(body: Any, number: int, part: Part) -> Any:
    if isinstance(body, str):
        return part.text if isinstance(part, Text) else body
    match part:
        case Call():
            return with_arguments(body, part)
        case Result():
            return with_output(body, part)
        case Text(text=text) if kind_of(body) == "message":
            return {**body, "content": _with_text(body["content"], number, text, body["role"])}
        case Text(text=text):
            role = "assistant" if speaker(body) == "assistant" else "user"
            return {"type": "message", "role": role, "content": [{"type": words_kind(role), "text": text}]}
        case _:
            return body


def _with_text(content: Any, number: int, text: str, role: str) -> Any:
    if not isinstance(content, list):
        return text
    before = content[number]
    notes: Item = {"annotations": []} if isinstance(before, dict) and "annotations" in before else {}
    block = {"type": words_kind(role), "text": text, **notes}
    return [*content[:number], block, *content[number + 1 :]]


def written(message: Message) -> Iterator[Any]:
    """A message that did not come over this wire, as items: words, calls and results each by themselves."""
    role = "user" if message.role == "tool" else message.role
    spoken: list[Part] = []
    for part in message.parts:
        alone = _alone(part)
        if alone is None:
            spoken.extend([part] if is_sent(part) else [])
            continue
        yield from _spoken(spoken, role)
        spoken = []
        yield alone
    yield from _spoken(spoken, role, needed=not message.parts)


def _alone(part: Part) -> Any:
    """The item that a part becomes by itself, or None for a part of a message."""
    match part:
        case Call():
            return write_call(part)
        case Result(call=call, parts=parts, error=error):
            return write_output("function_call", short(call), parts, error)
        case Opaque(dialect=dialect, body=dict(body)) if dialect == DIALECT and not is_block(body):
            return body
        case _:
            return None


def _spoken(parts: list[Part], role: str, *, needed: bool = False) -> Iterator[Item]:
    if parts or needed:
        yield {"type": "message", "role": role, "content": write_content(parts, role)}
