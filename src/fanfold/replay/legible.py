"""What can be read in a message, however it was spelled on its way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fanfold.errors import BadArguments
from fanfold.message import Call, Message, reading


def legible(message: Message) -> str:
    r"""All that can be read in a message; of arguments with escapes in them (`\u0026` is an ampersand), the values too.

    Whether a value was written before, and whether it is in view, must not depend on how a program writes its JSON.
    """
    escaped = [call for call in message.calls if "\\" in call.raw]
    return "\n".join([reading(message), *(text for call in escaped for text in values(call))])


def values(call: Call) -> list[str]:
    """The texts and whole numbers among the arguments of a call, as its tool gets them."""
    try:
        return list(_texts(call.args))
    except BadArguments:
        return []


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
