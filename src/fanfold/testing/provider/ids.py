"""Ids that follow from the request alone, so that the same run gives the same ids."""

import re
from dataclasses import dataclass

BOUND = re.compile(r"(?:fc|msg|ctc)_fa([0-9a-f]{22})[0-9a-f]{2}([0-9a-f]{2})")


@dataclass(frozen=True)
class Name:
    """The name of one reply, from which all of its ids are made."""

    digest: str

    def reply(self, prefix: str) -> str:
        """The reply's own id."""
        return prefix + self.digest[:24]

    def call(self, prefix: str, nth: int) -> str:
        """The id of one of its calls."""
        return f"{prefix}{self.digest[:20]}{nth:02x}"

    def item(self, prefix: str, place: int, reasoning: int | None = None) -> str:
        """The id of an output item; it tells which reasoning item it was made after."""
        bound = "ff" if reasoning is None else f"{reasoning:02x}"
        return f"{prefix}_fa{self.digest[:22]}{place:02x}{bound}"


def required_reasoning(item: str) -> str | None:
    """The id of the reasoning item that an item was made after; nothing for a free or foreign one."""
    match = BOUND.fullmatch(item)
    if match is None or match[2] == "ff":
        return None
    return f"rs_fa{match[1]}{match[2]}ff"
