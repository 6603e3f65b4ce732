"""A request as it came in, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .wire import Wire


@dataclass(frozen=True)
class Received:
    """One call of the API: what the script is given and what `provider.requests` keeps."""

    api: str
    """`chat`, `responses`, `anthropic` or `gemini`."""
    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """With names in lower case."""
    body: Wire = field(default_factory=dict)
    raw: bytes = b""
    """The body as it came."""
    model: str = ""
    stream: bool = False
    number: int = 0
    """How many requests were accepted before this one."""
    status: int = 0
    """The HTTP status of the answer; 0 where the connection was closed instead."""
    verdict: str = ""
    """`accepted`, `rejected`, `failed` for a scripted failure, `counted` for a token count."""
    reason: str = ""
    """The error's text; empty for an accepted request."""
    rule: str = ""
    """The name of the rule that rejected it."""
    usage: Mapping[str, Any] | None = None
    """What was billed, in the provider's own words."""
    tokens: int = 0
    """The prompt's tokens by the server's count."""
    cached: int = 0
    """Those of them that were read from the prompt cache."""
