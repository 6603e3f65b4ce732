"""LiteLLM: `trim_messages`."""

# /// script
# dependencies = ["litellm==1.106.2"]
# ///

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import deepcopy

from bench.peers.shell import Limits, Wire, serve

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it looks for a newer one on the network

from litellm.utils import trim_messages

MODEL = "gpt-4o"
"""LiteLLM counts this one's messages in o200k, with its own vocabulary."""


class Trim:
    """`trim_messages` before each call; it has no target below its limit, so the limit is the trigger."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.messages: list[Wire] = []

    def take(self, body: Wire) -> Wire:
        """The Chat dialect is LiteLLM's own; it expects a text in every message."""
        return {**body, "content": body.get("content") or ""}

    def give(self, message: Wire) -> Iterable[Wire]:
        """As it is."""
        return [message]

    def show(self, fresh: list[Wire]) -> Iterable[Wire]:
        """The newest messages that fit, one of them cut in its middle."""
        self.messages += fresh
        return trim_messages(deepcopy(self.messages), model=MODEL, max_tokens=self.limits.trigger)


POLICIES = {"trim_messages": Trim}

if __name__ == "__main__":
    serve(POLICIES)
