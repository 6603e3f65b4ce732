"""An upstream that speaks another dialect than the client: Claude Code before an OpenAI-compatible server.

The request is converted on its way out, and the answer on its way back. Everything else here (sessions, reductions,
hidden rounds, records) goes on in the client's dialect and does not notice. What cannot carry over is told in a header.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from aiohttp import ClientError, ClientPayloadError, ClientResponse

from fanfold.core.errors import FanfoldError
from fanfold.dialects.http.convert import Converted, StreamBridge, convert_reply, convert_request
from fanfold.dialects.http.deltas import Opening
from fanfold.dialects.http.errors import read_error, write_error
from fanfold.dialects.http.events import EVENTS, event_reader, wire_bytes
from fanfold.dialects.http.replies import reply_id
from fanfold.dialects.http.request import HttpRequest, read_request, write_request
from fanfold.dialects.registry import DialectName
from fanfold.gateway.headers import Headers, get, header_value, key_of, with_key
from fanfold.gateway.packing import unpack
from fanfold.gateway.safety import Refused

_KEPT = (b"user-agent", b"retry-after", b"x-request-id", b"request-id")
"""Headers that mean the same to every provider."""
_UNREADABLE = (FanfoldError, Refused, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What comes of a reply that is none."""
_LOST = b"x-fanfold-lost"
_MOST = 64 << 20


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the dialect of its upstream, and what is needed to read the answer."""

    asked: HttpRequest
    to: DialectName
    converted: Converted
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def provider(self) -> str:
        """Whose form of a key the upstream wants."""
        return self.to.partition(".")[0]

    def signed(self, headers: Headers, query: str, key: str | None) -> Headers:
        """The headers of the converted request, with the client's key, or the one that stands for it."""
        kept = [(name, value) for name, value in headers if name in _KEPT]
        told = [(name.encode(), value.encode("latin-1")) for name, value in self.headers.items()]
        found = key or key_of(headers, query)
        return with_key([*kept, *told], self.provider, found) if found else [*kept, *told]


def convert(asked: HttpRequest, body: Mapping[str, Any], to: DialectName, model: str | None) -> Foreign:
    """A request as an upstream of another dialect takes it."""
    converted = convert_request(asked.dialect, to, body, model=model)
    form = write_request(to, converted.body, streams=asked.streams)
    return Foreign(
        asked=asked, to=to, converted=converted, path=form.path, headers=form.headers, body=form.body
    )


def read_sent(asked: HttpRequest, path: str, sent: bytes) -> dict[str, Any]:
    """The body that would be sent in the client's own dialect, with what that dialect has in headers and path."""
    read = read_request("POST", path, {}, sent)
    body = dict(read.body) if read is not None else json.loads(sent)
    return {**body, **{key: asked.body[key] for key in ("model",) if key in asked.body}}


class ForeignAnswer:
    """An answer of such an upstream, as if it had come in the client's dialect: what is used of a `ClientResponse`."""

    def __init__(self, response: ClientResponse, foreign: Foreign) -> None:
        self._response, self._foreign = response, foreign
        self.status = response.status
        asked = foreign.asked
        self._streams = asked.streams and response.status == 200
        kind = EVENTS if self._streams and asked.route.events else "application/json"
        self.headers = {"content-type": kind}
        kept = [(name, value) for name, value in response.raw_headers if name.lower() in _KEPT]
        self.raw_headers = [(b"content-type", kind.encode()), *kept]
        self.content = self
        self._told = False
        self._whole = b""
        """The converted answer, where it is no stream."""

    @property
    def own(self) -> Headers:
        """What the client is told beside it: what did not carry over."""
        lost = ", ".join(self._foreign.converted.lost)
        return [(_LOST, header_value(lost))] if lost else []

    @property
    def _opening(self) -> Opening:
        asked = self._foreign.asked
        seed = get([(k.lower(), v) for k, v in self._response.raw_headers], b"x-request-id") or str(id(self))
        return Opening(id=reply_id(asked.dialect, seed), model=asked.model or "")

    def at_eof(self) -> bool:
        """Whether it is known that nothing more comes; of what is converted that is never known before."""
        return False

    async def prepare(self) -> None:
        """Read what is no stream before anything of it is told: `Refused` where it cannot be converted."""
        if self._streams:
            return
        try:
            self._whole = self._converted(await self._read())
        except (ClientError, OSError) as error:
            raise Refused(502, "The provider broke off in the middle of its reply.") from error
        except _UNREADABLE as error:
            raise Refused(502, "The provider's reply cannot be read, so it was not converted.") from error

    async def _read(self) -> bytes:
        pieces, size = [], 0
        async for piece in self._response.content.iter_any():
            pieces.append(piece)
            size += len(piece)
            if size > _MOST:
                raise ValueError("No reply is so long.")
        return b"".join(pieces)

    async def iter_any(self) -> AsyncIterator[bytes]:
        """Piece by piece, as it comes; what was read already does not come again."""
        if self._told:
            return
        self._told = True
        if self._streams:
            async for piece in self._converted_stream():
                yield piece
        else:
            yield self._whole

    def _converted(self, data: bytes) -> bytes:
        asked, packed = self._foreign.asked, self._response.headers.get("content-encoding")
        plain = unpack(data, packed, _MOST)
        if self.status != 200:
            return wire_bytes(write_error(asked.dialect, read_error(self.status, body=plain)).body)
        names = self._foreign.converted.names
        told = convert_reply(
            self._foreign.to, asked.dialect, json.loads(plain), self._opening, asked=asked.body, names=names
        )
        return wire_bytes(told)

    async def _converted_stream(self) -> AsyncIterator[bytes]:
        asked, reader = self._foreign.asked, event_reader(self._response.headers.get("content-type"))
        bridge = StreamBridge(
            self._foreign.to,
            asked.dialect,
            self._opening,
            asked=asked.body,
            names=self._foreign.converted.names,
            events=asked.route.events,
        )
        async for piece in self._response.content.iter_any():
            yield b"".join(bridge.feed(event) for event in reader.feed(piece))
        yield bridge.close()
        if not bridge.complete:
            raise ClientPayloadError("The stream ended before the reply did.")

    def close(self) -> None:
        """Hang up."""
        self._response.close()


Answer = ClientResponse | ForeignAnswer
"""What a provider answered, in the client's dialect."""


def own_headers(answer: Answer) -> Headers:
    """What the client is told about how the answer came."""
    return answer.own if isinstance(answer, ForeignAnswer) else []
