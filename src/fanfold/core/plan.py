"""Plans: how a strategy speaks.

A strategy is a generator `(view, budget) -> edits`. It yields edits, and gets the draft's new view back; it asks
a model with `text = yield from ask(messages, prompt)`. One that never asks may return its edits as a list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import Decision, Edit
from fanfold.core.errors import AskFailed
from fanfold.core.message import Message
from fanfold.core.record import TokenUsage
from fanfold.core.view import View


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a model."""

    messages: tuple[Message, ...]
    prompt: str
    max_tokens: int | None = None
    model: str | None = None
    """Another model than the session's own, if the strategy wants one."""
    about: str = ""
    """The name of what its answer keeps up to date; the session remembers when that was (`View.looked`)."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came back for a question."""

    text: str = ""
    error: str | None = None
    usage: TokenUsage | None = None
    """What it was billed, where the model says so."""
    cost: float = 0.0
    """The same in dollars, where prices are known."""


Plan = Generator[Edit | Ask, Any, None]
Strategy = Callable[[View, Budget], Plan | Iterable[Edit] | None]


@runtime_checkable
class Watchful(Protocol):
    """A strategy that keeps a share of the view within bounds, though the whole view is not too much.

    Every request asks it first. In `either` and `when` it is a strategy like any other.
    """

    def due(self, view: View, budget: Budget) -> bool:
        """Whether its share is exceeded, and it could do something about it."""

    @property
    def trim(self) -> Strategy:
        """What brings the share back within its bounds, and does no more."""


def is_watchful(strategy: object) -> TypeGuard[Watchful]:
    """Whether a strategy wants to be asked by every request, told in a fraction of the time that `isinstance` takes."""
    return hasattr(strategy, "due") and hasattr(strategy, "trim")


def is_binding(strategy: object) -> bool:
    """Whether a strategy keeps a limit of its own (`binding`), as tokens have theirs: its edits need not save much."""
    return bool(getattr(strategy, "binding", False))


@runtime_checkable
class Patient(Protocol):
    """A strategy with work for the background, whatever the view costs: `settle` runs it after a turn."""

    def settles(self, view: View, budget: Budget) -> bool:
        """Whether there is something to do now."""

    @property
    def settling(self) -> Strategy:
        """What does it, and no more."""


Trigger = Literal["manual", "auto"]
Status = Literal["reduced", "noop", "refused-larger", "failed", "does-not-fit"]


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a reduction ended; success only with tokens before and after."""

    status: Status
    before: int
    after: int
    decisions: tuple[Decision, ...] = ()
    error: str | None = None
    """What went wrong: a strategy failed, a model gave no answer, edits were refused; also where a fallback did it."""
    strategy: str | None = None
    """The one that did it; a fallback's name if the chosen strategy failed."""
    usage: TokenUsage | None = None
    """What the models that were asked billed, where they say so."""
    cost: float = 0.0
    """The same in dollars, as far as prices are known."""
    again: int = 0
    """Tokens behind the first edit, which the provider's cache held and the next request pays afresh."""

    def __repr__(self) -> str:
        more = (f" by {self.strategy}" * bool(self.strategy)) + (f"; {self.error}" * bool(self.error))
        return f"<Outcome {self.status}: {self.before:,} → {self.after:,} tokens{more}>"

    @property
    def saved(self) -> int:
        """Tokens no longer sent."""
        return self.before - self.after


def ask(messages: Sequence[Message], prompt: str, **options: Any) -> Generator[Ask, Answer, str]:
    """Ask a model; returns its text, or raises `AskFailed`."""
    answer = yield Ask(tuple(messages), prompt, **options)
    if answer.error is not None:
        raise AskFailed(answer.error)
    return answer.text


def name_of(strategy: object) -> str:
    """How a strategy is called in reasons and reports."""
    return str(getattr(strategy, "name", "") or getattr(strategy, "__name__", "") or type(strategy).__name__)


def needs_model(strategy: object) -> bool:
    """Whether a strategy does nothing without a model to ask: it has `asks = True`."""
    return bool(getattr(strategy, "asks", False))


def run(strategy: Strategy, view: View, budget: Budget) -> Generator[Edit | Ask, Any, View]:
    """Run a strategy inside another one; returns the view it leaves."""
    plan = steps_of(strategy(view, budget))
    got: Any = None
    while True:
        try:
            step = plan.send(got)
        except StopIteration:
            return view
        got = yield step
        view = got if isinstance(got, View) else view


def steps_of(made: object) -> Plan:
    """Whatever a strategy returned, as a plan; TypeError if it is none, or if edits would be lost."""
    if isinstance(made, Generator):
        lost = yield from made
        if lost and isinstance(lost, Edit | list | tuple | Iterator):
            raise TypeError("a strategy that yields edits or questions cannot return edits: yield each one")
    elif isinstance(made, Iterable) and not isinstance(made, str | bytes):
        yield from (step for step in made)  # the views that come back for edits are not for a list's iterator
    elif made is not None:
        raise TypeError(f"a strategy yields edits or returns a list of them, not {type(made).__name__}")
