"""A check for those who bring fanfold into a framework: an agent of that framework is run against a scripted provider.

The provider judges every request by its own rules, counts it, and bills what its prompt cache held. So the check sees
what really goes over the wire, whatever the framework does with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

from fanfold.core.edit import READ, RECALL
from fanfold.session.pool import Pool
from fanfold.testing.checking import sure
from fanfold.testing.provider import Provider, Received, Turn

LOOK = "look"
_REF = re.compile(r"ref=([a-z]\d+)")
_ID = re.compile(r"\b(?:call|toolu|fc|msg|rs|resp)_[0-9A-Za-z]{8,}")
_WORDS = ("parse", "error", "cache", "branch", "window", "value", "queue", "token", "stack", "module")
_FINAL = "All pages are read."
_TASK = "Read every page, one after the other."
_WRONG = {"ref_id": 5, "self": 1, "ctx": 1, "name": [1], "kwargs": {}}
"""Arguments that a recall tool does not have, with names that the code around it may use itself."""


class Trial(NamedTuple):
    """What an agent is to be made of."""

    openai_base_url: str
    anthropic_base_url: str
    gemini_base_url: str
    store: str | None
    """The store for fanfold; None for an agent without fanfold, which is compared with the others."""
    window: int
    """The window for fanfold."""
    tools: Mapping[str, Callable[..., str]]
    """The agent's tools: `look(number: int) -> str`."""


class TriedAgent(Protocol):
    """An agent of a framework."""

    def run(self, thread: str, text: str, mode: str) -> str:
        """Say something in a thread, and return what the agent says at the end."""

    def history(self, thread: str) -> str:
        """All that the framework itself keeps of a thread, as one text: what was said, and every output."""

    def close(self) -> None:
        """Close fanfold's sessions, so that the check can open them."""


Make = Callable[[Trial], TriedAgent]


class Ran(NamedTuple):
    """What came of a run."""

    agent: TriedAgent
    provider: Provider
    said: list[str]
    asked: list[str]
    """The references that the scripted model looked up."""
    shown: list[str]
    """The texts of all requests."""

    @property
    def cached(self) -> float:
        """The share of all prompts that was read from the cache."""
        taken = [request for request in self.provider.requests if request.verdict == "accepted"]
        return sum(request.cached for request in taken) / sum(request.tokens for request in taken)


def look(number: int) -> str:
    """Look at a page."""
    words = (_WORDS[(number * 7 + at * at) % len(_WORDS)] for at in range(260))
    return f"page-{number:03d} begins\n" + "\n".join(
        " ".join(line) for line in zip(*[words] * 10, strict=True)
    )


def check_integration(
    make: Make,
    *,
    modes: tuple[str, ...] = ("run",),
    steps: int = 120,
    window: int = 16_000,
    every_request: bool = True,
) -> None:
    """Run agents of a framework with fanfold in it, and see that the promises are kept.

    `every_request=False` is for a framework that asks fanfold only where a request grows too long: what was sent and
    billed meanwhile, fanfold does not know.
    """
    for mode in modes:
        _check_short(make, mode)
    _check_wrong_arguments(make, modes[0])
    _check_long(make, modes[0], steps, window, every_request=every_request)
    _check_too_long(make, modes[-1], window)
    if every_request:
        _check_threads(make, modes[0])


def _check_short(make: Make, mode: str) -> None:
    """Where all fits, the provider gets what it gets without fanfold, but for the recall tools."""
    bodies = []
    for fold in (True, False):
        with _trial(6, 100_000, fold=fold) as (provider, trial, asked):
            ran = _run(make(trial), provider, asked, mode)
            _check_sound(ran, mode)
            bodies.append([_without_tools(request) for request in provider.requests])
    sure(bodies[0] == bodies[1], f"{mode}: where all fits, another request is sent than without fanfold.")


def _check_wrong_arguments(make: Make, mode: str) -> None:
    """A model that calls a recall tool with wrong arguments is answered, and the run goes on."""
    with _trial(3, 100_000, wrong=True) as (provider, trial, asked):
        ran = _run(make(trial), provider, asked, mode)
        sure(len(asked) == 1, "No recall tool was offered with the first request.")
        _check_sound(ran, "wrong arguments for a recall tool")


def _check_long(make: Make, mode: str, steps: int, window: int, *, every_request: bool) -> None:
    with _trial(steps, window) as (provider, trial, asked):
        ran = _run(make(trial), provider, asked, mode)
        _check_sound(ran, f"{steps} steps")
        sure(
            len(provider.requests) > steps, f"The run ended after {len(provider.requests)} of {steps} steps."
        )
        largest = max(request.tokens for request in provider.requests)
        sure(largest <= window, f"A request of {largest:,} tokens was sent into a window of {window:,}.")
        sure(len(asked) == 1, f"The recall tool was called {len(asked)} times; once was meant.")
        _check_history(ran.agent.history("t1"), steps)
        sure(_looked_up(ran), "The answer of the recall tool did not reach the model.")
        share = ran.cached
        sure(share >= 0.8, f"Only {share:.0%} of the prompts were read from the cache.")
        _check_recorded(trial, ran, every_request)


def _check_history(text: str, steps: int) -> None:
    """The framework's own history has all that was said and every output: whole, once, and in order."""
    pages = [look(page) for step in range(steps) for page in _pages(step)]
    told = [text for step in range(steps) for text in (f"Step {step}.", *map(look, _pages(step)))]
    text, end = _escaped(text), 0
    for said in [_TASK, *told, _FINAL]:
        named, whole = repr(said[:40]), _escaped(said)
        at = text.find(whole, end)
        sure(whole in text, f"The framework's own history lacks {named}, or has only a part of it.")
        sure(at >= 0, f"In the framework's own history, {named} is not in its place.")
        # What was said may stand in the answer of a recall tool, too; there, outputs have numbered lines.
        times = text.count(whole) if said in pages else 1
        sure(times == 1, f"The framework's own history has {named} {times} times.")
        end = at + len(whole)


def _check_too_long(make: Make, mode: str, window: int) -> None:
    """A provider whose window is smaller than fanfold believes: it says so, and less is sent."""
    with _trial(40, window, narrow=window // 2) as (provider, trial, asked):
        ran = _run(make(trial), provider, asked, mode)
        sure(ran.said == [_FINAL], f"After a request that was too long, the agent said {ran.said}.")
        refused = [request.reason for request in provider.rejected]
        sure(bool(refused), "No request was too long for the provider: the check proves nothing.")
        sure(len(refused) <= 6, f"{len(refused)} requests were too long: nothing was learned from the first.")


def _check_threads(make: Make, mode: str) -> None:
    """A session for each thread, and the same one when it goes on."""
    with _trial(4, 100_000) as (provider, trial, asked):
        agent = make(trial)
        names = []
        for thread in ("t1", "t2", "t1"):
            _run(agent, provider, asked, mode, thread)
            names.append(_sessions(trial))
        sure(
            [len(each) for each in names] == [1, 2, 2],
            f"Sessions of two threads, t1, t2 and t1 again: {names}.",
        )
        sure(
            any("t1" in name for name in names[0]), f"The session's name {names[0]} does not name its thread."
        )


@contextmanager
def _trial(
    steps: int, window: int, *, fold: bool = True, narrow: int | None = None, wrong: bool = False
) -> Iterator[tuple[Provider, Trial, list[str]]]:
    asked: list[str] = []
    with (
        TemporaryDirectory() as folder,
        Provider(_script(steps, asked, wrong=wrong), window=narrow or window) as provider,
    ):
        yield (
            provider,
            Trial(
                openai_base_url=provider.openai_base_url,
                anthropic_base_url=provider.anthropic_base_url,
                gemini_base_url=provider.gemini_base_url,
                store=f"sqlite:{Path(folder) / 'trial.db'}" if fold else None,
                window=window,
                tools={LOOK: look},
            ),
            asked,
        )


def _script(steps: int, asked: list[str], *, wrong: bool = False) -> Callable[[Received], Turn]:
    """Look at a page in each step, now and then at two; look one thing up again, once; end each run.

    With `wrong`, what is looked up is asked for at the beginning, with arguments that make no sense.
    """
    number = [0]

    def script(request: Received) -> Turn:
        text = json.dumps(request.body)
        refs = _REF.findall(text)
        if wrong and not asked and READ in text:
            asked.append("")
            return Turn(calls=[(READ, _WRONG)])
        if refs and not asked and number[0] > steps // 2 and READ in text:
            asked.append(refs[0])
            return Turn(calls=[(READ, {"ref_id": refs[0]})])
        at = number[0] % (steps + 1)
        number[0] += 1
        if at == steps:
            return Turn(_FINAL)
        return Turn(f"Step {at}.", calls=[(LOOK, {"number": page}) for page in _pages(at)])

    return script


def _pages(step: int) -> list[int]:
    """The pages that are looked at in a step."""
    return [step, 500 + step] if step % 10 == 4 else [step]


def _run(agent: TriedAgent, provider: Provider, asked: list[str], mode: str, thread: str = "t1") -> Ran:
    said = [agent.run(thread, _TASK, mode)]
    shown = [json.dumps(request.body) for request in provider.requests]
    return Ran(agent=agent, provider=provider, said=said, asked=asked, shown=shown)


def _check_sound(ran: Ran, where: str) -> None:
    wrong = [f"{request.rule or 'too long'}: {request.reason}" for request in ran.provider.rejected]
    sure(not wrong, f"{where}: the provider refused requests: {wrong[:2]}.")
    sure(ran.said == [_FINAL], f"{where}: the agent said {ran.said} at the end.")


def _check_recorded(trial: Trial, ran: Ran, every_request: bool) -> None:
    """Everything is recorded once: every request, its bill, and what was said."""
    assert trial.store is not None
    ran.agent.close()
    taken = [request for request in ran.provider.requests if request.verdict == "accepted"]
    with Pool(trial.store) as pool:
        names = [summary.name for summary in pool.summaries() if summary.requests]
        sure(len(names) == 1, f"One thread has {len(names)} sessions: {names[:4]}.")
        with pool.session(names[0]) as chat:
            sure(not chat.branches, "The session has branches, though nobody went back.")
            if not every_request:
                return
            counted, billed = chat.sent(0)[0].tokens, taken[0].tokens
            sure(
                counted > billed * 0.6,
                f"fanfold counted {counted:,} tokens in the first request, the provider {billed:,}: system prompt and "
                "tools have to be in it.",
            )
            figures = chat.stats()
            sure(
                figures["requests"] == len(taken),
                f"{figures['requests']} requests recorded, {len(taken)} sent.",
            )
            billed, tokens = figures["billed_tokens"], sum(request.tokens for request in taken)
            sure(billed == tokens, f"{billed:,} tokens billed in the record, {tokens:,} by the provider.")


def _sessions(trial: Trial) -> list[str]:
    assert trial.store is not None
    with Pool(trial.store) as pool:
        return sorted(summary.name for summary in pool.summaries() if summary.requests)


def _without_tools(request: Received) -> str:
    """A request without the recall tools, and with other ids: those that a run gets depend on its requests."""
    kept = _own_tools(request.body.get("tools") or ())
    text = json.dumps({**request.body, "tools": kept}, sort_keys=True)
    for number, id in enumerate(dict.fromkeys(_ID.findall(text))):
        text = text.replace(id, f"id-{number}")
    return text


def _own_tools(tools: Iterable[Any]) -> list[Any]:
    """The tools that are no recall tools; Gemini has all functions in one tool."""
    told = [
        {**tool, "functionDeclarations": _own_tools(tool["functionDeclarations"])}
        if "functionDeclarations" in tool
        else tool
        for tool in tools
    ]
    return [tool for tool in told if not any(name in json.dumps(tool) for name in RECALL)]


def _escaped(text: str) -> str:
    """A text in which a line's end may be written as JSON or Python would, or as it is."""
    return text.replace("\n", "\\n")


def _looked_up(ran: Ran) -> bool:
    """Whether the model read a page with numbers before its lines, as only the recall tool answers."""
    return any(re.search(r"\\tpage-\d{3} begins", text) for text in ran.shown)
