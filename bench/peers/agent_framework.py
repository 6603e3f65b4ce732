"""Microsoft's Agent Framework: `TruncationStrategy`."""

# /// script
# dependencies = ["agent-framework-core==1.23.0"]
# ///

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from agent_framework import Content, Message, TruncationStrategy, apply_compaction

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import text_tokens
from bench.peers.shell import Limits, Wire, serve


class Exact:
    """A tokenizer; what it is given is a message written as JSON, its id included."""

    def count_tokens(self, text: str) -> int:
        """Exactly."""
        return text_tokens(text)


class Truncate:
    """Drops the oldest groups; what was dropped stays so."""

    def __init__(self, limits: Limits) -> None:
        self.exact = Exact()
        self.strategy = TruncationStrategy(
            max_n=limits.trigger, compact_to=limits.target, tokenizer=self.exact
        )
        self.messages: list[Message] = []

    def take(self, body: Wire) -> Message:
        """The framework's form."""
        text = body.get("content") or ""
        words = [Content.from_text(text)] if text else []
        match body["role"]:
            case "assistant":
                made = [Content.from_function_call(c.id, c.name, arguments=c.args) for c in calls(body)]
                return Message("assistant", [*words, *made])
            case "tool":
                return Message("tool", [Content.from_function_result(body["tool_call_id"], result=text)])
            case role:
                return Message(role, words)

    def give(self, message: Message) -> Iterable[Wire]:
        """The Chat dialect's."""
        for content in message.contents:
            if content.type == "function_result":
                yield answered(content.call_id or "", str(content.result))
                return
        made = [_asked(content) for content in message.contents if content.type == "function_call"]
        yield spoken(str(message.role), message.text, made)

    def show(self, fresh: list[Message]) -> Iterable[Message]:
        """What is left after compaction."""
        self.messages += fresh
        return asyncio.run(apply_compaction(self.messages, strategy=self.strategy, tokenizer=self.exact))


def _asked(content: Content) -> Asked:
    return Asked(content.call_id or "", content.name or "", content.parse_arguments() or {})


POLICIES = {"TruncationStrategy": Truncate}

if __name__ == "__main__":
    serve(POLICIES)
