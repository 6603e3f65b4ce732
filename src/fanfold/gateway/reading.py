"""What a client asks for: read as a whole, or only as far as it is new."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fanfold.core.errors import BadInput
from fanfold.dialects.http.request import BETA, HttpRequest, read_request
from fanfold.gateway.course import Continuation, Place, place_of
from fanfold.gateway.headers import get
from fanfold.gateway.packing import is_readable, unpack
from fanfold.gateway.safety import Refused

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.gateway.exchange import Exchange


def is_legible(exchange: Exchange) -> bool:
    """Whether the body is packed in a way that is known here, or not at all."""
    return is_readable(get(exchange.headers, b"content-encoding"))


def unpacked(exchange: Exchange, most: int) -> bytes:
    """The body as it was before the client packed it."""
    return unpack(exchange.body, get(exchange.headers, b"content-encoding"), most)


def read(exchange: Exchange, most: int) -> HttpRequest | None:
    """What the client asks for; None where it is nothing that a session could answer."""
    if exchange.to.route is None or not exchange.body or not is_legible(exchange):
        return None
    body = unpacked(exchange, most)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in exchange.headers}
    try:
        return read_request(exchange.method, f"{exchange.path.rstrip('/')}?{exchange.query}", headers, body)
    except BadInput:
        try:
            json.loads(body)
        except RecursionError:
            raise Refused(400, "The body is JSON, but it is nested too deeply to be read here.") from None
        except ValueError:
            raise Refused(400, "The body is no JSON.") from None
        return None  # JSON that cannot be read in one way only is the provider's business


def find_step(gateway: Gateway, exchange: Exchange) -> Continuation | None:
    """The conversation that a request goes on from, where its bytes tell."""
    if gateway.conversations is None or exchange.to.purpose != "reply" or wants_bypass(exchange):
        return None
    if not is_legible(exchange):
        return None
    data = unpacked(exchange, gateway.settings.max_body)
    return gateway.courses.find(place(exchange), exchange.holder, exchange.headers, data)


def place(exchange: Exchange) -> Place:
    """Where the course of this conversation is kept."""
    betas = get(exchange.headers, BETA.encode()) or ""
    return place_of(exchange.holder.tenant, exchange.path, exchange.query, exchange.headers, betas)


def wants_bypass(exchange: Exchange) -> bool:
    """Whether the client wants this request to be passed on as it is."""
    told = get(exchange.headers, b"x-fanfold-bypass") or ""
    return told.lower() not in ("", "0", "false", "no")
