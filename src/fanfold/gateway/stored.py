"""Requests about stored responses: answered from what is kept here, else by the provider.

A client is told a reply of several rounds as one response, and its provider may have seen less than the client sent. So
only what is kept here is what the client knows. What is deleted here is deleted at the provider, too.
"""

from __future__ import annotations

from asyncio import shield
from logging import getLogger
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from fanfold.core.errors import FanfoldError
from fanfold.dialects.http.errors import write_error
from fanfold.gateway.client import Client
from fanfold.gateway.conversations import Conversations
from fanfold.gateway.question import ask
from fanfold.gateway.responses import DIALECT, UnknownResponse, told_response
from fanfold.gateway.safety import Refused
from fanfold.gateway.stream import Overheard
from fanfold.gateway.work import WORK

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.gateway.exchange import Exchange

_LOG = getLogger("fanfold.gateway")
_ABOUT = ("stored", "delete", "input_items")


async def answer_stored(gateway: Gateway, exchange: Exchange, client: Client) -> bool:
    """Answer a request about a stored response; tell whether that could be done."""
    route, conversations, holder = exchange.to.route, gateway.conversations, exchange.holder
    if route is None or route.id is None or route.purpose not in _ABOUT or conversations is None:
        return False
    # A stream that goes on where it broke off is the provider's: only that one knows its events.
    if parse_qs(exchange.query).get("stream", [""])[-1] == "true":
        return False
    is_elsewhere = DIALECT in holder.elsewhere
    try:
        told = await WORK.run(_look, conversations, exchange)
    except UnknownResponse as unknown:
        if not holder.own_keys and not is_elsewhere:
            return False
        error = write_error(DIALECT, unknown.trouble)
        await client.tell_json(error.status, error.body)
        return True
    except FanfoldError as error:
        _LOG.warning("A stored response cannot be looked up here: %s.", type(error).__name__)
        return False
    if route.purpose == "delete" and not is_elsewhere:
        await _delete_at_provider(gateway, exchange)
    await client.tell_json(200, told)
    return True


def _look(conversations: Conversations, exchange: Exchange) -> dict[str, Any]:
    tenant, route, responses = exchange.holder.tenant, exchange.to.route, conversations.responses
    assert route is not None
    assert route.id is not None
    if route.purpose == "delete":
        return conversations.delete(tenant, route.id)
    if route.purpose == "input_items":
        return responses.input_items(tenant, route.id, exchange.query)
    return responses.get(tenant, route.id)


async def _delete_at_provider(gateway: Gateway, exchange: Exchange) -> None:
    """Let the provider delete it, too; most know it only if they stored it."""
    try:
        response = await ask(gateway, exchange, b"")
        response.close()
        if response.status >= 400 and response.status != 404:
            _LOG.warning("A response that was deleted here stays at its provider (%s).", response.status)
    except Refused as refused:
        _LOG.warning("A response that was deleted here stays at its provider: %s", refused)


async def keep_beside(gateway: Gateway, exchange: Exchange, heard: Overheard) -> None:
    """Keep a response that belongs to no session, in full."""
    conversations, asked, tenant = gateway.conversations, exchange.asked, exchange.holder.tenant
    told = told_response(heard.events) if heard.is_stream else heard.body()
    if conversations is None or asked is None or not isinstance(told, dict):
        return
    try:
        await shield(WORK.run(lambda: conversations.responses.keep(tenant, told, asked=asked.body)))
    except FanfoldError as error:
        _LOG.warning("A response could not be kept: %s.", type(error).__name__)
