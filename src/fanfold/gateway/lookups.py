"""Replies in which the model looks things up again: those calls are answered here, and the model is asked again.

The client is told what all rounds say as one reply, word by word as it comes, without the calls of our own.
"""

from __future__ import annotations

from asyncio import shield
from logging import getLogger
from typing import TYPE_CHECKING, Any

from aiohttp import ClientError
from msgspec.structs import replace

from fanfold.core.errors import FanfoldError
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.errors import read_error, write_error_event
from fanfold.dialects.http.events import EVENTS, event_reader, wire_bytes
from fanfold.dialects.http.rounds import splice_replies, stream_splice
from fanfold.gateway.client import Client
from fanfold.gateway.conversations import Managed
from fanfold.gateway.foreign import Answer, own_headers
from fanfold.gateway.headers import to_client
from fanfold.gateway.hidden import MOST, is_mixed, own_ids
from fanfold.gateway.question import ask_until_it_fits, read_beginning, record, there
from fanfold.gateway.responses import told_response
from fanfold.gateway.safety import BrokenOff
from fanfold.gateway.stream import Overheard
from fanfold.gateway.work import WORK

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.gateway.exchange import Exchange

_LOG = getLogger("fanfold.gateway")
_MADE_ANEW = (b"content-length", b"content-encoding")


async def serve_rounds(
    gateway: Gateway, exchange: Exchange, client: Client, response: Answer, managed: Managed
) -> None:
    """Ask until the model has looked everything up; the client hears one reply."""
    telling = StreamTelling(client, managed) if managed.asked.streams else WholeTelling(client, managed)
    replies: list[Reply] = []
    first = managed
    while True:
        reply = await hear(gateway, managed, response, telling)
        if reply is None:
            break
        replies.append(reply)
        if reply.usage is not None:
            exchange.account.bill(reply.usage)
        if not own_ids(reply) or len(replies) > MOST + 1:
            break
        gateway.metrics.add("hidden_rounds")
        exchange.account.hidden += 1
        managed = await answer(gateway, managed, replies)
        # The others are the client's; all are answered together in its next request.
        if is_mixed(reply):
            break
        await telling.go_on()
        response, managed, said = await ask_until_it_fits(gateway, exchange, managed)
        if response.status != 200:
            await telling.fail(response, said or await read_beginning(response))
            return
    told = telling.close(joint_usage(replies))
    if replies and managed.asked.dialect == "openai.responses":
        await keep_told(gateway, first, replies, told)
    await telling.finish()


async def keep_told(gateway: Gateway, managed: Managed, replies: list[Reply], told: Any) -> None:
    """Keep a response that the client may go on from; where that fails, it has its reply all the same."""
    try:
        ids = [reply.id for reply in replies]
        await shield(WORK.run(there(gateway.conversations).keep_told, managed, ids, told))
    except FanfoldError as error:
        _LOG.warning("A response in %s could not be kept: %s.", managed.name, type(error).__name__)


async def hear(gateway: Gateway, managed: Managed, response: Answer, telling: Telling) -> Reply | None:
    """One round, told as it comes and recorded before its end is told; whoever has the reply may ask again at once."""
    heard = Overheard.of(response, streams=managed.asked.streams)
    try:
        await telling.start(response)
        async for piece in response.content.iter_any():
            await telling.tell(heard, piece)
        await telling.keep(heard)
    except (ClientError, OSError) as error:
        if telling.client.gone:
            raise
        raise BrokenOff(502, "The provider broke off in the middle of its reply.") from error
    finally:
        response.close()
        reply = await record(gateway, managed, heard)
    return reply


async def answer(gateway: Gateway, managed: Managed, replies: list[Reply]) -> Managed:
    """Answer the calls that are none of the client's, and write what is sent next; after many, tell the model so."""
    conversations, reply, enough = there(gateway.conversations), replies[-1], len(replies) > MOST
    async with gateway.turn(managed.holder.tenant, managed.name):
        await WORK.run(lambda: conversations.answer(managed, reply, enough=enough))
        if is_mixed(reply):
            return managed
        spent = sum(each.usage.output for each in replies if each.usage is not None)
        return await WORK.run(conversations.go_on, managed, spent)


def joint_usage(replies: list[Reply]) -> TokenUsage | None:
    """What a client is told that several rounds took: the last one's input, and the output of all; None for one round.

    What the provider billed for the earlier rounds was the same prompt again, which says nothing about the window.
    """
    bills = [reply.usage for reply in replies if reply.usage is not None]
    if len(replies) < 2 or not bills or replies[-1].usage is None:
        return None
    total, reasoning = (sum(getattr(bill, name) for bill in bills) for name in ("output", "reasoning"))
    return replace(bills[-1], output=total, reasoning=reasoning)


class StreamTelling:
    """Tells rounds as one stream, each event as soon as it is known to be the client's."""

    def __init__(self, client: Client, managed: Managed) -> None:
        asked = managed.asked
        self.client, self._managed = client, managed
        self._splice = stream_splice(asked.dialect, managed.hidden, events=asked.route.events)
        self._end = b""

    async def start(self, response: Answer) -> None:
        """Open the client's stream with the first round."""
        if not self.client.started:
            headers = to_client(response.raw_headers, without=_MADE_ANEW)
            told = [*headers, *self._managed.headers(), *own_headers(response)]
            is_stream = (response.headers.get("content-type") or "").startswith(EVENTS)
            await self.client.start(200, told, is_stream=is_stream)

    async def tell(self, heard: Overheard, piece: bytes) -> None:
        """Tell the events that end in this piece; the reply's end is held back."""
        await self.client.write(b"".join(map(self._splice.feed, heard.hear(piece))))

    async def keep(self, heard: Overheard) -> None:
        """The round is over; what has no end is the client's business."""
        await self.client.write(heard.rest())

    async def go_on(self) -> None:
        """Another round follows."""
        await self.client.write(self._splice.next_round())

    async def fail(self, response: Answer, said: bytes) -> None:
        """The provider refused to go on."""
        error = read_error(response.status, body=said)
        await self.client.write(write_error_event(self._managed.asked.dialect, error))
        await self.client.end()

    def close(self, usage: TokenUsage | None) -> Any:
        """Make the end, which is told by `finish`; the whole response that it tells, if it does."""
        self._end = self._splice.finish(usage)
        return told_response(event.json() for event in event_reader(EVENTS).feed(self._end))

    async def finish(self) -> None:
        """Tell the end."""
        self.client.satisfied = True
        await self.client.write(self._end)
        await self.client.end()


class WholeTelling:
    """Tells rounds as one body when the last one is there."""

    def __init__(self, client: Client, managed: Managed) -> None:
        self.client, self._managed = client, managed
        self._bodies: list[Any] = []
        self._raw = b""
        self._without: tuple[bytes, ...] = ()

    async def start(self, response: Answer) -> None:
        """Remember whose headers the reply has."""
        self._response, self._raw = response, b""

    async def tell(self, heard: Overheard, piece: bytes) -> None:
        """Take a piece in."""
        heard.hear(piece)
        self._raw += piece

    async def keep(self, heard: Overheard) -> None:
        """A round is whole."""
        self._bodies.append(heard.body())

    async def go_on(self) -> None:
        """The client waits."""

    async def fail(self, response: Answer, said: bytes) -> None:
        """The provider refused to go on, and the client has heard nothing yet."""
        await self._send(response, response.status, said, ())

    def close(self, usage: TokenUsage | None) -> Any:
        """Make the whole reply, which is told by `finish`; as it came where nothing is hidden in it."""
        asked, bodies = self._managed.asked, self._bodies
        if None in bodies:
            return None
        whole = splice_replies(asked.dialect, bodies, self._managed.hidden, usage)
        if len(bodies) > 1 or whole != bodies[0]:
            self._raw, self._without = wire_bytes(whole), _MADE_ANEW
        return whole

    async def finish(self) -> None:
        """Tell the reply."""
        await self._send(self._response, 200, self._raw, self._without)

    async def _send(self, response: Answer, status: int, data: bytes, without: tuple[bytes, ...]) -> None:
        headers = to_client(response.raw_headers, without=(b"content-length", *without))
        await self.client.start(status, [*headers, *self._managed.headers(), *own_headers(response)])
        await self.client.write(data)
        await self.client.end()


Telling = StreamTelling | WholeTelling
