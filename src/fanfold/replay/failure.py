"""What could not be replayed, and why."""

from __future__ import annotations

import msgspec

from fanfold.core.errors import FanfoldError

KILLED = "the process that played it was killed, perhaps because memory ran out; fewer workers need less"


class Failure(msgspec.Struct, frozen=True):
    """A file or a conversation that could not be replayed."""

    source: str
    """The file."""
    reason: str
    conversation: str | None = None
    """None if the file could not be read."""
    policy: str | None = None
    """The one under which it failed first."""

    def __str__(self) -> str:
        names = (self.source, self.conversation, self.policy and f"policy {self.policy}")
        return in_one_line(": ".join(name for name in (*names, self.reason) if name))


def reason(error: Exception, source: str = "") -> str:
    """What an error says, in one line; the name of the file is not repeated."""
    words = str(error) if isinstance(error, FanfoldError) else f"{type(error).__name__}: {error}"
    return in_one_line(words.removeprefix(f"{source}: "))


def in_one_line(text: str) -> str:
    """The text without breaks, and without what a terminal would obey."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(text.split()))
