"""How much memory a session takes, about: enough to say which of thousands must go."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from fanfold.session.state import State

_SESSION = 28_000
"""A session takes about so many bytes before anything is said in it."""
_RECORD = 600
"""A record takes about so many bytes, with the look-ups that lead to it."""
_VIEW = 2
"""What is shown of an entry takes about as much as the entry itself: its row, and its encoded form."""


def bytes_of(state: State) -> int:
    """About how many bytes of memory a session takes. What several share is counted for each."""
    entries = state.log.tree.entries
    known = (entries.get(id) for id in state.entries_at_hand())
    seen: set[int] = set()
    content = sum(_size(entry.message, seen) for entry in known if entry is not None)
    return _SESSION + _VIEW * content + _RECORD * len(state.log.records)


def _size(value: Any, seen: set[int]) -> int:
    """The bytes of a value and of all that it holds, each once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    own = sys.getsizeof(value)
    match value:
        case dict():
            return own + sum(_size(key, seen) + _size(item, seen) for key, item in value.items())
        case list() | tuple():
            return own + sum(_size(item, seen) for item in value)
        case msgspec.Struct():
            return own + sum(_size(getattr(value, name), seen) for name in value.__struct_fields__)
    return own
