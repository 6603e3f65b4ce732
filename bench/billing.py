"""How close the estimates come to what providers billed: `billing.py FOLDER`, with recorded conversations.

A conversation is played through a session as its agent did: every bill teaches, and before each the session says
what it expects. Two things are measured. *Growth*: what the request grew by since the last bill, where that was 500
tokens or more. *After an edit*: the whole request, estimated as if an edit had just voided the baseline.

Recorded conversations do not hold all that was sent: clients slip in files that changed and reminders. Where a bill
grew by more tokens than the record has characters, something is surely missing, and no meter can know. Such bills
are left out of the rows marked `recorded`, which carry the bars; the rows marked `all` have them.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import fanfold
from fanfold import Call, Message, Reply, Result, Text, Thinking, TokenUsage, models
from fanfold.core.errors import BadInput
from fanfold.core.message import text_of, user
from fanfold.session.merge import reframe
from fanfold.tokens.learning import believable
from fanfold.tokens.usage import usage_of

LEAST = 500
"""Growth below this is not measured."""

FRAMES = 150
"""Characters that a message's frame may stand for."""

BARS = {"median": 0.08, "p90": 0.35, "under p99": 0.08}


class Point(NamedTuple):
    """One bill beside its estimates."""

    group: str
    growth: int
    expected: float
    billed: int
    after_edit: float
    whole: bool
    """Whether the record can hold all that was billed."""


def conversations(folder: Path) -> Iterator[dict[str, Any]]:
    """Every conversation of a known model with bills."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            yield from filter(_billed, map(json.loads, lines))


def _billed(talk: dict[str, Any]) -> bool:
    return models.lookup(talk["model"]) is not None and any("_usage" in body for body in talk["messages"])


def spoken(body: dict[str, Any]) -> Message:
    """A recorded message as fanfold's; hidden reasoning is a sealed thought, as it comes from Responses."""
    content = body.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    if body["role"] == "tool":
        return Message("tool", (Result(body["tool_call_id"], (Text(text),)),))
    calls = [
        Call(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in body.get("tool_calls", ())
    ]
    hidden = body.get("_usage", {}).get("reasoning_output_tokens")
    sealed = "x" * int(5.5 * hidden) if hidden else None
    thought = (Thinking(body.get("_reasoning") or "", sealed),) if hidden or body.get("_reasoning") else ()
    return Message(body["role"], (*thought, *([Text(text)] if text else []), *calls))


def bill(body: dict[str, Any]) -> TokenUsage | None:
    """What was billed for the request that brought this message."""
    try:
        return usage_of(body["_usage"]) if "_usage" in body else None
    except BadInput:
        return None


def characters(message: Message) -> int:
    """So many tokens a message could be at the very most."""
    return len(text_of(message)) + FRAMES * max(1, len(message.parts))


class Play:
    """One conversation, played through a session."""

    def __init__(self, talk: dict[str, Any], store: fanfold.Memory) -> None:
        self.group = f"{models.find(talk['model']).provider}, {talk['lang']}"
        self.model = talk["model"]
        self.store = store
        self.name = talk["id"]
        self.bodies = talk["messages"]
        self.chat = self._open(0)
        self.prompt: int | None = None
        """The last bill."""
        self.fresh = 0
        """Characters since."""

    def _open(self, number: int) -> fanfold.Session:
        return fanfold.open(f"{self.name}/{number}", model=self.model, window=10**9, store=self.store)

    def points(self) -> Iterator[Point]:
        """Every bill that follows another, beside its estimates."""
        for number, body in enumerate(self.bodies):
            message, usage = spoken(body), bill(body)
            if "_compact" in body or (usage and self.prompt and usage.prompt < self.prompt / 2):
                self._restart(number)
            repeated = usage is not None and usage.prompt == self.prompt
            if usage and usage.prompt and not repeated and self.chat.head:
                yield from self._billed(message, usage)
            else:
                self._add(message)
            self.fresh += characters(message)

    def _restart(self, number: int) -> None:
        """The history was replaced here by something that the record does not tell."""
        self.chat.close()
        self.chat, self.prompt, self.fresh = self._open(number), None, 0

    def _add(self, message: Message) -> None:
        known = set(self.chat._state.open_calls)
        results = tuple(r for r in message.results if r.call in known)
        self.chat.add(message if len(results) == len(message.results) else user(text_of(message)))

    def _billed(self, message: Message, usage: TokenUsage) -> Iterator[Point]:
        state = self.chat._state
        if self.prompt is not None:
            tokens = state.view().tokens
            growth = usage.prompt - self.prompt
            expected = state.limits().billed(tokens) - self.prompt
            after = state.limits(edited=True).billed(tokens)
            yield Point(self.group, growth, expected, usage.prompt, after, growth <= self.fresh)
        if self.prompt is None or self._lacks(usage.prompt):
            self._stand_in(usage.prompt)
        self.chat.request()
        self.chat.receive(Reply((message,), usage))
        self.prompt, self.fresh = usage.prompt, 0

    def _lacks(self, prompt: int) -> bool:
        """Whether more was billed than the record can cost: the client sent something that it does not hold."""
        state, view = self.chat._state, self.chat._state.view()
        guessed = view.guessed if state.gauge.exact else view.tokens
        return prompt > believable(view.tokens, guessed, view.hidden)[1]

    def _stand_in(self, prompt: int) -> None:
        """Records lack the client's own system prompt and tools: words that cost as much take their place."""
        state = self.chat._state
        lacking = prompt - (state.view().tokens - state.view().frame.tokens)
        words = "word " * (1_000 * lacking // state.terms.meter.text("word " * 1_000))
        state.unit(lambda: reframe(state, (words,), ()))


def quantile(values: list[float], share: float) -> float:
    """The value below which a share of all lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def row(name: str, points: list[Point]) -> bool:
    """Print one line of the table; whether every bar holds."""
    grown = [abs(point.expected - point.growth) / point.growth for point in points if point.growth >= LEAST]
    under = [1 - point.after_edit / point.billed for point in points]
    figures = {"median": median(grown), "p90": quantile(grown, 0.9), "under p99": quantile(under, 0.99)}
    held = all(figures[bar] <= most for bar, most in BARS.items())
    shown = "   ".join(f"{figures[bar]:7.1%}" for bar in BARS)
    print(f"{name:26}{len(points):7}{len(grown):7}   {shown}   {'pass' if held else 'FAIL'}")
    return held


def main() -> int:
    """Print the table; the exit code tells whether the bars hold."""
    groups: dict[str, list[Point]] = defaultdict(list)
    store = fanfold.Memory()
    for talk in conversations(Path(sys.argv[1])):
        for point in Play(talk, store).points():
            groups[point.group].append(point)
    print(f"{'provider, language':26}{'bills':>7}{'grown':>7}   growth: median       p90   edit: under p99")
    print(f"{'bars':40}   " + "   ".join(f"{most:7.1%}" for most in BARS.values()))
    held = [
        row(f"{name}, recorded", [p for p in points if p.whole]) for name, points in sorted(groups.items())
    ]
    for name, points in sorted(groups.items()):
        row(f"{name}, all", points)
    return 0 if all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
