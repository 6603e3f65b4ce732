"""What a reader of one format is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from fanfold.transcripts.conversation import Conversation
from fanfold.transcripts.rows import Recording


class Format(Struct, frozen=True):
    """A recording's layout: how to know it, and how to read it."""

    name: str
    fits: Callable[[Any], bool]
    """Is this value, one of the file's first, one that only this format writes?"""
    read: Callable[[Recording], Iterator[Conversation]]
