"""A tool loop through a session: what the scripted model says, what the tools give back, and what came of it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import fanfold
from fanfold import AsyncSession, Message, Session
from fanfold.core.record import Edited
from fanfold.dialects.dialect import Reply
from fanfold.testing.provider import Provider, Received, Turn

from .sdks import NAMES, WAYS, Sdk, Way, aask, ask

SYSTEM = "You find bugs, and you say where they are. " * 30
TASK = "Where is the bug? Never touch the vendor folder. " * 3
RECALL = 250
"""Tokens that the recall tools take at most: they are in every prompt."""
ROOM = 4_000 + RECALL
"""Tokens that a prompt may have in these loops: a fiftieth of what it may have in earnest, beside the recall tools."""
CACHE_MINIMUM = 256
"""The shortest prompt that the provider remembers; smaller than in earnest because the windows are."""

Script = Callable[[Received], Turn]


def always(step: int) -> bool:
    """Thinking before every step."""
    return True


def script(steps: int, thinks: Callable[[int], bool] = always) -> Script:
    """Words often, one to three calls at once, thinking where it is said; at last an answer."""

    def turn(request: Received) -> Turn:
        step = request.number
        if step >= steps:
            return Turn("Found it.", thinking="So there.")
        calls = [(NAMES[(step + k) % 2], {"path": f"src/m{step}_{k}.py"}) for k in range(1 + step % 3)]
        thinking = "First I look around. " * 2 if thinks(step) else ""
        return Turn("Let me look. " * (step % 3), calls=calls, thinking=thinking)

    return turn


def output(path: str, step: int) -> str:
    """What a tool finds: some lines, never the same."""
    return "\n".join(f"{path}:{line}: value = parse(token)" for line in range(step, step + 2 + step % 5))


@dataclass
class Run:
    """A loop that ran: the provider's side of it, the session, and what was recorded in which order."""

    provider: Provider
    chat: Session | AsyncSession
    said: list[Message] = field(default_factory=list)
    edited: list[bool] = field(default_factory=list)
    """For every request, whether anything was edited since the one before."""
    read: int = 0
    """The records of the log that were looked at."""

    @property
    def requests(self) -> Sequence[Received]:
        """The requests that were answered."""
        return [request for request in self.provider.requests if request.verdict == "accepted"]

    @property
    def step(self) -> int:
        """How many replies came."""
        return len(self.edited)

    def heard(self, reply: Reply) -> None:
        """Note a reply, and whether something was edited for its request."""
        records = self.chat._state.log.records
        self.edited.append(any(isinstance(record, Edited) for record in records[self.read :]))
        self.read = len(records)
        self.said += reply.messages

    @property
    def cached(self) -> float:
        """The share of all prompts that was read from the provider's cache."""
        return sum(each.cached for each in self.requests) / sum(each.tokens for each in self.requests)


def opening(kind: type[Sdk], **more: Any) -> dict[str, Any]:
    """How a session for this SDK is opened: in a window that is much too small."""
    told = {"model": kind.model, "dialect": kind.dialect, "window": ROOM + kind.reply}
    return {**told, "tools": kind.tools, "system": SYSTEM, **more}


def provided(kind: type[Sdk], script: Any, **more: Any) -> Provider:
    """A provider with the same window."""
    return Provider(script, window=ROOM + kind.reply, cache_minimum=CACHE_MINIMUM, **more)


def run(kind: type[Sdk], way: Way, script: Script, speaks: Callable[[int], bool] = lambda step: False) -> Run:
    """A whole loop; a person speaks beside it where it is said."""
    with provided(kind, script) as provider:
        sdk, told = kind(provider), opening(kind)
        if way.awaited:
            return asyncio.run(_awaited(sdk, Run(provider, fanfold.aopen("run", **told)), way, speaks))
        return _called(sdk, Run(provider, fanfold.open("run", **told)), way, speaks)


@cache
def whole_loop(kind: type[Sdk], steps: int) -> Run:
    """A loop that only calls, whose replies come whole: more than one test looks at what came of it."""
    return run(kind, WAYS[0], script(steps))


def _called(sdk: Sdk, run: Run, way: Way, speaks: Callable[[int], bool]) -> Run:
    chat: Any = run.chat
    run.said.append(chat.say(TASK).message)
    while True:
        reply = ask(sdk, chat, way.stream)
        run.heard(reply)
        if reply.done:
            return run
        for call in reply.calls:
            run.said.append(chat.answer(call, output(call.args["path"], run.step)).message)
        if speaks(run.step):
            run.said.append(chat.say("Go on, please.").message)


async def _awaited(sdk: Sdk, run: Run, way: Way, speaks: Callable[[int], bool]) -> Run:
    chat: Any = run.chat
    run.said.append((await chat.say(TASK)).message)
    while True:
        reply = await aask(sdk, chat, way.stream)
        run.heard(reply)
        if reply.done:
            await sdk.close()
            return run
        for call in reply.calls:
            run.said.append((await chat.answer(call, output(call.args["path"], run.step))).message)
        if speaks(run.step):
            run.said.append((await chat.say("Go on, please.")).message)
