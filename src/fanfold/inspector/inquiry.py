"""What the page asked for, as a value: whose session, what in it, and with which settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fanfold.core.errors import BadInput


class Inquiry(msgspec.Struct, frozen=True, kw_only=True):
    """What the page asked for."""

    tenant: str
    name: str = ""
    """The session."""
    id: str = ""
    """What is looked at in the session: an id, a number or a reference."""
    verb: str = ""
    """What is done to the session."""
    query: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}

    def number(self, name: str, usual: int, most: int | None = None, *, least: int = 0) -> int:
        """A number of the query; more than the most that is given at once is cut to that."""
        text = self.query.get(name)
        if text is None:
            return usual
        try:
            value = int(text)
        except ValueError:
            raise BadInput(f"{name} is a number, not {text[:40]!r}.") from None
        if value < least:
            raise BadInput(f"{name} is at least {least}.")
        return value if most is None else min(value, most)

    def flag(self, name: str) -> bool:
        """Whether the query says yes."""
        return self.query.get(name, "") in ("1", "true", "yes")
