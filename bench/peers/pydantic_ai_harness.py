"""The harness of Pydantic AI: `SlidingWindowCompaction` and `ClearToolResults`."""

# /// script
# dependencies = ["pydantic-ai-slim==2.62.0", "pydantic-ai-harness==0.62.0"]
# ///

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import ClearToolResults, SlidingWindowCompaction

from bench.peers.chat import Asked, answered, calls, spoken
from bench.peers.counting import text_tokens
from bench.peers.shell import Limits, Wire, serve


class Capable:
    """A capability before each request; it rewrites the run's messages."""

    def __init__(self, capability: Any) -> None:
        self.capability = capability
        self.model = TestModel()
        self.run: RunContext[None] = RunContext(deps=None, model=self.model, usage=RunUsage())
        self.names: dict[str, str] = {}

    def take(self, body: Wire) -> ModelMessage:
        """The harness' form, still one message each."""
        text = body.get("content") or ""
        match body["role"]:
            case "assistant":
                made = list(calls(body))
                self.names.update({call.id: call.name for call in made})
                parts = [ToolCallPart(call.name, call.args, call.id) for call in made]
                return ModelResponse([*([TextPart(text)] if text else []), *parts])
            case "tool":
                id = body["tool_call_id"]
                return ModelRequest([ToolReturnPart(self.names.get(id, "unknown"), text, id)])
            case "system":
                return ModelRequest([SystemPromptPart(text)])
            case _:
                return ModelRequest([UserPromptPart(text)])

    def give(self, message: ModelMessage) -> Iterable[Wire]:
        """The Chat dialect's: a request of several parts is several messages."""
        if isinstance(message, ModelRequest):
            for part in message.parts:
                yield _given(part)
            return
        text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
        made = [part for part in message.parts if isinstance(part, ToolCallPart)]
        yield spoken(
            "assistant",
            text,
            [Asked(part.tool_call_id, part.tool_name, part.args_as_dict()) for part in made],
        )

    def show(self, fresh: list[ModelMessage]) -> Iterable[ModelMessage]:
        """The messages of the request after the capability."""
        self.run.messages += joined(fresh)
        request = ModelRequestContext(
            model=self.model,
            messages=list(self.run.messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        return asyncio.run(self.capability.before_model_request(self.run, request)).messages


def _given(part: Any) -> Wire:
    match part:
        case ToolReturnPart():
            return answered(part.tool_call_id, str(part.content))
        case SystemPromptPart():
            return spoken("system", part.content)
        case _:
            return spoken("user", str(part.content))


def joined(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """All that is said between two replies in one request, as Pydantic AI keeps it."""
    found: list[ModelMessage] = []
    for requests, group in groupby(messages, lambda message: isinstance(message, ModelRequest)):
        some = list(group)
        found += [ModelRequest([part for one in some for part in one.parts])] if requests else some
    return found


class Sliding(Capable):
    """Drops the oldest messages; the first user message stays."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(
            SlidingWindowCompaction(
                max_tokens=limits.trigger, keep_tokens=limits.target, tokenizer=text_tokens
            )
        )


class Clear(Capable):
    """Clears results but for the last three."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(ClearToolResults(max_tokens=limits.trigger, tokenizer=text_tokens))


POLICIES = {"SlidingWindow": Sliding, "ClearToolResults": Clear}

if __name__ == "__main__":
    serve(POLICIES)
