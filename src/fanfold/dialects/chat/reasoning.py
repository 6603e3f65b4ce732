"""Reasoning that its maker wants back: while they think, DeepSeek and Kimi refuse a message of theirs without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fanfold.core.message import Message
from fanfold.core.view import Row
from fanfold.dialects.chat.read import THOUGHTS
from fanfold.dialects.dialect import Allowed

PLACEHOLDER = " "
"""What goes in the place of reasoning that there is none of; an empty text is refused."""
Body = dict[str, Any]


def allowed(rows: Sequence[Row], params: Mapping[str, Any]) -> Allowed:
    """The rows, every message of the assistant's with reasoning; as they are where thinking is switched off."""
    if _is_off(params):
        return Allowed(rows, params)
    lacking = sum(map(_lacks, (body for row in rows for body in row.weight.wire)))
    if not lacking:
        return Allowed(rows, params)
    given = [_given(row) if any(map(_lacks, row.weight.wire)) else row for row in rows]
    said = f"reasoning: a blank one is sent where there is none ({lacking})"
    return Allowed(given, params, (said,), {PLACEHOLDER: lacking})


def _lacks(body: Body) -> bool:
    return body.get("role") == "assistant" and not any(body.get(key) for key in THOUGHTS)


def _given(row: Row) -> Row:
    new = {id(body): {**body, THOUGHTS[0]: PLACEHOLDER} for body in row.weight.wire if _lacks(body)}
    wire = tuple(new.get(id(body), body) for body in row.weight.wire)
    messages = tuple(_rewired(message, new) for message in row.messages)
    return replace(
        row, messages=messages, weight=replace(row.weight, wire=wire, digest=row.weight.digest + b"+")
    )


def _rewired(message: Message, new: Mapping[int, Body]) -> Message:
    """The message under the wire form that is sent of it."""
    if message.wire is None or id(message.wire.body) not in new:
        return message
    return replace(message, wire=replace(message.wire, body=new[id(message.wire.body)]))


def _is_off(params: Mapping[str, Any]) -> bool:
    """Whether thinking is switched off; the SDK takes what it does not know in `extra_body`."""
    extra = params.get("extra_body")
    places = (params, extra if isinstance(extra, Mapping) else {})
    return any(place.get("thinking") == {"type": "disabled"} for place in places)
