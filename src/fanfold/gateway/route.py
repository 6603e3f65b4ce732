"""Where a request goes: which provider is meant, and under which address."""

from __future__ import annotations

import re

import msgspec

from fanfold.dialects.http.routes import Purpose, Route, find_route
from fanfold.dialects.registry import CHAT, DialectName
from fanfold.gateway.headers import Headers, get

_PATH = re.compile(r"(?:/[A-Za-z0-9._~:@!$&'()*+,;=-]+)+/?")
_DOTS = re.compile(r"/\.{1,2}(?:[/;:]|$)")
_STATELESS = re.compile(
    r"(?:/v1(?:beta|alpha)?)?/(?:completions|embeddings|moderations|rerank|audio/(?:speech|transcriptions|translations)"
    r"|images/(?:generations|edits|variations)|models/[^/]+:(?:embedContent|batchEmbedContents|predict))"
)
"""Paths beside those of conversations at which a provider answers from what it is sent, and from nothing stored."""
_BARE = ("/chat/completions", "/responses", "/messages", "/models")
"""Some clients are given an address without the version."""


class Destination(msgspec.Struct, frozen=True):
    """The provider that a request is for, and what is asked of it."""

    dialect: DialectName
    route: Route | None = None
    """None for a path that has nothing to do with conversations."""

    @property
    def provider(self) -> str:
        """Whose upstream it is for: `openai`, `anthropic` or `gemini`."""
        return self.dialect.partition(".")[0]

    @property
    def purpose(self) -> Purpose | None:
        """What is asked for."""
        return self.route.purpose if self.route else None


def is_plain(path: str) -> bool:
    """Whether a path is made of plain segments: nothing encoded, nothing that leads elsewhere."""
    return _PATH.fullmatch(path) is not None and _DOTS.search(path) is None


def find_destination(method: str, path: str, query: str, headers: Headers) -> Destination | None:
    """Where a request goes; None where nobody can be meant."""
    told = {name.decode("latin-1"): "" for name, _ in headers}
    route = find_route(method, f"{path.rstrip('/')}?{query}", told)
    if route is not None:
        return Destination(route.dialect, route)
    if path.startswith(("/v1beta/", "/v1alpha/")) or get(headers, b"x-goog-api-key"):
        return Destination("gemini")
    if not path.startswith("/v1/"):
        return None
    anthropic = "x-api-key" in told or "anthropic-version" in told or path.startswith("/v1/messages")
    return Destination("anthropic" if anthropic else CHAT)


def is_stateless(method: str, path: str) -> bool:
    """Whether what is answered there comes from nothing that a provider stores for its customer."""
    return method == "POST" and _STATELESS.fullmatch(path.rstrip("/")) is not None


def upstream_address(address: str, path: str) -> str:
    """The whole address of a path at an upstream, whose own address may end in the version or leave it out."""
    path = f"/v1{path}" if path.startswith(_BARE) else path
    for version in ("/v1", "/v1beta"):
        if address.endswith(version) and path.startswith(version + "/"):
            return address + path.removeprefix(version)
    return address + path
