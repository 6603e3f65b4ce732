"""Requests as they come over HTTP, and back.

The dialects read what an SDK is given: `betas` among the arguments, Gemini's model beside its contents. Over HTTP the
one is a header and the other is in the path. `read_request` and `write_request` go between the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fanfold.core.errors import BadInput
from fanfold.dialects.http.events import wire_bytes
from fanfold.dialects.http.routes import Purpose, Route, find_route, reply_path
from fanfold.dialects.reading import parse
from fanfold.dialects.registry import DialectName, module_of

BETA = "anthropic-beta"
_VERSION = {"anthropic-version": "2023-06-01"}


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, as a server understands it."""

    route: Route
    body: dict[str, Any]
    """As the library's dialects want it: with `betas` and, for Gemini, with `model` in it."""
    model: str | None = None
    streams: bool = False

    @property
    def dialect(self) -> DialectName:
        """The dialect that the client speaks."""
        return self.route.dialect


class HttpForm(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is sent."""

    path: str
    """With its query; it follows the provider's address."""
    headers: dict[str, str]
    """Headers that the dialect needs. The caller adds keys, and the client's own headers."""
    body: bytes


def read_request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> HttpRequest | None:
    """What a client asks for; None where no dialect knows the path. `BadInput` says what is wrong with the body.

    The names of headers are in small letters. A body that was compressed is given as it was before.
    """
    route = find_route(method, target, headers)
    if route is None:
        return None
    read = parse(body) if body else {}
    if not isinstance(read, dict):
        raise BadInput("The body is a list; a request is an object.")
    return HttpRequest(
        route=route,
        body=_with_header(route, read, headers),
        model=route.model or _text(read.get("model")),
        streams=route.streams if route.dialect == "gemini" else read.get("stream") is True,
    )


def _with_header(route: Route, body: dict[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    if route.dialect == "gemini" and route.model:
        return {**body, "model": route.model}
    if route.dialect == "anthropic" and (betas := read_betas(headers.get(BETA))):
        return {**body, "betas": betas}
    return body


def read_betas(header: str | None) -> list[str]:
    """The names in an `anthropic-beta` header, in order."""
    return [name for part in (header or "").split(",") if (name := part.strip())]


def write_request(
    dialect: DialectName, body: Mapping[str, Any], *, streams: bool = False, purpose: Purpose = "reply"
) -> HttpForm:
    """What a dialect wrote (`Session.request`, `encode`), as it is sent over HTTP.

    `streams` asks for a stream of events; where the dialect says it in the body, it is said there.
    """
    sent = dict(body)
    headers = {"content-type": "application/json"}
    model = _text(sent.get("model"))
    if dialect == "gemini":
        sent = module_of(dialect, "rest").rest_body(sent)
    elif purpose == "reply" and (streams or "stream" in sent):
        sent["stream"] = streams
    if dialect == "anthropic":
        betas = sent.pop("betas", None)
        headers |= _VERSION | ({BETA: ",".join(map(str, betas))} if betas else {})
    path = reply_path(dialect, purpose, model, streams=streams)
    return HttpForm(path=path, headers=headers, body=wire_bytes(sent))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
