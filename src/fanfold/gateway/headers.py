"""Headers: which go on, which end here, and which are the gateway's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

Headers = list[tuple[bytes, bytes]]
"""As they came: lower-case names, in their order, some perhaps twice."""

OWN = b"x-fanfold-"
"""What the gateway is told by clients, and tells them; no provider sees it."""
_ODD = re.compile(r"[^ -~]")
_LONGEST = 2_000
_OWN_COOKIE = b"fanfold-"
_HOPS = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
_OURS = frozenset({b"host", b"content-length", b"expect"})
"""What a request of our own has anew."""
_KEYS = {
    "openai": frozenset({b"authorization", b"api-key"}),
    "anthropic": frozenset({b"authorization", b"x-api-key"}),
    "gemini": frozenset({b"authorization", b"x-goog-api-key"}),
}
"""Where each provider takes a client's key."""
KEYS = frozenset(name for names in _KEYS.values() for name in names)
_NOT_FOR = {provider: _HOPS | _OURS | (KEYS - own) for provider, own in _KEYS.items()}


def get(headers: Headers, name: bytes) -> str | None:
    """The first header of this name."""
    for key, value in headers:
        if key == name:
            return value.decode("latin-1")
    return None


def header_value(text: str) -> bytes:
    """A text as the value of a header: without what would end it, and not longer than clients take."""
    plain = _ODD.sub("?", text)
    return (plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}...").encode()


def to_upstream(headers: Headers, provider: str, without: Iterable[bytes] = ()) -> Headers:
    """The headers of a request to a provider: the client's, but for those that end here and other providers' keys."""
    left = _NOT_FOR[provider].union(_named_hops(headers), without)
    kept = [(name, value) for name, value in headers if name not in left and not name.startswith(OWN)]
    return _without_own_cookies(kept) if any(name == b"cookie" for name, _ in kept) else kept


def _without_own_cookies(headers: Headers) -> Headers:
    """The headers without what opens the inspector: a browser sends it along with whatever it asks for here."""
    kept: Headers = []
    for name, value in headers:
        pairs = [pair for pair in value.split(b";") if not pair.strip().startswith(_OWN_COOKIE)]
        if name != b"cookie":
            kept.append((name, value))
        elif pairs:
            kept.append((name, b";".join(pairs).strip()))
    return kept


def to_client(headers: Iterable[tuple[bytes, bytes]], without: Iterable[bytes] = ()) -> Headers:
    """The headers of a reply to the client: the provider's, but for those that end here."""
    lower = [(name.lower(), value) for name, value in headers]
    left = _HOPS.union(_named_hops(lower), without)
    return [(name, value) for name, value in lower if name not in left and not name.startswith(OWN)]


def _named_hops(headers: Headers) -> frozenset[bytes]:
    """The headers that a `connection` header says are for one hop only."""
    named = [value for name, value in headers if name == b"connection"]
    return frozenset([word.strip().lower() for value in named for word in value.split(b",")])


def key_of(headers: Headers, query: str) -> str | None:
    """The key that a client brings, wherever its provider wants it."""
    for name in (b"x-api-key", b"x-goog-api-key", b"api-key"):
        if found := get(headers, name):
            return found
    bearer = get(headers, b"authorization")
    if bearer:
        return bearer.partition(" ")[2].strip() if bearer.lower().startswith("bearer ") else bearer
    return next((pair[4:] for pair in query.split("&") if pair.startswith("key=")), None)


def with_key(headers: Headers, provider: str, key: str) -> Headers:
    """The headers with this key in the place of the client's."""
    place = {"openai": b"authorization", "anthropic": b"x-api-key", "gemini": b"x-goog-api-key"}[provider]
    value = f"Bearer {key}" if provider == "openai" else key
    return [*((name, text) for name, text in headers if name not in KEYS), (place, value.encode("latin-1"))]
