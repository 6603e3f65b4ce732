"""Unread: words that go out with a message and that none of its parts says, such as fields nobody here knows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from fanfold.core.message import Call, Message, Part, Result, Text, Thinking
from fanfold.tokens.meter import SEALED

_FEW = 300
"""Characters of ids, kinds and roles that a message may well have besides."""


def unread(message: Message, plainly: Callable[[Message], Sequence[Any]]) -> str:
    """What a message that came over the wire carries beside its parts; `plainly` writes these alone."""
    if message.wire is None:
        return ""
    same = {id(text) for part in message.parts for text in _read(part)}  # most are the very texts
    strange = [text for text in _texts(message.wire.body) if id(text) not in same]
    if sum(map(len, strange)) <= _FEW:
        return ""
    read = _texts(msgspec.to_builtins(message.parts))
    told = {*read, *_texts(plainly(message)), *_texts([_parsed(text) for text in read])}
    found = "\n".join(text for text in strange if text not in told)
    return found if len(found) > _FEW else ""


def _read(part: Part) -> Sequence[str]:
    """The long texts of a part."""
    match part:
        case Text(text=text) | Thinking(text=text) | Call(raw=text):
            return (text,)
        case Result(parts=parts):
            return [inner.text for inner in parts if isinstance(inner, Text)]
        case _:
            return ()


def _texts(value: Any) -> list[str]:
    """Every text in a value, but for what is sealed."""
    found: list[str] = []
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            todo += [inner for key, inner in one.items() if key not in SEALED]
        elif isinstance(one, list | tuple):
            todo += one
    return found


def _parsed(text: str) -> Any:
    """What a text holds that is JSON: some dialects give a tool's output as data."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
