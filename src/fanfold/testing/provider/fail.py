"""How a provider can let its caller down."""

from dataclasses import dataclass

from .turn import Turn


@dataclass(frozen=True)
class Refuse:
    """An error answer with a status, in the provider's own shape."""

    status: int
    retry_after: float | None = None


@dataclass(frozen=True)
class Cut:
    """A stream that stops after some events, the connection closed under it."""

    turn: Turn
    after: int
    said: bool = False
    """Whether the provider says so with an error event before it hangs up."""


@dataclass(frozen=True)
class Slow:
    """A reply that takes its time before every event."""

    turn: Turn
    delay: float


@dataclass(frozen=True)
class Gibberish:
    """Status 200 and a body that is not JSON, or a stream whose data is not."""


@dataclass(frozen=True)
class Close:
    """The connection is closed without an answer."""


Failure = Refuse | Cut | Slow | Gibberish | Close


class Fail:
    """The ways to fail, as items of a script."""

    @staticmethod
    def rate_limit(retry_after: float = 0) -> Refuse:
        """429, with a `retry-after` header."""
        return Refuse(429, retry_after)

    @staticmethod
    def server_error(status: int = 500) -> Refuse:
        """500, or another status of the server's own fault."""
        return Refuse(status)

    @staticmethod
    def overloaded() -> Refuse:
        """529 from Anthropic, 503 from the others."""
        return Refuse(529)

    @staticmethod
    def cut(turn: Turn, after: int) -> Cut:
        """The stream breaks off after `after` events; a whole reply breaks off halfway."""
        return Cut(turn, after)

    @staticmethod
    def error_event(turn: Turn, after: int) -> Cut:
        """After `after` events the stream brings an error in the provider's shape and ends."""
        return Cut(turn, after, said=True)

    @staticmethod
    def slow(turn: Turn, delay: float) -> Slow:
        """Every event, or the whole reply, comes `delay` seconds late."""
        return Slow(turn, delay)

    @staticmethod
    def garbage() -> Gibberish:
        """Something that is not JSON, with status 200."""
        return Gibberish()

    @staticmethod
    def close() -> Close:
        """The connection closes without a word."""
        return Close()
