"""The path of a request that is for a provider. Read it from top to bottom.

read        what the client asks for, in its dialect
manage      find its session, adopt its history, reduce what is too long
ask         send it to the provider; where that says "too long", reduce and ask again
pass_on     give the client the provider's bytes as they come, and listen beside
record      keep what was answered, in the session that asked for it
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from logging import getLogger
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import ClientError

from fanfold.config.telemetry import WatchedCall, is_watched, model_call
from fanfold.core.errors import BadInput, Busy, DoesNotFit, FanfoldError, UnknownModel
from fanfold.dialects.http.events import EVENTS
from fanfold.dialects.http.replies import replay
from fanfold.dialects.http.request import HttpRequest
from fanfold.gateway.client import Client
from fanfold.gateway.compaction import compacted_reply, is_trigger, without_trigger
from fanfold.gateway.conversations import Conversations, Managed, Unmanaged
from fanfold.gateway.course import Continuation, Course
from fanfold.gateway.foreign import Answer, own_headers
from fanfold.gateway.headers import Headers, get, header_value, to_client
from fanfold.gateway.identity import claim_of
from fanfold.gateway.journal import Exchanged, begin
from fanfold.gateway.keys import Holder
from fanfold.gateway.lookups import serve_rounds
from fanfold.gateway.question import ask, ask_until_it_fits, record
from fanfold.gateway.reading import find_step, is_legible, place, read, unpacked, wants_bypass
from fanfold.gateway.references import CARRYING, check_shared, check_stored
from fanfold.gateway.responses import may_be_looked_up
from fanfold.gateway.route import Destination
from fanfold.gateway.safety import BrokenOff, Refused
from fanfold.gateway.stored import answer_stored, keep_beside
from fanfold.gateway.stream import Overheard
from fanfold.gateway.work import WORK, run_short

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway

_LOG = getLogger("fanfold.gateway")
_GUARDED = (
    "Something was erased that may be in this conversation, and it cannot be kept out just now. Try again."
)
_UNTOLD = (
    "The store was not reached since the gateway started, so what was erased is not known. Try again later."
)
_CARRIED = (
    "Something was erased that may be in this conversation, so it is not sent to its provider as it is."
)
_UNREAD = (
    "Something was erased here, and requests of this kind are not searched for it. Send them to the provider directly. "
    "Or say that they belong to other work: with a name of your own in the header x-fanfold-session."
)
_BESIDE = (
    "Something was erased in this session, and it cannot be kept out of a request beside the conversation."
)
_REASONS = {UnknownModel: "unknown model", BadInput: "not understood"}


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A request as the client sent it, and whose it is."""

    to: Destination
    method: str
    path: str
    query: str
    headers: Headers
    body: bytes
    holder: Holder
    asked: HttpRequest | None = None
    """What is asked for, once it is read; None where it is nothing that a session could answer."""
    step: Continuation | None = None
    """How it goes on from the last request of its conversation, where its bytes tell: then only that much is read."""
    account: Exchanged = msgspec.field(default_factory=begin)
    """What is noted about it on the way."""


async def serve_exchange(gateway: Gateway, exchange: Exchange, client: Client) -> None:
    """Take a request to its provider, and the reply back; for those who watch, a reply is a call to a model."""
    step = find_step(gateway, exchange)
    asked = step.course.asked if step is not None else read(exchange, gateway.settings.max_body)
    holder = exchange.holder.for_model(asked.model) if asked is not None else exchange.holder
    exchange = msgspec.structs.replace(exchange, asked=asked, step=step, holder=holder)
    if asked is None or exchange.to.purpose != "reply" or not is_watched():
        await serve_asked(gateway, exchange, asked, client)
        return
    with model_call() as call:
        if call is not None:
            await serve_watched(gateway, exchange, asked, client, call)
        else:
            await serve_asked(gateway, exchange, asked, client)


async def serve_watched(
    gateway: Gateway, exchange: Exchange, asked: HttpRequest, client: Client, call: WatchedCall
) -> None:
    """The same, and whoever watches is told who was asked and what went wrong."""
    host = urlsplit(gateway.settings.address(exchange.to.provider)).hostname or ""
    call.ask(asked.dialect, asked.model, **{"server.address": host})
    try:
        await serve_asked(gateway, exchange, asked, client)
    except Refused as refused:
        call.fail(str(refused.status))
        raise
    if client.status >= 400:
        call.fail(str(client.status))


async def serve_asked(
    gateway: Gateway, exchange: Exchange, asked: HttpRequest | None, client: Client
) -> None:
    """Manage a request, ask, pass the reply on, and record it."""
    account, own = exchange.account, Headers()
    account.model = (asked.model if asked is not None else None) or ""
    check_shared(exchange, asked)
    managed = await follow(gateway, exchange)
    if managed is None and exchange.step is not None:
        asked = read(exchange, gateway.settings.max_body)
        exchange = msgspec.structs.replace(exchange, asked=asked, step=None)
    if managed is None:
        if await answer_stored(gateway, exchange, client):
            return
        await check_stored(gateway, exchange, asked)
        if asked is not None and is_trigger(asked) and await answer_trigger(gateway, exchange, asked, client):
            return
    try:
        managed = managed or await manage(gateway, exchange, asked)
    except Unmanaged as reason:
        own = [(b"x-fanfold-bypassed", header_value(str(reason)))]
        account.bypassed = str(reason)
    account.own = time() - account.time
    if managed is None:
        response, listener = await ask(gateway, exchange, exchange.body), None
        if response.status == 200 and may_be_looked_up(asked, exchange.holder):
            heard = Overheard.of(response, streams=asked is not None and asked.streams)
            listener = Listener(heard, partial(keep_beside, gateway, exchange, heard))
        await pass_on(response, client, own, listener)
        await client.end()
        return
    response, managed, said = await ask_until_it_fits(gateway, exchange, managed)
    note_managed(account, managed)
    if response.status != 200:
        await pass_on(response, client, managed.headers(), said=said)
        await client.end()
        return
    heard = Overheard.of(response, streams=managed.asked.streams)
    if managed.hidden and not heard.deaf:
        await serve_rounds(gateway, exchange, client, response, managed)
        return
    listener = Listener(heard, partial(record_and_bill, gateway, managed, heard, account))
    await pass_on(response, client, managed.headers(), listener)
    await client.end()


async def record_and_bill(gateway: Gateway, managed: Managed, heard: Overheard, account: Exchanged) -> None:
    """Record a reply in its session, and what it cost in the journal."""
    reply = await record(gateway, managed, heard)
    if reply is not None and reply.usage is not None:
        account.bill(reply.usage)


class Listener:
    """Whoever listens to a reply that passes by, and records it once."""

    def __init__(self, heard: Overheard, keep: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.heard = heard
        self._keep = keep
        """Keeps what was heard, even if the client goes meanwhile."""
        self.recorded = False
        """Whether all was kept, or is about to be: then nothing is waited for any more."""

    def hear(self, piece: bytes) -> int:
        """Take in what is about to pass. Returns how much of it may pass before the reply is recorded.

        The end waits for that, for whoever has the whole reply may ask again at once. Of a stream that is its last
        event, of a whole reply its last piece.
        """
        self.heard.pass_by(piece)
        if self.recorded or not self.heard.ended:
            return len(piece)
        last = piece.rstrip(b"\r\n").rfind(b"\n\n") + 2 if self.heard.is_stream else 0
        return last if last > 1 else 0

    async def record(self) -> None:
        """Keep what was heard so far."""
        if not self.recorded:
            self.recorded = True
            await self._keep()


def note_managed(account: Exchanged, managed: Managed) -> None:
    """Note what is sent, and how long the client's own request is."""
    account.session, account.tokens, account.edits = managed.name, managed.after, managed.edits
    if not account.whole:  # further rounds of a reply are not the client's
        account.again, account.caches = managed.alone.again, managed.alone.caches
        account.unmarked = not managed.alone.marked
    account.whole = managed.whole
    account.over = managed.sent.sent.over


async def answer_trigger(gateway: Gateway, exchange: Exchange, asked: HttpRequest, client: Client) -> bool:
    """Answer a client that compacts with a reference to everything; tell whether that could be done."""
    conversations, tenant = gateway.conversations, exchange.holder.tenant
    if conversations is None:
        return False
    try:
        request = without_trigger(asked)
        name = await WORK.run(conversations.find, exchange.headers, exchange.holder, request)
        async with gateway.turn(tenant, name):
            reference = await WORK.run(conversations.refer, name, exchange.holder, request)
    except (FanfoldError, Unmanaged) as error:
        _LOG.warning("A client's compaction is left to its provider: %s.", type(error).__name__)
        return False
    gateway.metrics.add("client_compactions")
    own = [(b"x-fanfold-session", header_value(name))]
    body = compacted_reply(reference, asked.model, int(time()))
    if asked.route.purpose == "compact":
        body = {key: body[key] for key in ("id", "created_at", "output", "usage")} | {
            "object": "response.compaction"
        }
    if not asked.streams:
        await client.tell_json(200, body, own)
        return True
    await client.start(200, [(b"content-type", EVENTS.encode()), *own], is_stream=True)
    await client.write(b"".join(replay(asked.dialect, body, asked.body)))
    await client.end()
    return True


# Manage


async def follow(gateway: Gateway, exchange: Exchange) -> Managed | None:
    """What to send, where a conversation goes on and nothing has to be changed; None where that is not certain."""
    step, conversations = exchange.step, gateway.conversations
    if step is None or conversations is None:
        return None
    try:
        session = (exchange.holder.tenant, step.course.name)
        try:
            found = gateway.do_now(session, step.size, conversations.follow, step)
        except Busy:
            async with gateway.turn(*session):
                found = await run_short(conversations.pool, session, step.size, conversations.follow, step)
    except Exception as error:  # whatever it is, it is met again where the request is read as a whole
        _LOG.debug("A request is read as a whole: %s.", type(error).__name__)
        return None
    if found is None:
        gateway.courses.forget(step.course.place, step.course.name)
        return None
    managed, course = found
    gateway.courses.keep(course)
    count_managed(gateway, managed)
    return managed


async def manage(gateway: Gateway, exchange: Exchange, asked: HttpRequest | None) -> Managed:
    """What to send, reduced where it has to be; `Unmanaged` where the client's request is passed on as it is."""
    conversations = gateway.conversations
    if conversations is None:
        raise Unmanaged("switched off")
    if asked is None or exchange.to.purpose != "reply":
        if exchange.to.purpose in CARRYING:
            await check_erased(conversations, exchange, asked)
        elif exchange.body:
            check_unread(conversations, exchange)
        raise Unmanaged("no conversation" if is_legible(exchange) else "packed in an unknown way")
    tenant, name = exchange.holder.tenant, None
    try:
        if wants_bypass(exchange) and not conversations.guards(tenant):
            raise Unmanaged("asked for")
        name = await WORK.run(conversations.find, exchange.headers, exchange.holder, asked)
        if wants_bypass(exchange) and not conversations.guards(tenant, name):
            raise Unmanaged("asked for")
        async with gateway.turn(tenant, name):
            managed, course = await WORK.run(prepare, conversations, name, exchange, asked)
    except DoesNotFit as error:
        raise Refused(400, f"prompt is too long: {error}") from error
    except Unmanaged as reason:
        if name is None:
            check_beside(conversations, exchange, asked)
        gateway.metrics.add("bypassed", reason=str(reason))
        raise
    except Exception as error:
        if conversations.guards(tenant, name):
            _LOG.error("A request is refused, because something was erased and %s.", type(error).__name__)
            raise Refused(503, _GUARDED if conversations.is_told else _UNTOLD) from error
        raise _bypass(gateway, error) from error
    if course is not None:
        gateway.courses.keep(course)
    count_managed(gateway, managed)
    return managed


async def check_erased(conversations: Conversations, exchange: Exchange, asked: HttpRequest | None) -> None:
    """Refuse what carries a history to a provider as it is, where something erased may be in it."""
    tenant, name = exchange.holder.tenant, None
    if not conversations.guards(tenant):
        return
    with suppress(FanfoldError, Unmanaged):
        name = await WORK.run(conversations.find, exchange.headers, exchange.holder, asked) if asked else None
    if conversations.guards(tenant, name):
        raise Refused(404 if exchange.to.purpose == "count" else 503, _CARRIED)


def check_unread(conversations: Conversations, exchange: Exchange) -> None:
    """Refuse what no session reads, such as batches and embeddings, where something erased may be in it.

    Whoever names a session in which nothing was erased says what the words belong to, as with a conversation.
    """
    tenant, claim = exchange.holder.tenant, claim_of(exchange.headers, {})
    if not conversations.guards(tenant):
        return
    if not conversations.is_told:
        raise Refused(503, _UNTOLD)
    if claim is None or conversations.guards_claim(tenant, claim):
        raise Refused(403, _UNREAD)


def check_beside(conversations: Conversations, exchange: Exchange, asked: HttpRequest) -> None:
    """Refuse what is passed on beside a session in which something was erased, such as a request for a title."""
    claim = claim_of(exchange.headers, asked.body)
    if claim is not None and conversations.guards_claim(exchange.holder.tenant, claim):
        raise Refused(403, _BESIDE)


def prepare(
    conversations: Conversations, name: str, exchange: Exchange, asked: HttpRequest
) -> tuple[Managed, Course | None]:
    """What to send, and by what the next request of the same conversation will be known."""
    managed = conversations.prepare(name, exchange.holder, asked)
    if asked.dialect in exchange.holder.elsewhere or managed.body is not None:
        return managed, None
    return managed, conversations.chart(managed, place(exchange), unpacked(exchange, len(exchange.body) << 8))


def count_managed(gateway: Gateway, managed: Managed) -> None:
    """Count a request that is managed."""
    gateway.metrics.add("managed")
    gateway.metrics.add("edited", int(managed.edits > 0))
    gateway.metrics.add("tokens_after", managed.after)


def _bypass(gateway: Gateway, error: Exception) -> Unmanaged:
    """Pass a request on unmanaged, and say so in the log; an error's text may quote the conversation."""
    named = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
    reason = next(named, "failed")
    gateway.metrics.add("bypassed", reason=reason)
    if isinstance(error, FanfoldError):
        _LOG.warning("A request is passed on as it is (%s): %s.", reason, type(error).__name__)
    else:  # a bug of ours must not stop an agent
        _LOG.error("A request could not be managed and was passed on as it is.", exc_info=error)
    return Unmanaged(f"{reason}: {type(error).__name__}")


# Pass on


async def pass_on(
    response: Answer,
    client: Client,
    own: Headers,
    listener: Listener | None = None,
    said: bytes = b"",
) -> None:
    """Pass a response on as it comes, byte for byte, after what was read of it; whoever listens hears it, too."""
    try:
        headers = to_client(response.raw_headers)
        kind, packed = get(headers, b"content-type") or "", get(headers, b"content-encoding")
        counted = get(headers, b"content-length") is not None  # a comment between events would be too much
        is_stream = kind.startswith(EVENTS) and not packed and not counted
        await client.start(response.status, [*headers, *own, *own_headers(response)], is_stream=is_stream)
        await client.write(said)
        async for piece in response.content.iter_any():
            may_pass = listener.hear(piece) if listener is not None else len(piece)
            if listener is not None and may_pass < len(piece):
                await client.write(piece[:may_pass])
                await listener.record()
                piece = piece[may_pass:]
            is_kept = listener is None or listener.recorded
            await client.write(piece, last=is_kept and response.content.at_eof())
            client.satisfied = listener is not None and listener.heard.ended
    except (ClientError, OSError) as error:
        if client.gone:
            raise
        raise BrokenOff(502, "The provider broke off in the middle of its reply.") from error
    finally:
        response.close()
        if listener is not None:
            await listener.record()
