"""Headroom: `compress`."""

# /// script
# dependencies = ["headroom-ai==0.42.0"]
# ///

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

from headroom import compress

from bench.peers.shell import Limits, Wire, serve

MODEL = "gpt-4o"
"""Headroom counts as it ships; it takes no counter."""


class Compress:
    """`compress` before each call. It has no trigger and no target, only the model's limit."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.messages: list[Wire] = []

    def take(self, body: Wire) -> Wire:
        """The Chat dialect is one of Headroom's own."""
        return body

    def give(self, message: Wire) -> Iterable[Wire]:
        """As it is."""
        return [message]

    def show(self, fresh: list[Wire]) -> Iterable[Wire]:
        """Everything, with what can be written shorter written shorter."""
        self.messages += fresh
        return compress(deepcopy(self.messages), model=MODEL, model_limit=self.limits.window).messages


POLICIES = {"compress": Compress}

if __name__ == "__main__":
    serve(POLICIES)
