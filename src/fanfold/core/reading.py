"""What can be read in a message, however it was spelled on its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.core.errors import BadArguments
from fanfold.core.message import Call, Message, Part, reading, words


def legible(message: Message) -> str:
    r"""All that can be read in a message; of arguments with escapes in them (`\u0026` is an ampersand), the values too.

    Whether a line stands somewhere must not depend on how a program writes its JSON.
    """
    return "\n".join([reading(message), *(text for call in message.calls for text in _unescaped(call))])


def legible_part(part: Part) -> str:
    """The same of one part."""
    return "\n".join([words(part), *(_unescaped(part) if isinstance(part, Call) else ())])


def _unescaped(call: Call) -> list[str]:
    return values(call) if "\\" in call.raw else []


def values(call: Call) -> list[str]:
    """The texts and whole numbers among the arguments of a call, as its tool gets them."""
    try:
        return list(_texts(call.args))
    except BadArguments:
        return []


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:  # no recursion: a model's JSON may be nested deeper than the stack
        match left.pop():
            case str(text):
                yield text
            case dict(items):
                left += reversed(items.values())
            case list(items):
                left += reversed(items)
            case bool():
                pass
            case int(number):
                yield str(number)
