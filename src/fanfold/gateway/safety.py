"""What is refused before anything else is done: strange hosts, other sites, tricks in paths, bombs."""

from __future__ import annotations

import re
from asyncio import timeout
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from fanfold.gateway.headers import Headers, get
from fanfold.gateway.route import is_plain

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
BODY_TIME = 600.0
"""Seconds in which the body of a request has to come."""
_ONCE = (b"content-length", b"host", b"content-type", b"content-encoding", b"origin", b"sec-fetch-site")
"""Headers of which a second one would be believed by somebody else."""
_SAME_SITE = (None, "same-origin", "none")


_HOST = re.compile(r"(?:\[(?P<inner>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]]+))(?::[0-9]*)?")


class Refused(Exception):
    """A request that the gateway answers itself, with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class BrokenOff(Refused):
    """A reply that broke off after its status was told: all that is left is to hang up, as the provider did."""


def check_request(method: str, path: str, headers: Headers, hosts: Collection[str]) -> None:
    """Refuse what no agent sends: a page of another site, a name that leads here by a trick, an odd path.

    A provider that obeys TRACE would send the key back that it was asked with, which may not be the client's own.
    """
    if method not in _METHODS:
        raise Refused(405, "No provider has requests of this kind.")
    host = get(headers, b"host") or ""
    if _without_port(host) not in hosts:
        raise Refused(421, "This host name is not served here. Name it in `[serve] hosts`, or use 127.0.0.1.")
    origin = get(headers, b"origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Refused(403, "Requests from web pages of another origin are refused.")
    if get(headers, b"sec-fetch-site") not in _SAME_SITE:
        raise Refused(403, "Requests from web pages of another site are refused.")
    if path != "/" and not is_plain(path):
        raise Refused(400, "The path has something in it that no provider's paths have.")
    names = [name for name, _ in headers]
    for name in _ONCE:
        if names.count(name) > 1:
            raise Refused(400, f"The request has two headers called {name.decode()}.")
    chunks = get(headers, b"transfer-encoding")
    if chunks is not None and chunks.strip().lower() != "chunked":
        raise Refused(400, "The transfer-encoding is not known here: send the body as it is, or in chunks.")


@lru_cache(8)
def _without_port(host: str) -> str:
    found = _HOST.fullmatch(host)
    return (found["inner"] or found["name"]).lower().rstrip(".") if found else ""


def check_json(headers: Headers) -> None:
    """Refuse a body that does not call itself JSON: a web page can send others without being asked."""
    kind = (get(headers, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(415, "The body must be JSON: send it with `content-type: application/json`.")


def too_large(most: int) -> Refused:
    """What somebody hears whose body is larger than this."""
    return Refused(413, f"The body is larger than {most >> 20} MiB, which is the most that is taken here.")


async def read_body(receive: Any, headers: Headers, most: int) -> bytes:
    """The body of a request, if it is not too large."""
    told = get(headers, b"content-length")
    if told is not None and (not told.isdigit() or int(told) > most):
        raise too_large(most)
    try:
        async with timeout(BODY_TIME):
            return await _read_pieces(receive, most)
    except TimeoutError:
        raise Refused(408, "The body of the request did not come in time.") from None


async def _read_pieces(receive: Any, most: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ConnectionResetError("The client went away before its request was whole.")
        pieces.append(event.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise too_large(most)
        if not event.get("more_body"):
            return b"".join(pieces)
