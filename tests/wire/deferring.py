"""An agent whose tools wait: it finds one, calls it, and goes on, against the scripted provider."""

from __future__ import annotations

import random
from typing import Any

import fanfold
from deferral.everyday import Known, define, tools
from fanfold.testing.provider import Provider, Received, Turn

from .sdks import Anthropic, Chat, Gemini, Sdk, Unconverted, ask


class Responses(Unconverted):
    """Nearly a hundred tools are in every request."""


class NewResponses(Responses):
    """A model that searches for tools itself."""

    model = "gpt-5.5"


class OldAnthropic(Anthropic):
    """A model that loads nothing later."""

    model = "claude-haiku-4-5"


KINDS = (Chat, Responses, NewResponses, Anthropic, OldAnthropic, Gemini)


class Agent:
    """A session with tools that wait, and a script that finds and calls some of them."""

    def __init__(
        self, kind: type[Sdk], count: int, *, seed: int = 0, by_name: bool = False, **more: Any
    ) -> None:
        self.kind, self.known = kind, tools(count)
        self.wanted = random.Random(seed).sample(self.known, min(6, count))
        self.by_name = by_name
        self.native = kind in (NewResponses, Anthropic)
        told = {"model": kind.model, "dialect": kind.dialect, "window": 60_000, "system": "You help. " * 40}
        self.told = {
            **told,
            "tools": [define(one, kind.dialect) for one in self.known],
            "defer": True,
            **more,
        }
        self.bodies: list[dict[str, Any]] = []

    def script(self, request: Received) -> Turn:
        """Each tool is found by name or by a paraphrase, called twice, and at last all is done."""
        at, phase = divmod(request.number, 3)
        if at >= len(self.wanted):
            return Turn("Done.")
        one = self.wanted[at]
        if phase == 0:
            asked = {"name": one.name} if at % 2 or self.by_name else {"query": one.asked}
            return Turn("I look for a tool. ", calls=[(self.finder, asked)])
        return Turn("I call it. ", calls=[(one.name, one.arguments())])

    @property
    def finder(self) -> str:
        return "tool_search" if self.kind is NewResponses else "find_tool"

    def run(self, output: str = "It worked. " * 20) -> Provider:
        with Provider(self.script, window=200_000, cache_minimum=256) as provider:
            sdk = self.kind(provider)
            with fanfold.open("run", **self.told) as chat:
                chat.say("Do what is to be done.")
                while True:
                    reply = ask(sdk, chat, stream=len(provider.requests) % 2 == 1)
                    for call in reply.calls:
                        chat.answer(call, output)
                    if reply.done:
                        break
        return provider


def names_of(body: dict[str, Any]) -> list[str]:
    """The tools of a request that the model can call without loading them."""
    found = []
    for tool in body.get("tools") or body.get("config", {}).get("tools") or ():
        many = tool.get("functionDeclarations") or tool.get("function_declarations")
        for one in many or [tool.get("function", tool)]:
            if not one.get("defer_loading"):
                found.append(one.get("name", one.get("type")))
    return found


__all__ = ["KINDS", "Agent", "Known", "names_of"]
