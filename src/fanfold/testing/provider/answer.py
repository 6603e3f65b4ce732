"""What is sent back over the connection."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Scripted:
    """A status, headers, and the body in the pieces it is sent in."""

    status: int
    chunks: Iterable[bytes]
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    chunked: bool = False
    delay: float = 0
    """Seconds to wait before each piece."""
    broken: bool = False
    """Whether the connection is closed in the middle of the body."""
