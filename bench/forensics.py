"""Why did the cache miss? Recorded conversations, broken in ten ways: is the cause named, are the tokens the bill's?

python -m bench.forensics FOLDER… [--sample 5]

Each conversation is begun in a session, some steps are taken against the scripted provider, one thing is changed, and
one more step is taken. The provider bills by its own cache, so that it tells what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import fanfold
from bench.peers.__main__ import sampled
from fanfold.core.view import Row
from fanfold.replay import Trace
from fanfold.testing.provider import Provider, Turn

SYSTEM = "You find bugs. Today is 2026-11-17. " + "You say where they are. " * 300
TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"{name}s a file.", "parameters": {}}}
    for name in ("read", "write", "search")
]
SAID = "Go on, please. " * 20
MODEL, OTHER = "gpt-5.2", "gpt-5.1"
MOST = 12_000
"""Tokens of a conversation that it is begun with, so that nothing is reduced."""


class Broken:
    """A recorded conversation that goes on against the scripted provider, until something breaks the cache."""

    def __init__(self, trace: Trace) -> None:
        self.now, self.store = 1_000.0, fanfold.Memory()
        self.body = _beginning(trace)
        self.told: dict[str, Any] = {"system": SYSTEM, "tools": TOOLS, "model": MODEL}

    def __enter__(self) -> Broken:
        import openai

        self.provider = Provider(
            lambda request: Turn(f"Step {request.number}. " + "I looked at it. " * 40),
            cache_minimum=256,
            clock=lambda: self.now,
        )
        provider = self.provider.__enter__()
        self.client = openai.OpenAI(base_url=provider.openai_base_url, api_key="none", max_retries=0)
        self.open()
        self.chat.merge(self.body)
        return self

    def __exit__(self, *_: object) -> None:
        self.chat.close()
        self.provider.__exit__(None, None, None)

    def open(self, **changed: Any) -> None:
        """Open the session, as it was told or otherwise."""
        self.told = {**self.told, **changed}
        rest = {"dialect": "openai.chat", "window": 200_000, "recall": False, "volatile": False}
        self.chat = fanfold.open("run", **self.told, **rest, store=self.store, clock=lambda: self.now)

    def reopen(self, **changed: Any) -> None:
        """The client comes back with something else."""
        self.chat.close()
        self.open(**changed)

    def step(self) -> None:
        """A person speaks, and the model answers."""
        self.now += 10
        self.chat.say(SAID)
        request = self.chat.request(max_tokens=200)
        reply = self.client.chat.completions.create(**request)
        self.chat.receive(reply)
        said = [
            {"role": "user", "content": SAID},
            {"role": "assistant", "content": reply.choices[0].message.content},
        ]
        self.body += said


def _beginning(trace: Trace) -> list[Any]:
    """The first messages of a conversation, up to a reply that calls nothing or to an answered call."""
    body, size = [], 0
    for message in trace.request(len(trace.messages))["messages"]:
        if message.get("role") == "system":
            continue
        size += len(str(message)) // 4
        if size > MOST:
            break
        body.append(message)
    while body and body[-1].get("tool_calls"):
        body.pop()
    return body


def change_early(talk: Broken) -> None:
    """The client sends an early message otherwise."""
    sent = [*talk.body]
    first = next(at for at, one in enumerate(sent) if one["role"] == "user")
    sent[first] = {"role": "user", "content": "Changed: " + str(sent[first]["content"])}
    talk.chat.merge(sent)


def _early(talk: Broken) -> Row:
    """An early message without calls."""
    rows = talk.chat.view().rows[1:]
    return next(row for row in rows if row.kind == "entry" and not row.calls and not row.whole.results)


def fold(talk: Broken) -> None:
    """A person folds an early row."""
    talk.chat.fold((_early(talk).id,), "It was looked at.")


def erase(talk: Broken) -> None:
    """A person erases an early message."""
    talk.chat.erase(_early(talk).id, "asked for")


def wait(talk: Broken) -> None:
    """Two days of silence."""
    talk.now += 2 * 86_400


def forget(talk: Broken) -> None:
    """The provider forgets everything."""
    talk.provider._cache = type(talk.provider._cache)(lambda: talk.now)


WAYS: dict[str, tuple[Callable[[Broken], object], str]] = {
    "tools in another order": (lambda talk: talk.reopen(tools=TOOLS[::-1]), "tools"),
    "a tool that vanishes": (lambda talk: talk.reopen(tools=TOOLS[:2]), "tools"),
    "a tool described otherwise": (lambda talk: talk.reopen(tools=[*TOOLS[:2], _otherwise()]), "tools"),
    "a date in the system prompt": (
        lambda talk: talk.reopen(system=SYSTEM.replace("11-17", "11-18")),
        "system",
    ),
    "an early message changed": (change_early, "changed"),
    "an edit": (fold, "edit"),
    "an erasure": (erase, "edit"),
    "silence": (wait, "expired"),
    "another model": (lambda talk: talk.reopen(model=OTHER), "model"),
    "the provider forgets": (forget, "provider"),
}


def _otherwise() -> dict[str, Any]:
    function: Any = TOOLS[2]["function"]
    return {"type": "function", "function": {**function, "description": "Searches for files."}}


def judge(trace: Trace, way: str) -> str:
    """Whether the cause was named and the tokens are those of the bill; else what was said."""
    change, cause = WAYS[way]
    with Broken(trace) as talk:
        for _ in range(3):
            talk.step()
        if talk.chat.cache().broken is not None:
            return f"broken before: {talk.chat.cache().broken}"
        change(talk)
        talk.step()
        use, billed = talk.chat.cache(), talk.provider.requests[-1]
    named = use.broken is not None and use.broken.cause == cause
    if named and (use.prompt, use.read) == (billed.tokens, billed.cached):
        return ""
    return f"{use.broken}; {use.prompt:,} and {use.read:,} tokens, billed {billed.tokens:,} and {billed.cached:,}"


@click.command
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--sample", type=click.IntRange(1), default=5, show_default=True)
def main(folders: tuple[Path, ...], sample: int) -> None:
    """Print of each way in how many conversations it was named, and what was said of the others."""
    traces = [
        trace for folder in folders for trace in sampled(folder, sample) if trace.dialect == "openai.chat"
    ]
    right: Counter[str] = Counter()
    for trace in traces:
        for way in WAYS:
            said = judge(trace, way)
            right[way] += not said
            if said:
                print(f"  {trace.name}: {way}: {said}")
    for way in WAYS:
        print(f"{right[way]:4} of {len(traces)}  {way}")


if __name__ == "__main__":
    main()
