"""The client's side of one request: what it is told, and whether it is still there."""

from __future__ import annotations

from asyncio import Task, TimerHandle, create_task, get_running_loop
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic, time
from typing import Any

from fanfold.dialects.http.errors import Kind, Trouble, write_error
from fanfold.dialects.registry import CHAT, DialectName
from fanfold.gateway.headers import Headers
from fanfold.text.json_text import write_json

SILENCE = 10.0
"""After so many seconds without a word, a stream is told that all is well."""
_KINDS: dict[int, Kind] = {401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "too_large"}
_MOMENT = 0.1
"""After so many seconds it is watched whether a client goes: most replies that come as a whole are there before."""
_UNSURE = (400, 408, 413)
"""After these it may not be certain where the next request on the same connection begins."""
COMMENT = b": fanfold is waiting for the provider\n\n"


class Client:
    """Whoever asked. The first thing that is told is a status with headers, then pieces of a body."""

    def __init__(self, send: Any, receive: Any) -> None:
        self._send, self.receive = send, receive
        self.started = self.gone = self.satisfied = False
        self.status = 0
        self._timer: TimerHandle | None = None
        self._commenting: Task[None] | None = None
        self._watching: TimerHandle | Task[None] | None = None
        self._tail = b"\n\n"
        self._last = monotonic()
        self._ended = False
        """Whether the end was told with the last piece."""
        self.began = 0.0
        """When the first byte was told, by the clock."""

    async def start(self, status: int, headers: Headers, *, is_stream: bool = False) -> None:
        """Tell the status; `is_stream` is for server-sent events that may be interrupted by comments."""
        self.started, self.status = True, status
        self.began = time()
        self._last = monotonic()
        if is_stream:
            self._listen_for_silence()
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, piece: bytes, *, last: bool = False) -> None:
        """Pass a piece of the body on; with the `last` one the end is told, too."""
        if not piece:
            return
        self._ended = last
        self._last = monotonic()
        self._tail = piece[-4:] if len(piece) >= 4 else (self._tail + piece)[-4:]
        await self._send({"type": "http.response.body", "body": piece, "more_body": not last})

    async def end(self) -> None:
        """That was all."""
        if not self._ended:
            await self._send({"type": "http.response.body", "body": b""})

    async def tell(self, status: int, body: bytes, headers: Headers) -> None:
        """Tell everything at once."""
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, [*headers, length])
        await self._send({"type": "http.response.body", "body": body})

    async def tell_json(self, status: int, body: Mapping[str, Any], headers: Headers | None = None) -> None:
        """Tell a JSON object."""
        await self.tell(status, write_json(body), [(b"content-type", b"application/json"), *(headers or [])])

    async def refuse(self, dialect: DialectName | None, status: int, sentence: str) -> None:
        """Tell an error in the client's own dialect."""
        kind = _KINDS.get(status, "server" if status >= 500 else "bad_request")
        told = write_error(dialect or CHAT, Trouble(kind=kind, message=sentence, status=status))
        await self.tell_json(
            told.status, told.body, [(b"connection", b"close")] if status in _UNSURE else None
        )

    def watch(self, serving: Task[None]) -> None:
        """Give up what is done for the client once it has gone."""

        def begin() -> None:
            self._watching = create_task(self._wait_until_gone(serving))

        self._watching = get_running_loop().call_later(_MOMENT, begin)

    async def _wait_until_gone(self, serving: Task[None]) -> None:
        """One task for each request waits here, so that passing a piece on costs nothing more."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        serving.cancel()

    def leave(self) -> None:
        """Nothing more is told."""
        for each in (self._timer, self._watching):
            if each is not None:
                each.cancel()

    def _listen_for_silence(self) -> None:
        """Look again and again whether a stream has been silent for long, and break the silence with a comment."""
        self._timer = get_running_loop().call_later(SILENCE, self._listen_for_silence)
        # A comment may only stand between two events.
        between = self._tail.endswith((b"\n\n", b"\r\n\r\n"))
        if between and monotonic() - self._last >= SILENCE / 2:
            self._commenting = create_task(self._comment())

    async def _comment(self) -> None:
        with suppress(OSError):  # the client went; `watch` knows
            await self._send({"type": "http.response.body", "body": COMMENT, "more_body": True})
