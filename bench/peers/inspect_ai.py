"""Inspect: `CompactionEdit` and `CompactionTrim`, run by its `compaction()`."""

# /// script
# dependencies = ["inspect-ai==0.3.285"]
# ///

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    CompactionStrategy,
    CompactionTrim,
    ModelAPI,
    compaction,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolCall

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import text_tokens, tokens
from bench.peers.shell import Limits, Wire, serve


@modelapi(name="counting")
class Counting(ModelAPI):
    """A model that counts exactly and does nothing else."""

    async def generate(self, *_: Any, **__: Any) -> Any:
        """Nobody asks for it here."""
        raise NotImplementedError

    async def count_tokens(self, input: str | Sequence[ChatMessage], config: Any = None) -> int:
        """Exactly."""
        return text_tokens(input) if isinstance(input, str) else tokens(map(given, input))


def taken(body: Wire) -> ChatMessage:
    """A message of the Chat dialect as Inspect's own."""
    text = body.get("content") or ""
    match body["role"]:
        case "assistant":
            made = [ToolCall(call.id, call.name, call.args) for call in calls(body)]
            return ChatMessageAssistant(content=text, tool_calls=made or None)
        case "tool":
            return ChatMessageTool(content=text, tool_call_id=body["tool_call_id"])
        case "system":
            return ChatMessageSystem(content=text)
        case _:
            return ChatMessageUser(content=text)


def given(message: ChatMessage) -> Wire:
    """The way back."""
    match message:
        case ChatMessageAssistant(tool_calls=made):
            return spoken(
                "assistant", message.text, [Asked(c.id, c.function, c.arguments) for c in made or ()]
            )
        case ChatMessageTool(tool_call_id=call):
            return answered(call or "", message.text)
        case _:
            return spoken(message.role, message.text)


class Compacted:
    """The whole history is told; what was compacted stays compacted. What begins the conversation is always kept."""

    def __init__(self, strategy: CompactionStrategy) -> None:
        self.strategy = strategy
        self.messages: list[ChatMessage] = []
        self.compact: Any = None

    def take(self, body: Wire) -> ChatMessage:
        """Inspect's form."""
        return taken(body)

    def give(self, message: ChatMessage) -> Iterable[Wire]:
        """The Chat dialect's."""
        return [given(message)]

    def show(self, fresh: list[ChatMessage]) -> Iterable[ChatMessage]:
        """The input for the model."""
        if self.compact is None:
            begun = [message for message in fresh if message.role in ("system", "user")]
            self.compact = compaction(self.strategy, begun, model=get_model("counting/exact"))
        self.messages += fresh
        shown, _ = asyncio.run(self.compact.compact_input(self.messages))
        return shown


class Edit(Compacted):
    """Clears results but for the last three; raises where that is not enough."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(CompactionEdit(threshold=limits.trigger, memory=False))


class Trim(Compacted):
    """Keeps a share of the messages: as much as the target is of the trigger."""

    def __init__(self, limits: Limits) -> None:
        kept = limits.target / limits.trigger
        super().__init__(CompactionTrim(threshold=limits.trigger, preserve=kept, memory=False))


POLICIES = {"CompactionEdit": Edit, "CompactionTrim": Trim}

if __name__ == "__main__":
    serve(POLICIES)
