"""Values that somebody hands in, as the log keeps them: plain dicts, lists, texts and numbers."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_not
from typing import Any, TypeVar

import msgspec

MOST_LEVELS = 128
"""Lists and dicts inside each other; common parsers of JSON take no more, and Python's stack has room for them."""
_MOST_BITS = 13_287
"""Integers of up to 4,000 digits; Python itself writes none of more than 4,300."""
_TOO_DEEP = f"lists and dicts nested more than {MOST_LEVELS} levels deep"
_NESTED = frozenset({dict, list, tuple})
_SAYING = frozenset({str, type(None)})
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


def copy_plain(value: Any, hook: Hook = text) -> Any:
    """A deep copy in plain dicts, lists, texts and numbers, which can be written; TypeError or ValueError if it cannot.

    The hook says what other objects are.
    """
    try:
        made = msgspec.to_builtins(value, str_keys=True, enc_hook=hook)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    _measure(made)
    return made


def own(value: Any, kind: Any) -> Any:
    """A deep copy of a value, every field of the type that its kind says; ValueError tells where that is not so."""
    try:
        return msgspec.convert(copy_plain(value), kind)
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


def _says_only(value: dict[str, Any]) -> bool:
    """Whether there are only texts in a dict, and gaps: most messages are such."""
    return _SAYING.issuperset(map(type, value.values()))


def same_kinds(one: Any, other: Any) -> bool:
    """Whether two equal values are equal in JSON, too: Python takes true for 1, and false for 0."""
    if isinstance(one, str):
        return True
    if isinstance(one, dict):
        return _says_only(one) or all(same_kinds(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return all(map(same_kinds, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def exacting(value: Any) -> Any:
    """A plain value for comparing with `==`, to which true is not 1 and false is not 0; itself if it has none."""
    match value:
        case str() | None:
            return value
        case dict() if _says_only(value):
            return value
        case dict():
            made = {key: exacting(inner) for key, inner in value.items()}
            return made if any(made[key] is not inner for key, inner in value.items()) else value
        case list():
            items = [exacting(inner) for inner in value]
            return items if any(map(is_not, items, value)) else value
        case _:
            return _OfItsKind(value) if value in (0, 1) else value


class _OfItsKind:
    """True, false, 1 or 0, equal to nothing of another kind."""

    __slots__ = ("is_bool", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: bool | float) -> None:
        self.value, self.is_bool = value, type(value) is bool

    def __eq__(self, other: object) -> bool:
        return (type(other) is bool) is self.is_bool and self.value == other
