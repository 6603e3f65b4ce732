"""References: values in a tool call that must be right to the letter, and so must be known to the letter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from fanfold.errors import BadArguments
from fanfold.message import Call

_REFERENCE = re.compile(
    r"""
      https?://[^\s"'<>)\]}`、。」]+                              # addresses
    | [\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w                  # e-mail
    | \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b   # uuid
    | (?:~|\.{1,2})?(?:/[A-Za-z0-9_.@+-]+){3,}                   # paths from the root
    | \b[A-Za-z0-9_.@+-]{1,80}(?:/[A-Za-z0-9_.@+-]+){2,}         # paths from here
    | \b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b      # hashes
    | \b\d{7,40}\b                                               # long numbers
    | \b(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9]{1,64}(?:[_-][A-Za-z0-9]{1,64})+\b   # call_12ab, HAT-123
    """,
    re.VERBOSE | re.ASCII,
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{5,}")
FREE = 200
"""A longer argument, or one of several lines, is prose or code that the model wrote, not a value it looked up."""


def references(call: Call, *, loose: bool = False) -> set[str]:
    """What a call names: identifiers, or loosely every code-like word."""
    pattern = _WORD if loose else _REFERENCE
    found: set[str] = set()
    for text in values(call):
        found.update(match.group().rstrip(".,:;") for match in pattern.finditer(text))
    return {one for one in found if len(one) >= 6 and (not loose or _is_code(one))}


def _is_code(word: str) -> bool:
    """Whether a word is a name in code rather than one of a language."""
    return "_" in word or "." in word or word != word.lower()


def values(call: Call) -> Iterator[str]:
    """The arguments of a call that are values."""
    try:
        arguments: Any = call.args
    except BadArguments:
        return
    yield from (text for text in _texts(arguments) if len(text) <= FREE and "\n" not in text)


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
