"""Haystack: `CompactionHook` with the sliding window and with the pruning of tool results."""

# /// script
# dependencies = ["haystack-ai==3.4.0"]
# ///

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from haystack.components.agents.state.state import State
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook, SlidingWindowCompactor, ToolResultPruningCompactor

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import tokens
from bench.peers.shell import Limits, Wire, serve


class Exact:
    """A token counter."""

    def count(self, messages: list[ChatMessage], tools: Any = None) -> int:
        """Exactly."""
        return tokens(map(given, messages))


def given(message: ChatMessage) -> Wire:
    """A message of Haystack's as one of the Chat dialect."""
    result = message.tool_call_result
    if result is not None:
        return answered(result.origin.id or "", str(result.result))
    made = [Asked(call.id or "", call.tool_name, call.arguments) for call in message.tool_calls]
    return spoken(str(message.role.value), "\n".join(message.texts), made)


class Hooked:
    """The hook before each call; it rewrites the state's messages."""

    def __init__(self, limits: Limits, compactor: Any) -> None:
        self.hook = CompactionHook(
            compactor,
            context_window=limits.window,
            compact_at=limits.trigger / limits.window,
            compact_to=limits.target / limits.window,
            token_counter=Exact(),  # type: ignore[arg-type]
        )
        self.state = State(schema={}, data={"messages": []})
        self.calls: dict[str, ToolCall] = {}

    def take(self, body: Wire) -> ChatMessage:
        """Haystack's form; a result knows the call it answers."""
        text = body.get("content") or ""
        match body["role"]:
            case "assistant":
                made = [ToolCall(call.name, call.args, call.id) for call in calls(body)]
                self.calls.update({call.id or "": call for call in made})
                return ChatMessage.from_assistant(text or None, tool_calls=made)
            case "tool":
                id = body["tool_call_id"]
                origin = self.calls.get(id) or ToolCall("unknown", {}, id)
                return ChatMessage.from_tool(text, origin=origin)
            case "system":
                return ChatMessage.from_system(text)
            case _:
                return ChatMessage.from_user(text)

    def give(self, message: ChatMessage) -> Iterable[Wire]:
        """The Chat dialect's."""
        return [given(message)]

    def show(self, fresh: list[ChatMessage]) -> Iterable[ChatMessage]:
        """The state's messages after the hook."""
        self.state.data["messages"] = [*self.state.data["messages"], *fresh]
        self.hook.run(self.state)
        return self.state.data["messages"]


class Sliding(Hooked):
    """Drops the oldest steps."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits, SlidingWindowCompactor())


class Pruning(Hooked):
    """Clears the oldest results."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits, ToolResultPruningCompactor())


POLICIES = {"SlidingWindowCompactor": Sliding, "ToolResultPruningCompactor": Pruning}

if __name__ == "__main__":
    serve(POLICIES)
