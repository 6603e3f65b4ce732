"""What an API needs to know to word a reply, and what it has to be able to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fanfold.testing.provider.cache import Bill, PromptCache
from fanfold.testing.provider.rejection import Limits, Rejection
from fanfold.testing.provider.request import Received
from fanfold.testing.provider.script import Turn
from fanfold.testing.provider.seal import Name, Seal
from fanfold.testing.provider.tokens import Count, PricedBlock
from fanfold.testing.provider.wire import Wire, canonical

CREATED = 1_700_000_000
"""The time of every reply: the server has no clock of its own, so that runs repeat exactly."""


@dataclass(frozen=True)
class Order:
    """A turn to be worded as the reply to a request."""

    request: Received
    turn: Turn
    name: Name
    bill: Bill
    seal: Seal
    count: Count

    @property
    def thought_tokens(self) -> int:
        """Tokens of thinking."""
        turn = self.turn
        return self.count(turn.thinking + turn.hidden) if turn.thinking or turn.hidden else 0

    def spoken_tokens(self, *texts: str) -> int:
        """Tokens of the texts that the reply is made of; a reply never costs nothing."""
        return sum(self.count(text) for text in texts if text) + 1


class ProviderApi(Protocol):
    """One provider's API."""

    def model(self, path: str, body: Wire) -> str:
        """The model that is asked for."""

    def streams(self, path: str, body: Wire) -> bool:
        """Whether the reply is to be streamed."""

    def blocks(self, body: Wire, count: Count) -> list[PricedBlock]:
        """The prompt in the order the provider reads it."""

    def charge(
        self, cache: PromptCache, blocks: Sequence[PricedBlock], request: Received, minimum: int
    ) -> Bill:
        """The bill for the prompt, by the provider's way of caching."""

    def refuse_long(self, blocks: Sequence[PricedBlock], body: Wire, window: int) -> Rejection | None:
        """The refusal of a prompt that is too long for the window."""

    def refuse_large(self, size: int, limits: Limits) -> Rejection | None:
        """The refusal of a body that is too large in bytes."""

    def unreadable(self, problem: str) -> Rejection:
        """The refusal of a body that is not JSON."""

    def word_count(self, tokens: int) -> Wire:
        """The answer to a request to count tokens."""

    def reply(self, order: Order) -> Wire:
        """The whole reply."""

    def usage(self, reply: Wire) -> Wire:
        """The usage in a reply."""

    def events(self, reply: Wire, request: Received) -> Iterator[bytes]:
        """The same reply as a stream."""

    def error(self, rejection: Rejection, name: str) -> Wire:
        """The error's body."""

    def error_event(self, rejection: Rejection, name: str) -> bytes:
        """The error in the middle of a stream."""


def event(data: Wire, kind: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {canonical(data)}\n\n".encode("utf-8", "replace")


def total(blocks: Sequence[PricedBlock]) -> int:
    """All tokens of a prompt."""
    return sum(block.tokens for block in blocks)


def model(path: str, body: Wire) -> str:
    """The model that is asked for, where the body names it."""
    return str(body.get("model") or "")


def streams(path: str, body: Wire) -> bool:
    """Whether the reply is to be streamed, where the body says so."""
    return body.get("stream") is True


def usage(reply: Wire) -> Wire:
    """The usage, where it stands under that name."""
    found: Wire = reply["usage"]
    return found
