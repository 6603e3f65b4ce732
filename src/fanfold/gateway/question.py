"""One question to a provider: asked until it fits, and its answer recorded in the session that asked."""

from __future__ import annotations

from asyncio import shield
from collections.abc import Callable
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fanfold.core.errors import Busy, FanfoldError
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.errors import Trouble, read_error
from fanfold.dialects.registry import DialectName
from fanfold.gateway.conversations import Conversations, Managed
from fanfold.gateway.foreign import Answer, ForeignAnswer, convert, read_sent
from fanfold.gateway.headers import get, to_upstream
from fanfold.gateway.packing import unpack
from fanfold.gateway.reading import read
from fanfold.gateway.responses import may_be_looked_up
from fanfold.gateway.route import upstream_address
from fanfold.gateway.safety import Refused
from fanfold.gateway.stream import Overheard
from fanfold.gateway.work import WORK, run_short

if TYPE_CHECKING:
    from fanfold.gateway.app import Gateway
    from fanfold.gateway.exchange import Exchange

T = TypeVar("T")
_LOG = getLogger("fanfold.gateway")
_TRIES = 3
"""So often a request is made smaller because the provider said that it is too long."""
_LENGTHS = (400, 413, 422)
"""Statuses with which providers say so."""
_LONGEST_ERROR = 1 << 20
_READABLE = (b"gzip", b"deflate", b"zstd", b"identity")


async def ask_until_it_fits(
    gateway: Gateway, exchange: Exchange, managed: Managed
) -> tuple[Answer, Managed, bytes]:
    """The provider's response, and what was read of it. Where it says that the request is too long, less is sent."""
    said = b""
    for _ in range(_TRIES):
        body = exchange.body if managed.body is None else managed.body
        response, said = await ask(gateway, exchange, body, managed), b""
        if response.status not in _LENGTHS:
            break
        said = await read_beginning(response)
        trouble = _read_trouble(response, said)
        if trouble is None or trouble.kind not in ("too_long", "too_large"):
            break
        gateway.metrics.add("refused_too_long")
        exchange.account.refused += 1
        error = {"status_code": response.status, "body": trouble.message, "code": trouble.code}
        whole = read(exchange, gateway.settings.max_body) if managed.spent is None else None
        managed = msgspec.structs.replace(
            managed, asked=whole or managed.asked
        )  # it may be read in part only
        smaller = await _made_smaller(gateway, managed, error)
        if smaller is None:
            break
        response.close()
        managed = smaller
    return response, managed, said


async def _made_smaller(gateway: Gateway, managed: Managed, error: dict[str, Any]) -> Managed | None:
    """The same request, smaller; None where it cannot be, and the provider's own answer is passed on."""
    conversations = there(gateway.conversations)
    try:
        async with gateway.turn(managed.holder.tenant, managed.name):
            return await WORK.run(conversations.refused, managed, error)
    except FanfoldError as trouble:
        _LOG.warning("session %r: a request that is too long was not made smaller: %s", managed.name, trouble)
        return None


async def read_beginning(response: Answer) -> bytes:
    """An error as far as it is read here: all of it, unless it is longer than any error is."""
    said = b""
    async for piece in response.content.iter_any():
        said += piece
        if len(said) > _LONGEST_ERROR:
            break
    return said


def _read_trouble(response: Answer, said: bytes) -> Trouble | None:
    """What a provider complains of; None where that cannot be read, and is passed on as it is."""
    try:
        plain = unpack(said, response.headers.get("content-encoding"), _LONGEST_ERROR)
    except Refused:
        return None
    return read_error(response.status, body=plain)


async def ask(gateway: Gateway, exchange: Exchange, body: bytes, managed: Managed | None = None) -> Answer:
    """The provider's response to this body, which goes where the client's request was meant to go."""
    provider, holder = exchange.to.provider, exchange.holder
    other = gateway.settings.speaks(provider)
    if other is not None and other != exchange.to.dialect:
        return await ask_elsewhere(gateway, exchange, body, other)
    edited = managed is not None and managed.body is not None
    headers = to_upstream(exchange.headers, provider, (b"content-encoding",) if edited else ())
    if managed is not None or may_be_looked_up(exchange.asked, holder):
        codings = () if managed is not None and managed.hidden else _READABLE
        headers = [_readable(name, value, codings) for name, value in headers]
    address = upstream_address(gateway.settings.address(provider), exchange.path)
    query = _without_key(exchange.query) if holder.own_keys else exchange.query
    target = f"{address}?{query}" if query else address
    return await gateway.upstreams.send(exchange.method, target, holder.sign(headers, provider), body)


async def ask_elsewhere(gateway: Gateway, exchange: Exchange, body: bytes, to: DialectName) -> ForeignAnswer:
    """The answer of an upstream that speaks another dialect, as if it had been the client's."""
    holder, provider = exchange.holder, exchange.to.provider
    asked = exchange.asked
    if asked is None or exchange.to.purpose != "reply":
        raise Refused(404, f"The upstream speaks {to}, which has no such thing.")
    packed = get(exchange.headers, b"content-encoding") if body is exchange.body else None
    sent = read_sent(asked, exchange.path.rstrip("/"), unpack(body, packed, gateway.settings.max_body))
    try:
        foreign = convert(asked, sent, to, holder.model_for(asked.dialect, asked.model))
    except FanfoldError as error:
        raise Refused(400, f"The request cannot be converted for {to}: {error}") from error
    exchange.account.lost = ", ".join(foreign.converted.lost)
    address = upstream_address(gateway.settings.address(provider), foreign.path)
    headers = foreign.signed(exchange.headers, exchange.query, holder.secret(provider))
    answer = ForeignAnswer(await gateway.upstreams.send("POST", address, headers, foreign.body), foreign)
    try:
        await answer.prepare()
    except Refused:
        answer.close()
        raise
    return answer


def _readable(name: bytes, value: bytes, known: tuple[bytes, ...]) -> tuple[bytes, bytes]:
    """A reply that is listened to is packed in a way that can be unpacked here, or not at all."""
    if name != b"accept-encoding":
        return name, value
    codings = (word.strip() for word in value.split(b","))
    kept = [word for word in codings if word.partition(b";")[0].lower() in known]
    return name, b", ".join(kept) or b"identity"


def _without_key(query: str) -> str:
    return "&".join(pair for pair in query.split("&") if not pair.startswith("key="))


async def record(gateway: Gateway, managed: Managed, heard: Overheard) -> Reply | None:
    """Keep what was answered, even if the client goes. A failure is told in the log: the client has its reply."""
    conversations, body = there(gateway.conversations), heard.body()
    work: Callable[[], Reply | None]
    if heard.is_stream:
        work = partial(conversations.hear, managed, heard.events)
    elif body is not None:
        work = partial(conversations.receive, managed, body)
    else:
        return None
    reply: Reply | None = None
    try:
        session = (managed.holder.tenant, managed.name)
        try:
            reply = gateway.do_now(session, heard.size, work)
        except Busy:
            reply = await shield(_record_in_turn(gateway, session, heard.size, work))
        if reply is not None and _missed_cache(reply):
            await shield(_count_miss(gateway, managed))
    except Exception as error:
        gateway.metrics.add("bypassed", reason="not recorded")
        _LOG.warning("A reply in %s could not be recorded: %s.", managed.name, type(error).__name__)
    return reply


async def _record_in_turn(gateway: Gateway, session: tuple[str, str], size: int, work: Callable[[], T]) -> T:
    async with gateway.turn(*session):
        return await run_short(there(gateway.conversations).pool, session, size, work)


def _missed_cache(reply: Reply) -> bool:
    """Whether a bill shows that the provider's cache was of little use."""
    return reply.usage is not None and 2 * reply.usage.cache_read < reply.usage.prompt


async def _count_miss(gateway: Gateway, managed: Managed) -> None:
    """Count what broke the provider's cache; to look for it takes time."""
    async with gateway.turn(managed.holder.tenant, managed.name):
        use = await WORK.run(there(gateway.conversations).missed, managed)
    if use is not None and use.broken is not None:
        for name, amount in (("cache_misses", 1), ("cache_missed_tokens", use.again)):
            gateway.metrics.add(name, amount, cause=use.broken.cause, by=use.broken.by)


def there(conversations: Conversations | None) -> Conversations:
    """The conversations, which are there for whatever is managed."""
    assert conversations is not None
    return conversations
