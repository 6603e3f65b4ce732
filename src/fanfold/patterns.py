"""Patterns that are compiled when they are first used: few programs use them all, and compiling takes its time."""

from __future__ import annotations

import re
from typing import Any, cast


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled late."""
    return cast("re.Pattern[str]", _Late(text, flags))


class _Late:
    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """What the compiled pattern has; asked for once."""
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found
