"""What a caller is told while a session works, and what it may refuse.

Events are what a user interface shows: a reduction from beginning to end (systems.md D8, E9, E10), a failed filter, a
bill that cannot be true. Hooks are the functions that are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from fanfold.core.edit import Decision, Drop, Fold
from fanfold.core.errors import BadSetting
from fanfold.core.log import Log
from fanfold.core.plan import Outcome, Status, Trigger
from fanfold.tokens.pressure import Pressure

Compression = Literal["compressed", "failed-inflated", "failed-count-error", "noop"]
COMPRESSIONS: dict[Status, Compression] = {
    "reduced": "compressed",
    "refused-larger": "failed-inflated",
    "failed": "failed-count-error",
    "noop": "noop",
    "does-not-fit": "noop",
}
"""How Gemini CLI calls what came of a reduction (D8)."""
HIDING = frozenset(("truncate", "drop_oldest", "window", "importance", "extract", "drop_seen", "drop_unseen"))
"""Strategies whose folds say how much is hidden, and summarize nothing; `window` is what 0.1 called `drop_oldest`."""


class Reducing(msgspec.Struct, frozen=True, tag="reducing"):
    """A reduction begins: time for a progress indicator. `Reduced` ends it."""

    trigger: Trigger
    tokens: int


class Condensed(msgspec.Struct, frozen=True, tag="condensed"):
    """A summary stands for some messages now; `chat.undo(id)` brings them back."""

    id: str
    summary: str
    before: int
    after: int
    cost: float
    """What the models that were asked cost in this reduction, in dollars, as far as prices are known."""


class Truncated(msgspec.Struct, frozen=True, tag="truncated"):
    """Some messages are hidden now; `chat.undo(id)` brings them back."""

    id: str
    removed: int
    before: int
    after: int


class Reduced(msgspec.Struct, frozen=True, tag="reduced"):
    """A reduction is over, whatever came of it."""

    status: Status
    before: int
    after: int
    error: str | None = None

    @property
    def compression(self) -> Compression:
        """The status as Gemini CLI calls it."""
        return COMPRESSIONS[self.status]


class FilterFailed(msgspec.Struct, frozen=True, tag="pass-failed"):
    """A filter failed at an output, which is kept whole and shown as if there were no such filter."""

    ref: str
    tool: str
    name: str
    """What the filter is called."""
    error: str


class Disputed(msgspec.Struct, frozen=True, tag="disputed"):
    """The provider billed what a request of this length cannot cost: the bill is kept, but not believed."""

    counted: int
    """What the request costs by the session's meter."""
    billed: int
    """0 where the figures are none that a request can have."""
    least: int
    most: int


class CacheBroken(msgspec.Struct, frozen=True, tag="cache-broken"):
    """The provider read less from its prompt cache than the request before had left there; `chat.cache(n)` has all."""

    request: int
    cause: str
    by: str
    where: str
    what: str
    again: int
    """Tokens that were sent before and had to be read afresh."""
    cost: float | None


Event = Reducing | Condensed | Truncated | Reduced | FilterFailed | Disputed | CacheBroken


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Functions that a session calls; every one is optional."""

    before_edit: Callable[[Sequence[Decision], Trigger], bool | None] | None = None
    """Told what is about to be recorded; returning False refuses it."""
    after_edit: Callable[[Outcome], object] | None = None
    """Told how a reduction ended, with tokens before and after."""
    on_pressure: Callable[[Pressure], object] | None = None
    """Told when a request reaches the trigger, before anything is reduced."""
    on_event: Callable[[Event], object] | None = None
    """Told what a user interface shows: `Reducing`, then `Condensed` or `Truncated` for each cut, then `Reduced`;
    `FilterFailed`; `Disputed`; and `CacheBroken`."""

    find_tools: Callable[[str, Mapping[str, str]], Iterable[str]] | None = None
    """With `defer`, a search for tools of your own: given a query, and descriptions by the names of tools, it returns
    names, the best first. Where it returns none, the built-in search is used."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            told = getattr(self, name)
            if told is not None and not callable(told):
                raise BadSetting(f"{name} is a function, not {told!r}.", name)


def events_of(outcome: Outcome, log: Log) -> Iterator[Condensed | Truncated | Reduced]:
    """What there is to tell of a reduction: each summary and each cut, and that it is over."""
    for decision in outcome.decisions:
        if isinstance(decision.edit, Drop) or decision.why in HIDING:
            if isinstance(decision.edit, Drop | Fold):
                removed = len(log.leaves(decision.edit.covers))
                yield Truncated(decision.id, removed, decision.before, decision.after)
        elif isinstance(decision.edit, Fold):
            yield Condensed(
                id=decision.id,
                summary=_words(decision.edit),
                before=decision.before,
                after=decision.after,
                cost=outcome.cost,
            )
    yield Reduced(outcome.status, outcome.before, outcome.after, outcome.error)


def _words(fold: Fold) -> str:
    """What a fold tells; what the other side says to it is no part of it."""
    if isinstance(fold.shows, str):
        return fold.shows
    told = [message.text for message in fold.shows if message.role == fold.shows[0].role]
    return "\n\n".join(filter(None, told))
