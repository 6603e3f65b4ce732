"""A peer in a few lines, to begin with: copy it, write at the top which packages it needs as the others do, call them.

It stands for no package, so it has no environment and is in no table; the tests of the driver talk with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.peers.counting import tokens
from bench.peers.shell import Limits, Wire, serve, stub


class Newest:
    """The first message, a summary if something was dropped, and the newest messages up to the target."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.shown: list[Wire] = []

    def take(self, body: Wire) -> Wire:
        """A message of the Chat dialect in the package's form: here as it is."""
        return body

    def give(self, message: Wire) -> Iterable[Wire]:
        """And back."""
        return [message]

    def show(self, fresh: list[Wire]) -> Iterable[Wire]:
        """What would be sent now. Only this is timed."""
        self.shown += fresh
        if tokens(self.shown) > self.limits.trigger:
            summary = {"role": "user", "content": stub.ask(tokens(self.shown))}
            self.shown = [self.shown[0], summary, *self._newest()]
        return self.shown

    def _newest(self) -> list[Wire]:
        """It begins anywhere, so that it breaks a pair now and then: a good peer would not."""
        rest = self.shown[1:]
        while rest and tokens(rest) > self.limits.target:
            rest = rest[1:]
        return rest


class Never(Newest):
    """Gives up where something would have to be dropped."""

    def show(self, fresh: list[Wire]) -> Iterable[Wire]:
        """Everything, or an error."""
        self.shown += fresh
        if tokens(self.shown) > self.limits.window:
            raise ValueError("too long")
        return self.shown


POLICIES = {"newest": Newest, "never": Never}

if __name__ == "__main__":
    serve(POLICIES)
