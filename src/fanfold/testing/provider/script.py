"""What the scripted model says, in no provider's dialect, and how a provider can let its caller down."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Stop = Literal["end", "calls", "length", "refusal", "pause"]


@dataclass(frozen=True)
class Turn:
    """One reply of the model; each API renders it whole or streamed."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    thinking: str = ""
    hidden: str = ""
    """Thinking that Anthropic would show redacted; elsewhere it is billed and not shown."""
    stop: Stop | None = None

    @property
    def why(self) -> Stop:
        """Why the reply ends: as told, else for its calls, else because it is done."""
        return self.stop or ("calls" if self.calls else "end")


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
