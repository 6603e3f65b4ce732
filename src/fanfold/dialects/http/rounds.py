"""Several rounds with a provider, told to the client as one reply.

The model may call tools that the client knows nothing of: what such a call asks for is answered in between, and the
provider is asked again. The client hears one reply: under the first round's id, without these calls, with indexes and
numbers in order, and with one end.

    splice = stream_splice("anthropic", {"recall_output"})
    for event in events:                       # of the first round
        await send(splice.feed(event))
    while splice.has_hidden and not splice.has_calls:
        await send(splice.next_round())
        ...                                    # answer the hidden calls, ask again, feed the events
    await send(splice.finish(usage))

A reply with calls of both kinds ends there: the client's results come with its next request. An event that need not
change is passed on as the bytes that came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from fanfold.core.record import TokenUsage
from fanfold.dialects.http.events import StreamEvent
from fanfold.dialects.registry import DialectName, module_of

Hidden = Collection[str]
"""The names of tools that the client knows nothing of."""


def is_hidden(name: object, hidden: Hidden) -> bool:
    """Whether the client knows nothing of the tool of this name."""
    return isinstance(name, str) and name in hidden


class Splice(Protocol):
    """Tells the events of several rounds as one stream."""

    has_hidden: bool
    """Whether this round called a tool that the client knows nothing of."""
    has_calls: bool
    """Whether a call was told to the client."""
    complete: bool
    """Whether the provider said that this round is over."""

    def feed(self, event: StreamEvent) -> bytes:
        """Take in one event of the round; what the client is told now. The end is held back."""

    def next_round(self) -> bytes:
        """Another round follows; what is still to be told of this one."""

    def finish(self, usage: TokenUsage | None = None) -> bytes:
        """This was the last round: the end of the reply, with this usage or with that of the last round."""


def stream_splice(dialect: DialectName, hidden: Hidden, *, events: bool = True) -> Splice:
    """Tells several streams as one; `events=False` for Gemini's stream of one JSON array."""
    make: Callable[..., Splice] = module_of(dialect, "splice").SPLICE
    return make(hidden) if events else make(hidden, events=False)


def splice_replies(
    dialect: DialectName, bodies: Sequence[Mapping[str, Any]], hidden: Hidden, usage: TokenUsage | None = None
) -> dict[str, Any]:
    """The whole replies of several rounds as one, with this usage or with that of the last round."""
    joined: dict[str, Any] = module_of(dialect, "splice").splice_replies(bodies, hidden)
    if usage is not None:
        joined = module_of(dialect, "tell").set_usage(joined, usage)
    return joined
