"""The path of a request that is for a provider. Read it from top to bottom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
from aiohttp import ClientError, ClientResponse

from fanfold.core.errors import BadInput
from fanfold.dialects.reading import parse
from fanfold.gateway.client import Client
from fanfold.gateway.headers import Headers, get, to_client, to_upstream
from fanfold.gateway.keys import Holder
from fanfold.gateway.route import Destination, upstream_address
from fanfold.gateway.safety import Refused, unpack

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway

EVENTS = "text/event-stream"


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request as the client sent it, and whose it is."""

    to: Destination
    method: str
    path: str
    query: str
    headers: Headers
    body: bytes
    holder: Holder


async def serve_exchange(gateway: Gateway, exchange: Exchange, client: Client) -> None:
    """Take a request to its provider, and the reply back."""
    if exchange.to.route is not None and exchange.body:
        read_request(exchange, gateway.settings.max_body)
    response = await ask(gateway, exchange, exchange.body)
    await pass_on(response, client)


def read_request(exchange: Exchange, most: int) -> Any:
    """The request as an object; None where it is JSON that nobody can read in one way only."""
    body = unpack(exchange.body, get(exchange.headers, b"content-encoding"), most)
    try:
        return parse(body)
    except BadInput:
        try:
            json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400, "The body is no JSON.") from None
        return None


async def ask(gateway: Gateway, exchange: Exchange, body: bytes) -> ClientResponse:
    """The provider's response to this body, which goes where the client's request was meant to go."""
    provider, holder = exchange.to.provider, exchange.holder
    headers = holder.sign(to_upstream(exchange.headers, provider), provider)
    address = upstream_address(gateway.settings.address(provider), exchange.path)
    query = _without_key(exchange.query) if holder.own_keys else exchange.query
    return await gateway.upstreams.send(
        exchange.method, f"{address}?{query}" if query else address, headers, body
    )


def _without_key(query: str) -> str:
    return "&".join(pair for pair in query.split("&") if not pair.startswith("key="))


async def pass_on(response: ClientResponse, client: Client) -> None:
    """Pass a response on as it comes, byte for byte."""
    try:
        headers = to_client(response.raw_headers)
        kind = get(headers, b"content-type") or ""
        packed = get(headers, b"content-encoding")
        await client.start(response.status, headers, is_stream=kind.startswith(EVENTS) and not packed)
        async for piece in response.content.iter_any():
            await client.write(piece)
        await client.end()
    except (ClientError, OSError) as error:
        if client.gone:
            raise
        raise Refused(502, "The provider broke off in the middle of its reply.") from error
    finally:
        response.close()
