"""What a prompt cache gives: one tool loop with fanfold, and one with a sliding cut at every call, in one run.

    python bench/caching.py [--steps 200] [--window 16000]

The scripted provider bills both, by each provider's way of caching: OpenAI's and Gemini's automatic prefixes,
Anthropic's marks. The cut drops the oldest steps as soon as a prompt does not fit, keeps the task, counts exactly
as the provider does, and marks the end of the prompt for Anthropic. The last columns are ratios of the run.
"""

from __future__ import annotations

import argparse
import json
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import fanfold
from fanfold import Message, Result, Text, TokenUsage, models
from fanfold.core.message import user
from fanfold.dialects.dialect import Reply, encode
from fanfold.dialects.registry import dialect_named
from fanfold.testing.provider import Provider, Received, Turn
from fanfold.testing.provider.paths import APIS
from fanfold.testing.provider.tokens import counting
from fanfold.tokens.usage import cost, usage_of

SYSTEM = "You find bugs, and you say where they are. Never touch the vendor folder. " * 60
TASK = "The nightly build fails. Find out why."
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
FUNCTION = {"name": "read", "description": "Reads a file.", "parameters": SCHEMA}
REPLY = 1_500


@dataclass(frozen=True)
class Wire:
    """How one dialect is spoken here."""

    dialect: str
    api: str
    model: str
    path: str
    tool: dict[str, Any]
    params: dict[str, Any]
    limit: dict[str, Any]
    """The reply's limit, where a session does not set it."""
    mark: dict[str, Any]
    """What the sliding cut says about caching."""


WIRES = (
    Wire(
        "openai.chat",
        "chat",
        "gpt-5.2",
        "/v1/chat/completions",
        {"type": "function", "function": FUNCTION},
        {},
        {"max_completion_tokens": REPLY},
        {"prompt_cache_key": "cut"},
    ),
    Wire(
        "openai.responses",
        "responses",
        "gpt-5.2",
        "/v1/responses",
        {"type": "function", **FUNCTION},
        {"store": False, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"}},
        {"max_output_tokens": REPLY},
        {"prompt_cache_key": "cut"},
    ),
    Wire(
        "anthropic",
        "anthropic",
        "claude-opus-4-5",
        "/v1/messages",
        {"name": "read", "description": "Reads a file.", "input_schema": SCHEMA},
        {"thinking": {"type": "enabled", "budget_tokens": 1_024}},
        {"max_tokens": REPLY},
        {"cache_control": {"type": "ephemeral"}},
    ),
    Wire(
        "gemini",
        "gemini",
        "gemini-3-pro-preview",
        "/v1beta/models/gemini-3-pro-preview:generateContent",
        {
            "functionDeclarations": [
                {"name": "read", "description": "Reads a file.", "parametersJsonSchema": SCHEMA}
            ]
        },
        {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
        {},
        {},
    ),
)


def script(steps: int) -> Callable[[Received], Turn]:
    """Thinking, some words, one to three calls at once; at last an answer."""

    def turn(request: Received) -> Turn:
        step = request.number
        if step >= steps:
            return Turn("Found it.", thinking="So there.")
        calls = [("read", {"path": f"src/module_{step}_{nth}.py"}) for nth in range(1 + step % 3)]
        return Turn("I look further. " * (step % 4), calls, "First I look around, then I decide. " * 3)

    return turn


def output(path: str, step: int) -> str:
    """What a file holds: between some 50 and 500 tokens."""
    return "\n".join(
        f"{path}:{line}: value_{line} = parse(token, {step})" for line in range(5 + step * 7 % 35)
    )


def asked(provider: Provider, wire: Wire, request: dict[str, Any]) -> Any:
    """The provider's answer to a request."""
    body = {key: value for key, value in request.items() if wire.api != "gemini" or key != "model"}
    http = urllib.request.Request(
        provider.url + wire.path, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(http) as answer:
        return json.load(answer)


def with_fanfold(provider: Provider, wire: Wire, window: int) -> int:
    """The loop through a session; gives back how often it edited."""
    edits = 0

    def counted(_: object) -> None:
        nonlocal edits
        edits += 1

    hooks = fanfold.Hooks(after_edit=counted)
    told: dict[str, Any] = {"model": wire.model, "dialect": wire.dialect, "window": window, "hooks": hooks}
    with fanfold.open("caching", **told, system=SYSTEM, tools=[wire.tool]) as chat:
        chat.say(TASK)
        for step in range(len(provider.requests), 1_000_000):
            reply = chat.receive(asked(provider, wire, chat.request(max_tokens=REPLY, **wire.params)))
            if reply.done:
                break
            for call in reply.calls:
                chat.answer(call, output(call.args["path"], step))
    return edits


def with_a_cut(provider: Provider, wire: Wire, window: int) -> int:
    """The loop with the oldest steps dropped as soon as they do not fit; gives back how often some were."""
    dialect = dialect_named(wire.dialect, wire.model)
    frame = dialect.frame((SYSTEM,), (wire.tool,))
    steps: list[list[Message]] = []
    first = cuts = 0

    def request() -> dict[str, Any]:
        messages = [user(TASK), *(message for step in steps[first:] for message in step)]
        params = {"model": wire.model, **wire.params, **wire.limit, **wire.mark}
        return encode(dialect, frame, messages, params)

    while True:
        body, before = request(), first
        while _tokens(wire, body) > window - REPLY:
            first += 1
            body = request()
        cuts += first > before
        reply = dialect.reply(asked(provider, wire, body))
        if reply.done:
            return cuts
        steps.append([*reply.messages, *_answers(reply, len(steps))])


def _answers(reply: Reply, step: int) -> Iterator[Message]:
    for call in reply.calls:
        found = (Text(output(call.args["path"], step)),)
        yield Message("tool", (Result(call.id, found, name=call.name),))


def _tokens(wire: Wire, body: dict[str, Any]) -> int:
    return sum(block.tokens for block in APIS[wire.api].blocks(body, counting(wire.model)))


@dataclass(frozen=True)
class Figures:
    """What one loop cost."""

    edits: int
    prompt: int
    cached: int
    dollars: float

    @property
    def share(self) -> float:
        """The part of all prompts that came from the cache."""
        return self.cached / self.prompt


def measured(wire: Wire, loop: Callable[[Provider, Wire, int], int], steps: int, window: int) -> Figures:
    """One loop to its end, by the provider's own books."""
    with Provider(script(steps), window=window) as provider:
        edits = loop(provider, wire, window)
    if provider.rejected or len(provider.requests) != steps + 1:
        raise SystemExit(f"{wire.dialect}: {[each.reason for each in provider.rejected][:3]}")
    usage = sum((usage_of(each.usage) for each in provider.requests), TokenUsage())
    prompt, cached = (sum(getattr(each, key) for each in provider.requests) for key in ("tokens", "cached"))
    return Figures(edits, prompt, cached, cost(usage, models.find(wire.model)))


def main() -> None:
    """Print one row per dialect."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--window", type=int, default=16_000)
    args = parser.parse_args()
    print(f"a tool loop of {args.steps} steps in a window of {args.window:,} tokens")
    print(f"{'':18} {'fanfold':>28}   {'a sliding cut':>28}   {'fanfold : cut':>16}")
    columns = f"{'edits':>6} {'prompt':>11} {'cached':>9}"
    print(f"{'dialect':18} {columns}   {columns}   {'tokens':>8} {'price':>7}")
    for wire in WIRES:
        ours, cut = (measured(wire, loop, args.steps, args.window) for loop in (with_fanfold, with_a_cut))
        rows = (f"{each.edits:>6} {each.prompt:>11,} {each.share:>9.1%}" for each in (ours, cut))
        ratios = f"{ours.prompt / cut.prompt:>8.2f} {ours.dollars / cut.dollars:>7.2f}"
        print(f"{wire.dialect:18} {'   '.join(rows)}   {ratios}", flush=True)


if __name__ == "__main__":
    main()
