"""Replies in which the model looks things up again: those calls are answered here, and the model is asked again.

A reply is told when it is whole, because it may turn out to be none of the client's. A stream is held open meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import ClientError

from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.deltas import Opening, tell
from fanfold.dialects.http.errors import read_error, write_error_event
from fanfold.dialects.http.events import EVENTS, wire_bytes
from fanfold.dialects.http.replies import replay, reply_id, write_reply
from fanfold.gateway.client import Client
from fanfold.gateway.conversations import WORK, Managed
from fanfold.gateway.foreign import Answer, own_headers
from fanfold.gateway.headers import to_client
from fanfold.gateway.hidden import MOST, is_mixed, own_ids, without_own_calls
from fanfold.gateway.question import ask, record, there
from fanfold.gateway.safety import BrokenOff
from fanfold.gateway.stream import Overheard

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.gateway.exchange import Exchange


async def serve_rounds(
    gateway: Gateway, exchange: Exchange, client: Client, response: Answer, managed: Managed
) -> None:
    """Ask until the model has looked everything up, then tell the client the last reply."""
    conversations = there(gateway.conversations)
    if managed.asked.streams:
        await start(client, response, managed)
    for number in range(MOST + 1):
        heard, data = await read_whole(response, managed)
        reply = await record(gateway, managed, heard) if response.status == 200 else None
        if reply is not None and reply.usage is not None:
            exchange.account.bill(reply.usage)
        if reply is None or not own_ids(reply) or number == MOST:
            break
        gateway.metrics.add("hidden_rounds")
        exchange.account.hidden += 1
        async with gateway.turn(managed.holder.tenant, managed.name):
            await WORK.run(conversations.answer, managed, reply)
        # The others are the client's; all are answered together in its next request.
        if is_mixed(reply):
            told = without_own_calls(reply)
            await finish(client, response, managed, told_bytes(managed, told))
            return
        async with gateway.turn(managed.holder.tenant, managed.name):
            managed = await WORK.run(conversations.go_on, managed)
        response = await ask(gateway, exchange, managed.body or exchange.body, managed)
    await finish(client, response, managed, data)


async def start(client: Client, response: Answer, managed: Managed) -> None:
    """Open the client's stream before its reply is there."""
    headers = to_client(response.raw_headers, without=(b"content-length",))
    is_stream = (response.headers.get("content-type") or "").startswith(EVENTS)
    await client.start(200, [*headers, *managed.headers(), *own_headers(response)], is_stream=is_stream)


async def read_whole(response: Answer, managed: Managed) -> tuple[Overheard, bytes]:
    """A whole response: read, and its bytes."""
    heard = Overheard.of(response, streams=managed.asked.streams)
    try:
        data = await response.read()
    except (ClientError, OSError) as error:
        raise BrokenOff(502, "The provider broke off in the middle of its reply.") from error
    finally:
        response.close()
    heard.hear(data)
    return heard, data


def told_bytes(managed: Managed, told: Reply) -> bytes:
    """A reply as the client gets it, in the form that it asked for."""
    asked = managed.asked
    id = told.id or reply_id(asked.dialect, f"{managed.name}.{managed.sent.sent.digest}")
    whole = write_reply(asked.dialect, tell(told, Opening(id=id, model=asked.model or "")), asked.body)
    if not asked.streams:
        return wire_bytes(whole)
    return b"".join(replay(asked.dialect, whole, asked.body, events=asked.route.events))


async def finish(client: Client, response: Answer, managed: Managed, data: bytes) -> None:
    """Tell the reply, or the error that came instead of it."""
    if client.started and response.status != 200:
        data = write_error_event(managed.asked.dialect, read_error(response.status, body=data))
    if not client.started:
        headers = to_client(response.raw_headers, without=(b"content-length",))
        await client.start(response.status, [*headers, *managed.headers(), *own_headers(response)])
    await client.write(data)
    await client.end()
