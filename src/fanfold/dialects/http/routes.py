"""What a client asks for, told by method and path.

Only paths that are listed here are known. Segments that come from the client (models, ids of responses) are checked, so
nothing in them can lead to another path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args
from urllib.parse import parse_qs

import msgspec

from fanfold.core.errors import BadInput
from fanfold.dialects.registry import CHAT, DialectName

Purpose = Literal["reply", "count", "compact", "models", "model", "stored", "input_items", "delete", "cancel"]
"""A reply is wanted; tokens are to be counted; a history is to be compacted; models, one or all, are looked up; or it
is about a stored response."""
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
_SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*"
_V1 = r"(?:/v1)?"
_GOOGLE = rf"/v1(?:beta|alpha|beta1)?(?:/projects/{_SEGMENT}/locations/{_SEGMENT}/publishers/google)?"
_MODEL = re.compile(rf"(?P<kind>models/|tunedModels/)?(?P<name>{_SEGMENT})")
_RESPONSE = rf"{_V1}/responses/(?P<id>{_SEGMENT})"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request goes."""

    dialect: DialectName
    purpose: Purpose
    model: str | None = None
    """The model, where the path names it."""
    streams: bool = False
    """Whether the path asks for a stream; where the body says it, `HttpRequest.streams` knows."""
    events: bool = True
    """Whether a stream is one of server-sent events; else it is one JSON array, as Gemini sends it unasked."""
    id: str | None = None
    """The stored response that it is about."""


_TABLE: tuple[tuple[str, str, DialectName, Purpose], ...] = (
    ("POST", rf"{_V1}/chat/completions", "openai.chat", "reply"),
    ("POST", rf"{_V1}/responses", "openai.responses", "reply"),
    ("POST", rf"{_V1}/responses/compact", "openai.responses", "compact"),
    ("POST", rf"{_V1}/responses/input_tokens", "openai.responses", "count"),
    ("GET", _RESPONSE, "openai.responses", "stored"),
    ("DELETE", _RESPONSE, "openai.responses", "delete"),
    ("POST", rf"{_RESPONSE}/cancel", "openai.responses", "cancel"),
    ("GET", rf"{_RESPONSE}/input_items", "openai.responses", "input_items"),
    ("POST", rf"{_V1}/messages", "anthropic", "reply"),
    ("POST", rf"{_V1}/messages/count_tokens", "anthropic", "count"),
    ("POST", rf"{_GOOGLE}/(?:tunedM|m)odels/(?P<model>{_SEGMENT}):generateContent", "gemini", "reply"),
    ("POST", rf"{_GOOGLE}/(?:tunedM|m)odels/(?P<model>{_SEGMENT}):streamGenerateContent", "gemini", "reply"),
    ("POST", rf"{_GOOGLE}/(?:tunedM|m)odels/(?P<model>{_SEGMENT}):countTokens", "gemini", "count"),
    ("GET", r"/v1(?:beta|alpha)/models", "gemini", "models"),
    ("GET", rf"/v1(?:beta|alpha)/models/(?P<model>{_SEGMENT})", "gemini", "model"),
    ("GET", rf"{_V1}/models", CHAT, "models"),
    ("GET", rf"{_V1}/models/(?P<model>{_SEGMENT}(?:/{_SEGMENT})*)", CHAT, "model"),
)
_ROUTES = tuple((method, re.compile(path), dialect, purpose) for method, path, dialect, purpose in _TABLE)


def find_route(method: str, target: str, headers: Mapping[str, str] | None = None) -> Route | None:
    """What a request line asks for; None for a path that no dialect has.

    `target` is the path as it came over the wire, with its query. `headers` (names in small letters) tell whose list of
    models is meant: Anthropic's and OpenAI's have the same path.
    """
    path, _, query = target.partition("?")
    for verb, pattern, dialect, purpose in _ROUTES:
        found = pattern.fullmatch(path) if verb == method else None
        if found is None:
            continue
        named = found.groupdict()
        streams = path.endswith(":streamGenerateContent")
        return Route(
            dialect=_whose(purpose, dialect, headers or {}),
            purpose=purpose,
            model=named.get("model"),
            streams=streams,
            events=not streams or parse_qs(query).get("alt", [""])[-1] == "sse",
            id=named.get("id"),
        )
    return None


def _whose(purpose: Purpose, dialect: DialectName, headers: Mapping[str, str]) -> DialectName:
    if purpose not in ("models", "model"):
        return dialect
    if "anthropic-version" in headers:
        return "anthropic"
    return "gemini" if "x-goog-api-key" in headers else dialect


def reply_path(dialect: DialectName, purpose: Purpose, model: str | None, *, streams: bool) -> str:
    """The path at a provider's own address under which this is asked for, with its query."""
    if dialect != "gemini":
        return _PATHS[dialect, purpose]
    named = _MODEL.fullmatch(model or "")
    if named is None:
        raise BadInput(
            f"The model {model!r} cannot stand in a path: give its plain name, such as gemini-3-pro."
        )
    verb = "countTokens" if purpose == "count" else "streamGenerateContent" if streams else "generateContent"
    return f"/v1beta/{named['kind'] or 'models/'}{named['name']}:{verb}" + (
        "?alt=sse" if streams and purpose == "reply" else ""
    )


_PATHS: dict[tuple[DialectName, Purpose], str] = {
    ("openai.chat", "reply"): "/v1/chat/completions",
    ("openai.responses", "reply"): "/v1/responses",
    ("openai.responses", "compact"): "/v1/responses/compact",
    ("openai.responses", "count"): "/v1/responses/input_tokens",
    ("anthropic", "reply"): "/v1/messages",
    ("anthropic", "count"): "/v1/messages/count_tokens",
}
