"""One run, the same for every manager: 120 steps of tools in a window of 16,000 tokens, and what came of it.

The model is scripted: it looks at page after page, whatever it is shown. A summariser is scripted, too: it names every
page that stands in what it is to sum up, which is the best that a summary can do for the trail.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from fanfold.testing.provider import Provider, Received, Turn
from fanfold.tokens.models import find
from fanfold.tokens.usage import cost, usage_of

STEPS, WINDOW, MODEL = 120, 16_000, "gpt-4o"
_PAGE = re.compile(r"page-(\d{3})|\\*[\"']number\\*[\"']: ?(\d+)|\blook\b\W{0,3}(?:number\W{0,3})?(\d+)\b")
"""A page by its name, by the arguments of its call, or by the call as a text has it, in whatever notation: `look 7`,
`look(7)`, `look(number=7)`, `look: 7`."""
_TOO_LONG = ("maximum context length", "exceeds the context", "exceeds the maximum number of tokens")
_WORDS = ("parse", "error", "cache", "branch", "window", "value", "queue", "token", "stack", "module")


def look(number: int) -> str:
    """Look at a page."""
    words = " ".join(_WORDS[(number * 7 + at * at) % len(_WORDS)] for at in range(260))
    return f"page-{number:03d} begins\n{words}"


def pages_in(text: str) -> set[int]:
    """The pages that a text names."""
    return {int(next(filter(None, found))) for found in _PAGE.findall(text)}


class Row(NamedTuple):
    """What a manager did."""

    framework: str
    manager: str
    steps: int
    over: int
    """Requests that were refused because they were larger than the window."""
    broken: int
    """Requests that were refused for another reason."""
    whole: bool
    """Whether the framework's own history has every output."""
    trail: float
    """The share of the steps that the last request still names."""
    in_view: int
    """The outputs that stand whole in the last request."""
    prompt: int
    cached: float
    dollars: float


Run = Callable[[Provider], str]
"""Run an agent; returns the text of the framework's own history."""


def sum_up(request: Received) -> Turn:
    """A summary: the pages that stand in what is to be summed up."""
    named = sorted(pages_in(json.dumps(request.body)))
    return Turn("Pages that were read: " + ", ".join(f"page-{number:03d}" for number in named))


def played(framework: str, manager: str, run: Run) -> Row:
    """Let a manager do the run."""
    done = [0]

    def play(request: Received) -> Turn:
        if not request.body.get("tools"):
            return sum_up(request)
        done[0] += 1
        return Turn(calls=[("look", {"number": done[0] - 1})]) if done[0] <= STEPS else Turn("Done.")

    with Provider(play, window=WINDOW) as provider:
        try:
            history = run(provider)
        except Exception as error:
            print(f"{framework}, {manager}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            history = ""
        return measured(framework, manager, provider, min(done[0], STEPS), history)


def measured(framework: str, manager: str, provider: Provider, steps: int, history: str) -> Row:
    """The figures of a run."""
    taken = [request for request in provider.requests if request.verdict == "accepted"]
    over = sum(any(words in each.reason for words in _TOO_LONG) for each in provider.rejected)
    bills = [usage_of(request.usage) for request in taken]
    prompt = sum(bill.prompt for bill in bills)
    asked = [request for request in provider.requests if request.body.get("tools")]
    last = json.dumps(asked[-1].body) if asked else ""
    told = pages_in(last)
    model = find(MODEL)
    text = history.replace("\\n", "\n")
    return Row(
        framework=framework,
        manager=manager,
        steps=steps,
        over=over,
        broken=len(provider.rejected) - over,
        whole=steps == STEPS and all(look(number) in text for number in range(steps)),
        trail=len(told & set(range(steps))) / STEPS,
        in_view=sum(json.dumps(look(number))[1:-1] in last for number in range(steps)),
        prompt=prompt,
        cached=sum(bill.cache_read for bill in bills) / prompt if prompt else 0.0,
        dollars=sum(cost(bill, model) for bill in bills),
    )


def tell(rows: list[Row]) -> None:
    """Write rows for whoever started this."""
    for row in rows:
        print(json.dumps(row._asdict()))


def main(framework: str, managers: dict[str, Any]) -> None:
    """Let every manager of a framework do the run."""
    tell([played(framework, name, run) for name, run in managers.items()])
