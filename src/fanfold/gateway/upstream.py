"""Providers: one pool of connections, redirects never followed, nothing unpacked."""

from __future__ import annotations

from typing import Any

from aiohttp import ClientError, ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from multidict import CIMultiDict
from yarl import URL

from fanfold.gateway.headers import Headers
from fanfold.gateway.safety import Refused

_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""Headers that aiohttp would add; a provider gets the client's, or none."""
_TIMES = ClientTimeout(total=None, connect=30, sock_read=900)
_LINE = 1 << 16
"""Some providers have very long headers."""


class Upstreams:
    """The way to the providers."""

    def __init__(self) -> None:
        self._client: ClientSession | None = None

    def _connected(self) -> ClientSession:
        if self._client is None:
            self._client = ClientSession(
                connector=TCPConnector(limit=0, keepalive_timeout=30),
                timeout=_TIMES,
                auto_decompress=False,
                cookie_jar=DummyCookieJar(),
                skip_auto_headers=_AUTOMATIC,
                max_line_size=_LINE,
                max_field_size=_LINE,
            )
        return self._client

    async def send(self, method: str, address: str, headers: Headers, body: bytes) -> ClientResponse:
        """A provider's response, as soon as its headers are there; whoever gets it closes it."""
        told = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
        given: Any = body if body or method in ("POST", "PUT", "PATCH") else None
        try:
            response = await self._connected().request(
                method, URL(address, encoded=True), headers=told, data=given, allow_redirects=False
            )
        except (ClientError, OSError, TimeoutError) as error:
            raise Refused(502, _unreachable(address, error)) from error
        if 300 <= response.status < 400:
            response.close()
            raise Refused(502, "The provider answered with a redirect, and those are not followed.")
        if not 200 <= response.status < 600:
            response.close()
            raise Refused(
                502, f"The provider answered with the status {response.status}, which ends no request."
            )
        return response

    async def close(self) -> None:
        """Hang up."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _unreachable(address: str, error: BaseException) -> str:
    """Which host failed, and in what way; the text of an error, or the rest of an address, may hold a key."""
    place = URL(address, encoded=True)
    return (
        f"The provider at {place.host}:{place.port} cannot be reached: {type(error).__name__}. Is it running? "
        "Its address is what `fanfold serve --upstream PROVIDER=URL` says, or [serve.upstreams] of fanfold.toml."
    )
