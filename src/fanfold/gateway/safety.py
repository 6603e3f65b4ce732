"""What is refused before anything else is done: strange hosts, other sites, tricks in paths, bombs."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from typing import Any, Protocol

from fanfold.gateway.headers import Headers, get
from fanfold.gateway.route import is_plain

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SAME_SITE = (None, "same-origin", "none")


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
    if names.count(b"content-length") > 1:
        raise Refused(400, "The request has two lengths.")
    if names.count(b"host") > 1:
        raise Refused(400, "The request has two hosts.")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    name, _, port = host.partition(":")
    return name.lower().rstrip(".") if not port or port.isdecimal() else host


def check_json(headers: Headers) -> None:
    """Refuse a body that does not call itself JSON: a web page can send others without being asked."""
    kind = (get(headers, b"content-type") or "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise Refused(415, "The body must be JSON: send it with `content-type: application/json`.")


class Unpacking(Protocol):
    """Something that unpacks pieces, as zlib's and zstandard's objects do."""

    def decompress(self, data: bytes, /) -> bytes:
        """What comes of the next piece."""


def unpacking(coding: str | None) -> Unpacking | None:
    """What unpacks this content coding; None where nothing is packed, or nobody here knows how."""
    match (coding or "").strip().lower():
        case "gzip" | "x-gzip":
            return zlib.decompressobj(31)
        case "deflate":
            return zlib.decompressobj()
        case "zstd":
            import zstandard

            found: Unpacking = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
            return found
    return None


def is_packed(coding: str | None) -> bool:
    """Whether a body is packed in any way."""
    return (coding or "identity").strip().lower() not in ("identity", "")


def unpack(body: bytes, coding: str | None, most: int) -> bytes:
    """A body as it was before it was packed; never more than `most` bytes of it are made."""
    if not is_packed(coding):
        return body
    match (coding or "").strip().lower():
        case "gzip" | "x-gzip":
            return _inflate(body, 31, most)
        case "deflate":
            return _inflate(body, 15, most)
        case "zstd":
            return _read_zstd(body, most)
    raise Refused(
        415, f"The body is packed with {str(coding)[:40]!r}: gzip, deflate and zstd are known here."
    )


def _inflate(body: bytes, bits: int, most: int) -> bytes:
    unpacker = zlib.decompressobj(bits)
    try:
        data = unpacker.decompress(body, most + 1)
    except zlib.error:
        raise Refused(400, "The packed body cannot be read.") from None
    if len(data) > most:
        raise _too_large(most)
    if not unpacker.eof:
        raise Refused(400, "The packed body ends in the middle.")
    return data


def _read_zstd(body: bytes, most: int) -> bytes:
    import zstandard

    reader: Any = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body)
    try:
        data: bytes = reader.read(most + 1)
    except zstandard.ZstdError:
        raise Refused(400, "The packed body cannot be read.") from None
    if len(data) > most:
        raise _too_large(most)
    return data


def _too_large(most: int) -> Refused:
    return Refused(413, f"The body is larger than {most >> 20} MiB, which is the most that is taken here.")


async def read_body(receive: Any, headers: Headers, most: int) -> bytes:
    """The body of a request, if it is not too large."""
    told = get(headers, b"content-length")
    if told is not None and (not told.isdigit() or int(told) > most):
        raise _too_large(most)
    pieces: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ConnectionResetError("The client went away before its request was whole.")
        pieces.append(event.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            raise _too_large(most)
        if not event.get("more_body"):
            return b"".join(pieces)
