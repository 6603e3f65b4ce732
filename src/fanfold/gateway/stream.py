"""Listening beside: what passes by on its way to the client is read on the side."""

from __future__ import annotations

import json
import zlib
from typing import Any, Self

from fanfold.dialects.http.events import EVENTS, EventReader, StreamEvent, event_reader
from fanfold.gateway.foreign import Answer
from fanfold.gateway.safety import is_packed, unpacking

_ENDS = frozenset({"message_stop", "response.completed", "response.failed", "response.incomplete"})
_DONE = b"data: [DONE]"
"""The last events of a stream: clients do not wait for more."""
_MOST = 64 << 20
"""Of a reply that is longer, nothing is recorded."""


class Overheard:
    """A reply that passes by: the events of a stream, or a whole body."""

    def __init__(
        self, kind: str | None, coding: str | None, *, streams: bool, length: str | None = None
    ) -> None:
        self.is_stream = streams or (kind or "").startswith(EVENTS)
        self.events: list[Any] = []
        self.ended = False
        """Whether the client will take the reply for whole with what was heard."""
        self._reader: EventReader | None = event_reader(kind) if self.is_stream else None
        self._unpacking = unpacking(coding)
        self._deaf = is_packed(coding) and self._unpacking is None
        self._pieces: list[bytes] = []
        self._size = 0
        self._length = int(length) if length and length.isdecimal() else None

    @classmethod
    def of(cls, response: Answer, *, streams: bool) -> Self:
        """What listens to a response; `streams` says whether the client asked for a stream."""
        kind, coding, length = map(
            response.headers.get, ("content-type", "content-encoding", "content-length")
        )
        return cls(kind, coding, streams=streams, length=length)

    def hear(self, piece: bytes) -> list[StreamEvent]:
        """Take in what just passed; the events that end in it."""
        self._size += len(piece)
        self.ended = self.ended or self._size == self._length
        if self._deaf or self._size > _MOST:
            self._deaf = True
            return []
        if self._unpacking is not None:
            try:
                piece = self._unpacking.decompress(piece)
            except (zlib.error, RuntimeError, ValueError):
                self._deaf = True
                return []
        if self._reader is None:
            self._pieces.append(piece)
            return []
        found = self._reader.feed(piece)
        new = [read for event in found if isinstance(read := event.json(), dict)]
        self.events += new
        self.ended = self.ended or _DONE in piece or any(event.get("type") in _ENDS for event in new)
        return found

    def rest(self) -> bytes:
        """What came after the last whole event of a stream."""
        return b"".join(event.raw for event in self._reader.close()) if self._reader is not None else b""

    @property
    def deaf(self) -> bool:
        """Whether it cannot be read what passes."""
        return self._deaf

    def body(self) -> Any:
        """The whole body, where it was no stream; None where it cannot be read."""
        if self._deaf or self.is_stream:
            return None
        try:
            return json.loads(b"".join(self._pieces))
        except (ValueError, RecursionError):
            return None
