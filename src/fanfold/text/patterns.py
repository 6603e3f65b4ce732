"""Patterns that are compiled when they are first used: few programs use them all, and compiling takes its time."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled late."""
    return cast("re.Pattern[str]", _Late(text, flags))


def finder(text: str) -> Callable[[str], bool]:
    """Tells whether a pattern stands in a text, case aside: compiled late, by re2, and in time linear in the text."""
    whole = f"(?i){text}"
    return lambda searched: linear(whole).search(searched.encode("utf-8", "replace")) is not None


@cache
def linear(text: str) -> Any:
    """A pattern for bytes, compiled by re2: whatever it is searched in, the time is linear in that."""
    import re2  # type: ignore[import-untyped]  # late: few programs need it at once

    return re2.compile(text.encode())


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """What the compiled pattern has; asked for once."""
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found
