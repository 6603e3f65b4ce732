"""Policies: ways to choose what a model sees, replayed side by side."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol

import msgspec

import fanfold
from fanfold import strategies
from fanfold.budget import Budget
from fanfold.errors import DoesNotFit
from fanfold.message import reading
from fanfold.plan import Strategy
from fanfold.replay.trace import Trace
from fanfold.spelling import unknown
from fanfold.view import View

TRIGGER, TARGET = 0.85, 0.4
_MENTION = re.compile(r"\b(?:ref=)?(o\d+)\b")


class Shown(msgspec.Struct, frozen=True, dict=True):
    """A request as a policy would have sent it."""

    keys: tuple[bytes, ...]
    """What stands for each block: two that are equal are the same bytes."""
    tokens: tuple[int, ...]
    texts: tuple[str, ...]
    """What can be read in each block."""
    seconds: float = 0.0
    """What choosing it took."""
    edits: int = 0
    """Edits made for it."""
    asked: int = 0
    """Questions to a model made for it."""
    asking: int = 0
    """Tokens of these questions."""
    over: bool = False
    """Whether it does not fit."""
    faults: int = 0
    """Rules of the provider that it breaks."""

    @cached_property
    def text(self) -> str:
        """All that can be read in it."""
        return "\n".join(self.texts)


class Player(Protocol):
    """A policy at work on one conversation."""

    def show(self, count: int) -> Shown:
        """The request after so many messages."""

    def near(self, text: str, shown: Shown) -> bool:
        """Whether what is wanted is one call away: the request names the one place that holds it."""

    def close(self) -> None:
        """The conversation is over."""


Policy = Callable[[Trace, int], Player]


class SessionPlayer:
    """A session that is fed the trace as its agent was."""

    def __init__(self, trace: Trace, window: int, chosen: Sequence[Strategy] | None) -> None:
        self.trace = trace
        self.chat = fanfold.open(
            trace.name or "trace",
            model=trace.model if trace.model and fanfold.models.lookup(trace.model) else None,
            budget=Budget(window=window, reserve=0, trigger=TRIGGER, target=TARGET),
            dialect=trace.dialect,
            strategy=chosen,
            recall=True,
        )

    def show(self, count: int) -> Shown:
        """The request after so many messages."""
        started = time.perf_counter()
        self.chat.merge(self.trace.request(count))
        before = self.chat.stats()["edits"]
        try:
            self.chat.request()
        except DoesNotFit:
            return _shown(self.chat.view(), time.perf_counter() - started, over=True)
        taken = time.perf_counter() - started
        return _shown(self.chat.view(), taken, edits=self.chat.stats()["edits"] - before)

    def near(self, text: str, shown: Shown) -> bool:
        """Whether a reference in the request names an output that holds it; a summary hides too many to count."""
        refs = dict.fromkeys(_MENTION.findall(shown.text))
        return any(text in self._output(ref) for ref in refs)

    def _output(self, ref: str) -> str:
        try:
            return self.chat.output(ref).text()
        except fanfold.FanfoldError:
            return ""

    def close(self) -> None:
        """The conversation is over."""
        self.chat.close()


def _shown(view: View, seconds: float, *, edits: int = 0, over: bool = False) -> Shown:
    rows = (view.frame, *view.rows)
    return Shown(
        tuple(row.weight.digest for row in rows),
        tuple(row.tokens for row in rows),
        tuple("\n".join(map(reading, row.messages)) for row in rows),
        seconds,
        edits,
        over=over,
    )


class Everything:
    """No policy at all: everything is sent."""

    def __init__(self, trace: Trace, window: int) -> None:
        self.window = window
        self.inner = SessionPlayer(trace, 1 << 40, None)

    def show(self, count: int) -> Shown:
        """All so far."""
        shown = self.inner.show(count)
        return msgspec.structs.replace(shown, over=sum(shown.tokens) > self.window)

    def near(self, text: str, shown: Shown) -> bool:
        """Everything is there already."""
        return False

    def close(self) -> None:
        """The conversation is over."""
        self.inner.close()


NAMED: dict[str, Callable[[], Sequence[Strategy] | None]] = {
    "default": lambda: None,
    "auto": lambda: [strategies.auto(refs=True)],
    "window": lambda: [strategies.window()],
    "elide": lambda: [strategies.elide(), strategies.window()],
    "digest": lambda: [strategies.digest()],
    "elide+digest": lambda: [strategies.elide(), strategies.digest(refs=True)],
    "truncate": lambda: [strategies.truncate()],
    "importance": lambda: [strategies.importance()],
}
"""Policies by name; `none` sends everything."""


def policy(name: str) -> Policy:
    """The policy of this name."""
    if name == "none":
        return Everything
    if name not in NAMED:
        raise unknown("policy", name, ("none", *NAMED))
    return lambda trace, window: SessionPlayer(trace, window, NAMED[name]())
