"""Strands Agents: `SlidingWindowConversationManager`, and the `ContextManager` that truncates and summarizes."""

# /// script
# dependencies = ["strands-agents==1.62.0"]
# ///

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, MessageAddedEvent
from strands.models.model import Model
from strands.types.exceptions import ContextWindowOverflowException

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import tokens
from bench.peers.shell import Limits, Wire, serve, stub

TRIES = 3
"""How often Strands tries again after a request that was too long."""


class Stub(Model):
    """A model that counts exactly and writes the same summary every time."""

    def __init__(self, window: int) -> None:
        self._config = {"context_window_limit": window}

    def get_config(self) -> Any:
        """Its window."""
        return self._config

    def update_config(self, **changes: Any) -> None:
        """Another window."""
        self._config.update(changes)

    async def count_tokens(self, messages: Any, *_: Any, **__: Any) -> int:
        """Exactly."""
        return tokens(form for message in messages for form in given(message))

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """The summary, in the pieces that Strands expects."""
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": stub.ask(await self.count_tokens(messages))}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Nobody asks for it here."""
        raise NotImplementedError
        yield {}


def taken(body: Wire) -> Wire:
    """A message of the Chat dialect as Strands' own, which is Bedrock's."""
    text = [{"text": body["content"]}] if body.get("content") else []
    match body["role"]:
        case "assistant":
            return {"role": "assistant", "content": text + [_use(call) for call in calls(body)]}
        case "tool":
            result = {"toolUseId": body["tool_call_id"], "status": "success", "content": text}
            return {"role": "user", "content": [{"toolResult": result}]}
        case role:
            return {"role": role, "content": text}


def _use(call: Asked) -> Wire:
    return {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.args}}


def given(message: Wire) -> Iterable[Wire]:
    """The way back: a message with several results is several messages."""
    text = "\n".join(block["text"] for block in message["content"] if "text" in block)
    uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
    for block in message["content"]:
        if "toolResult" in block:
            result = block["toolResult"]
            yield answered(result["toolUseId"], "\n".join(item.get("text", "") for item in result["content"]))
    if uses or text:
        made = [Asked(use["toolUseId"], use["name"], use["input"]) for use in uses]
        yield spoken(message["role"], text, made)


def is_result(message: Wire) -> bool:
    """Whether a message answers calls."""
    return any("toolResult" in block for block in message["content"])


class Stateful:
    """An agent of Strands' whose history is told to it, and whose hooks are run as its loop does."""

    def __init__(self, limits: Limits, **options: Any) -> None:
        self.limits = limits
        self.agent = Agent(model=Stub(limits.window), callback_handler=None, **options)
        self.system: list[Wire] = []

    def take(self, body: Wire) -> Wire:
        """Strands' form."""
        return taken(body)

    def give(self, message: Wire) -> Iterable[Wire]:
        """The Chat dialect's."""
        return given(message)

    def show(self, fresh: list[Wire]) -> Iterable[Wire]:
        """The history after the hooks before the call, and after those for a request that was too long."""
        return asyncio.run(self._show(fresh))

    async def _show(self, fresh: list[Wire]) -> list[Wire]:
        self.system += [message for message in fresh if message["role"] == "system"]
        for message in joined(message for message in fresh if message["role"] != "system"):
            await self._add(message)
        event = BeforeModelCallEvent(agent=self.agent, projected_input_tokens=await self._tokens())
        await self.agent.hooks.invoke_callbacks_async(event)
        await self._recover()
        return [*self.system, *self.agent.messages]

    async def _add(self, message: Wire) -> None:
        self.agent.messages.append(message)  # type: ignore[arg-type]
        added = MessageAddedEvent(agent=self.agent, message=message)  # type: ignore[arg-type]
        await self.agent.hooks.invoke_callbacks_async(added)

    async def _tokens(self) -> int:
        return await self.agent.model.count_tokens([*self.system, *self.agent.messages])  # type: ignore[list-item]

    async def _recover(self) -> None:
        raise NotImplementedError


def joined(messages: Iterable[Wire]) -> list[Wire]:
    """The results of one turn in one message, as Strands keeps them."""
    found: list[Wire] = []
    for message in messages:
        if found and is_result(message) and is_result(found[-1]):
            found[-1] = {"role": "user", "content": found[-1]["content"] + message["content"]}
        else:
            found.append(message)
    return found


class Sliding(Stateful):
    """`SlidingWindowConversationManager`: 40 messages at a turn's end, two fewer over the trigger, less if refused."""

    def __init__(self, limits: Limits) -> None:
        threshold = {"compression_threshold": limits.trigger / limits.window}
        self.sliding = SlidingWindowConversationManager(proactive_compression=threshold)  # type: ignore[arg-type]
        super().__init__(limits, conversation_manager=self.sliding)

    async def _add(self, message: Wire) -> None:
        if message["role"] == "user" and not is_result(message):
            self.sliding.apply_management(self.agent)
        await super()._add(message)

    async def _recover(self) -> None:
        refused = ContextWindowOverflowException("too long")
        while await self._tokens() > self.limits.window:
            self.sliding.reduce_context(self.agent, refused)


class Managed(Stateful):
    """`ContextManager` as `context_manager="auto"` sets it up: large results truncated, a summary at 0.85."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits, context_manager="auto")

    def mention(self, body: Wire) -> str | None:
        """What was truncated can be fetched from the stash."""
        return f"{body['tool_call_id']}_0" if body["role"] == "tool" else None

    async def _recover(self) -> None:
        for _ in range(TRIES):
            if await self._tokens() <= self.limits.window:
                return
            refused = ContextWindowOverflowException("too long")
            event = AfterModelCallEvent(agent=self.agent, exception=refused)
            await self.agent.hooks.invoke_callbacks_async(event)
            if not event.retry:
                return


POLICIES = {"SlidingWindow": Sliding, "ContextManager": Managed}

if __name__ == "__main__":
    serve(POLICIES)
