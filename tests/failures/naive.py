"""Context managers as they are found in the wild. Each failure is shown with one of them before fanfold is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import openai

from fanfold.testing import called, replied, returned, said
from fanfold.testing.provider import Provider

Body = dict[str, Any]
Summarise = Callable[[list[Body]], str]


def tokens(messages: list[Body]) -> int:
    """Characters over four, as most do."""
    return sum(len(str(message.get("content") or "")) // 4 for message in messages)


def compacted(messages: list[Body], summarise: Summarise, keep: int = 4) -> list[Body]:
    """System prompt, a summary, the last messages: whatever they are, and whatever it costs."""
    system = [message for message in messages[:1] if message["role"] == "system"]
    return [*system, said(summarise(messages[len(system) : -keep])), *messages[-keep:]]


def loop(steps: int, words: int = 40, first: str = "Find the bug. Never push.") -> list[Body]:
    """One request and a long tool loop: the normal shape of an agent's work."""
    bodies = [said(first)]
    for number in range(steps):
        bodies.append(replied(f"Step {number}.", called(f"c{number}", "read", path=f"src/f{number}.py")))
        bodies.append(returned(f"c{number}", f"file {number}: " + "value token queue " * (words // 3)))
    return bodies


def chatter(turns: int, words: int = 40) -> list[Body]:
    """A conversation without tools."""
    return [
        body
        for number in range(turns)
        for body in (said(f"Question {number}. " + "So it is. " * (words // 3)), replied(f"Answer {number}."))
    ]


def verdict(messages: list[Body], **more: Any) -> str | None:
    """What Chat Completions says to a request of these messages: the broken rule, or None."""
    rejection = Provider().check("chat", {"model": "gpt-5.2", "messages": messages, **more})
    return rejection.rule if rejection else None


def connected(provider: Provider) -> Any:
    """OpenAI's own client; on loopback there is nothing to verify."""
    plain = openai.DefaultHttpxClient(verify=False)
    told = {"base_url": provider.openai_base_url, "api_key": "any", "max_retries": 0}
    return openai.OpenAI(**told, http_client=plain).chat.completions  # type: ignore[arg-type]
