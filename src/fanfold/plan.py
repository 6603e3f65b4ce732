"""Plans: how a strategy speaks.

A strategy is a generator `(view, budget) -> edits`. It yields edits, and gets the draft's new view back; it asks
a model with `text = yield from ask(messages, prompt)`. One that never asks may return its edits as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Literal

import msgspec

from fanfold.budget import Budget
from fanfold.edit import Decision, Edit
from fanfold.errors import AskFailed
from fanfold.message import Message
from fanfold.view import View


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a model."""

    messages: tuple[Message, ...]
    prompt: str
    max_tokens: int | None = None
    model: str | None = None
    """Another model than the session's own, if the strategy wants one."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back for a question."""

    text: str = ""
    error: str | None = None


Plan = Generator[Edit | Ask, Any, None]
Strategy = Callable[[View, Budget], Plan | Iterable[Edit] | None]
Status = Literal["reduced", "noop", "refused-larger", "failed", "does-not-fit"]


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a reduction ended; success only with tokens before and after."""

    status: Status
    before: int
    after: int
    decisions: tuple[Decision, ...] = ()
    error: str | None = None
    strategy: str | None = None
    """The one that did it; a fallback's name if the chosen strategy failed."""

    @property
    def saved(self) -> int:
        """Tokens no longer sent."""
        return self.before - self.after


def ask(messages: Sequence[Message], prompt: str, **options: Any) -> Generator[Ask, Answer, str]:
    """Ask a model; gives back its text, or raises `AskFailed`."""
    answer = yield Ask(tuple(messages), prompt, **options)
    if answer.error is not None:
        raise AskFailed(answer.error)
    return answer.text


def name_of(strategy: object) -> str:
    """How a strategy is called in reasons and reports."""
    name = getattr(strategy, "name", None) or getattr(strategy, "__name__", None) or type(strategy).__name__
    return str(name)


def either(*strategies: Strategy) -> Strategy:
    """The first strategy that changes anything."""

    def first_of(view: View, budget: Budget) -> Plan:
        for strategy in strategies:
            after = yield from run(strategy, view, budget)
            if after.tokens < view.tokens:
                return

    first_of.__name__ = "either(" + ", ".join(map(name_of, strategies)) + ")"
    return first_of


def when(test: Callable[[View, Budget], bool], strategy: Strategy) -> Strategy:
    """The strategy, on views that pass a test."""

    def conditional(view: View, budget: Budget) -> Plan:
        if test(view, budget):
            yield from run(strategy, view, budget)

    conditional.__name__ = name_of(strategy)
    return conditional


def run(strategy: Strategy, view: View, budget: Budget) -> Generator[Edit | Ask, Any, View]:
    """Run a strategy inside another one; gives back the view it leaves."""
    plan = strategy(view, budget)
    if plan is None:
        return view
    if not isinstance(plan, Generator):
        for edit in plan:
            view = yield edit
        return view
    step = next(plan, None)
    while step is not None:
        got = yield step
        view = got if isinstance(got, View) else view
        try:
            step = plan.send(got)
        except StopIteration:
            break
    return view
