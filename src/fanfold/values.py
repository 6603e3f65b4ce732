"""Values that somebody hands in, as the log keeps them: plain dicts, lists, texts and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

MOST_LEVELS = 128
"""Lists and dicts inside each other; common parsers of JSON take no more, and Python's stack has room for them."""
_MOST_BITS = 13_287
"""Integers of up to 4,000 digits; Python itself writes none of more than 4,300."""
_TOO_DEEP = f"lists and dicts nested more than {MOST_LEVELS} levels deep"
_NESTED = frozenset({dict, list, tuple})
Hook = Callable[[Any], Any]
T = TypeVar("T")


def text(value: Any) -> str:
    """A text of whatever kind (an enumeration's member, marked-up text) as text and nothing else."""
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__}")
    return value if type(value) is str else str.__str__(value)


def plain_text(value: T) -> T | str:
    """The same value; where it is text of whatever kind, as text and nothing else."""
    return text(value) if isinstance(value, str) else value


def copied(value: Any, hook: Hook = text) -> Any:
    """A deep copy in plain dicts, lists, texts and numbers, which can be written; TypeError or ValueError if it cannot.

    The hook says what other objects are.
    """
    try:
        made = msgspec.to_builtins(value, str_keys=True, enc_hook=hook)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _measure(made)
    return made


def owned(value: Any, kind: Any) -> Any:
    """A deep copy of a value, every field of the type that its kind says; ValueError tells where that is not so."""
    try:
        return msgspec.convert(copied(value), kind)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as problem:
        raise ValueError(str(problem).rstrip(".")) from problem


def _measure(value: Any) -> None:
    """Refuse what could be kept and never shown: values nested too deep, and endless numbers."""
    level: list[Any] = [(value,)]
    for _ in range(MOST_LEVELS + 1):
        deeper = []
        for one in level:
            for inner in one.values() if type(one) is dict else one:
                kind = type(inner)
                if kind is str:
                    continue
                if kind in _NESTED:
                    deeper.append(inner)
                elif kind is int and inner.bit_length() > _MOST_BITS:
                    raise ValueError("an integer of more than 4,000 digits")
        if not deeper:
            return
        level = deeper
    raise ValueError(_TOO_DEEP)
