"""Which provider a path belongs to, and what is asked for there."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from fanfold.gateway.headers import Headers, get

Kind = Literal["generate", "count", "compact", "stored", "other"]
_FIXED: dict[str, tuple[str, str, Kind]] = {
    "/v1/chat/completions": ("openai", "openai.chat", "generate"),
    "/v1/responses": ("openai", "openai.responses", "generate"),
    "/v1/responses/compact": ("openai", "openai.responses", "compact"),
    "/v1/responses/input_tokens": ("openai", "openai.responses", "count"),
    "/v1/messages": ("anthropic", "anthropic", "generate"),
    "/v1/messages/count_tokens": ("anthropic", "anthropic", "count"),
}
_GEMINI = re.compile(r"/v1(?:beta|alpha)?/(?:models|tunedModels)/([A-Za-z0-9._-]+):([A-Za-z]+)")
_METHODS: dict[str, Kind] = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count",
}
_STORED = re.compile(r"/v1/responses/([A-Za-z0-9_-]+)(?:/(?:input_items|cancel))?")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~:@!$&'()*+,;=-]+)+/?")
_DOTS = re.compile(r"/\.{1,2}(?:/|$)")


class Route(msgspec.Struct, frozen=True):
    """Where a request goes."""

    provider: str
    """Whose upstream it is for: `openai`, `anthropic` or `gemini`."""
    dialect: str
    kind: Kind
    model: str | None = None
    """The model, where the path names it."""
    streams: bool | None = None
    """Whether the reply is a stream, where the path says so; elsewhere the body does."""
    id: str | None = None
    """The stored response that is asked for."""


def is_plain(path: str) -> bool:
    """Whether a path is made of plain segments: nothing encoded, nothing that leads elsewhere."""
    return _PATH.fullmatch(path) is not None and _DOTS.search(path) is None and "//" not in path


def find_route(method: str, path: str, headers: Headers) -> Route | None:
    """The route of a path that a provider may know; None where nobody can be meant."""
    path = _with_version(path.rstrip("/"))
    if path in _FIXED and method == "POST":
        return Route(*_FIXED[path])
    found = _GEMINI.fullmatch(path)
    if found and method == "POST" and found[2] in _METHODS:
        streams = found[2] == "streamGenerateContent"
        return Route("gemini", "gemini", _METHODS[found[2]], model=found[1], streams=streams)
    stored = _STORED.fullmatch(path)
    if stored and path not in _FIXED:
        return Route("openai", "openai.responses", "stored", id=stored[1])
    if path.startswith(("/v1beta/", "/v1alpha/")) or found or get(headers, b"x-goog-api-key"):
        return Route("gemini", "gemini", "other")
    if not path.startswith("/v1/"):
        return None
    anthropic = get(headers, b"x-api-key") or get(headers, b"anthropic-version") or "/messages" in path
    return Route("anthropic", "anthropic", "other") if anthropic else Route("openai", "openai.chat", "other")


def _with_version(path: str) -> str:
    """The path as providers have it: some clients are given an address without `/v1`."""
    return f"/v1{path}" if f"/v1{path}" in _FIXED else path


def upstream_path(address: str, path: str) -> str:
    """The whole address of a path at an upstream, whose own address may end in the version or leave it out."""
    path = _with_version(path)
    for version in ("/v1", "/v1beta"):
        if address.endswith(version) and path.startswith(version + "/"):
            return address + path.removeprefix(version)
    return address + path
