"""OpenHands: `LLMSummarizingCondenser`, with a stub for the model that summarizes."""

# /// script
# requires-python = ">=3.12"
# dependencies = ["openhands-sdk==1.58.0"]
# ///

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import tokens
from bench.peers.shell import Limits, Wire, serve, stub

os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
os.environ["LOG_LEVEL"] = "ERROR"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it looks for a newer one on the network

from openhands.sdk import LLM, Message, TextContent
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.view import View
from openhands.sdk.event import (
    ActionEvent,
    Condensation,
    LLMConvertibleEvent,
    MessageEvent,
    ObservationEvent,
    SystemPromptEvent,
)
from openhands.sdk.llm import MessageToolCall
from openhands.sdk.tool.schema import Observation

Events = tuple[LLMConvertibleEvent, ...]
MANY = 1_000_000
"""Events, so that only tokens make it condense; by default 240 do so too."""


class Exact(LLM):
    """A model that counts exactly and writes the same summary every time."""

    def get_token_count(self, messages: list[Message], *_: Any, **__: Any) -> int:
        """Exactly."""
        return tokens(map(given, messages))

    def generate(self, messages: list[Message], *_: Any, **__: Any) -> Any:
        """The summary."""
        text = stub.ask(self.get_token_count(messages))
        return SimpleNamespace(id="stub", message=Message(role="assistant", content=[TextContent(text=text)]))


class Seen(Observation):
    """What a tool answered."""


def given(message: Message) -> Wire:
    """A message of OpenHands' as one of the Chat dialect."""
    text = "\n".join(part.text for part in message.content if isinstance(part, TextContent))
    if message.role == "tool":
        return answered(message.tool_call_id or "", text)
    body = {"tool_calls": [_wire(call) for call in message.tool_calls or ()]}
    return spoken(message.role, text, list(calls(body)))


def _wire(call: MessageToolCall) -> Wire:
    return {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}


class Condense:
    """A view of events, condensed until the condenser has nothing more to do."""

    def __init__(self, limits: Limits) -> None:
        self.llm = Exact(model="gpt-4o", usage_id="stub")
        self.condenser = LLMSummarizingCondenser(llm=self.llm, max_tokens=limits.trigger, max_size=MANY)
        self.view = View()
        self.actions: dict[str, ActionEvent] = {}

    def take(self, body: Wire) -> Events:
        """OpenHands' events: one for each call of a message."""
        text = body.get("content") or ""
        words = [TextContent(text=text)]
        match body["role"]:
            case "assistant" if made := list(calls(body)):
                return self._acted(words if text else [], body["tool_calls"], made)
            case "tool":
                return (self._observed(body["tool_call_id"], words),)
            case "system":
                return (SystemPromptEvent(system_prompt=words[0], tools=[]),)
            case role:
                source: Any = "agent" if role == "assistant" else "user"
                return (MessageEvent(source=source, llm_message=Message(role=role, content=words)),)

    def _acted(self, words: Sequence[TextContent], raw: list[Wire], made: list[Asked]) -> Events:
        reply = str(uuid4())
        events = []
        for number, (call, body) in enumerate(zip(made, raw, strict=True)):
            arguments = body["function"]["arguments"]
            wired = MessageToolCall(id=call.id, name=call.name, arguments=arguments, origin="completion")
            thought = words if not number else []
            event = ActionEvent(
                thought=thought,
                tool_name=call.name,
                tool_call_id=call.id,
                tool_call=wired,
                llm_response_id=reply,
            )
            self.actions[call.id] = event
            events.append(event)
        return tuple(events)

    def _observed(self, id: str, words: list[TextContent]) -> ObservationEvent:
        action = self.actions.get(id)
        return ObservationEvent(
            observation=Seen(content=list(words)),
            action_id=action.id if action else "unknown",
            tool_name=action.tool_name if action else "unknown",
            tool_call_id=id,
        )

    def give(self, message: Events | Message) -> Iterable[Wire]:
        """The Chat dialect's."""
        if isinstance(message, Message):
            return [given(message)]
        return [given(one) for one in LLMConvertibleEvent.events_to_messages(list(message))]

    def show(self, fresh: list[Events]) -> Iterable[Message]:
        """The view's messages; after a condensation the agent's step begins anew."""
        for event in (event for events in fresh for event in events):
            self.view.append_event(event)
        while isinstance(done := self.condenser.condense(self.view, agent_llm=self.llm), Condensation):
            self.view.append_event(done)
        return LLMConvertibleEvent.events_to_messages(self.view.events)


POLICIES = {"LLMSummarizingCondenser": Condense}

if __name__ == "__main__":
    serve(POLICIES)
