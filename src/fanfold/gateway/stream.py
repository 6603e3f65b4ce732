"""Listening beside: what passes by on its way to the client is read on the side."""

from __future__ import annotations

import json
from typing import Any, Self

import msgspec

from fanfold.dialects.http.events import DONE, EVENTS, EventReader, StreamEvent, event_reader
from fanfold.gateway.foreign import Answer
from fanfold.gateway.packing import is_packed, unpacking

_ENDS = frozenset({"message_stop", "response.completed", "response.failed", "response.incomplete"})
"""The last events of a stream, beside `[DONE]`: clients do not wait for more."""
_LAST = tuple(word.encode() for word in (*sorted(_ENDS), "[DONE]"))
_EDGE = 24
"""No longer than this is one of these words."""
_MOST = 64 << 20
"""Of a reply that is longer, nothing is recorded."""


class Overheard:
    """A reply that passes by: the events of a stream, or a whole body."""

    def __init__(
        self, kind: str | None, coding: str | None, *, streams: bool, length: str | None = None
    ) -> None:
        self.is_stream = streams or (kind or "").startswith(EVENTS)
        self._events: list[Any] = []
        self._unread: list[bytes] = []
        """Pieces of a stream that passed by and were not read yet."""
        self._edge = b""
        self._left = self.is_stream and (kind or EVENTS).partition(";")[0].strip().lower() != EVENTS
        """Whether what comes next may go on with an event that has begun."""
        self.ended = False
        """Whether the client will take the reply for whole with what was heard."""
        self._reader: EventReader | None = event_reader(kind) if self.is_stream else None
        self._unpacking = unpacking(coding, _MOST)
        self._deaf = is_packed(coding) and self._unpacking is None
        self._pieces: list[bytes] = []
        self._passed = 0
        """How many bytes passed by, packed as they are."""
        self.size = 0
        """How many bytes they are to be read as."""
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
        plain = self._take(piece)
        if plain is None or self._reader is None:
            return []
        found = self._reader.feed(plain)
        self._add([event.json() for event in found], done=any(event.is_done for event in found))
        return found

    def pass_by(self, piece: bytes) -> None:
        """Take in what just passed, to be read later: at once only what may be the end."""
        plain = self._take(piece)
        if plain is None or self._reader is None:
            return
        self._unread.append(plain)
        seen, self._edge = self._edge + plain, plain[-_EDGE:]
        if not self.ended and any(word in seen for word in _LAST):
            self._read_on()

    @property
    def events(self) -> list[Any]:
        """The events of a stream so far."""
        self._read_on()
        return self._events

    def _take(self, piece: bytes) -> bytes | None:
        """The piece unpacked; None where it cannot be read. Pieces of a whole body are kept."""
        self._passed += len(piece)
        self.ended = self.ended or self._passed == self._length
        if not self._deaf and self._unpacking is not None:
            try:
                piece = self._unpacking.decompress(piece)
            except ValueError:
                self._go_deaf()
        self.size += len(piece)
        if self.size > _MOST:
            self._go_deaf()
        if self._deaf:
            return None
        if self._reader is None:
            self._pieces.append(piece)
        return piece

    def _go_deaf(self) -> None:
        """Read nothing more, and keep nothing of what passed."""
        self._deaf = True
        self._pieces.clear()
        self._unread.clear()

    def _read_on(self) -> None:
        data = b"".join(self._unread)
        self._unread.clear()
        if not data or self._reader is None:
            return
        found = _read_at_once(data) if not self._left else None
        if found is not None:
            self._add(*found)
            return
        events = self._reader.feed(data)
        self._left = True  # from here on the reader knows where an event began
        self._add([event.json() for event in events], done=any(event.is_done for event in events))

    def _add(self, new: list[Any], done: bool) -> None:
        known = [event for event in new if isinstance(event, dict)]
        self._events += known
        self.ended = self.ended or done or any(event.get("type") in _ENDS for event in known)

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
        whole = b"".join(self._pieces)
        try:
            return msgspec.json.decode(whole)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass  # what is no strict JSON may be what Python calls so: NaN, a lone surrogate
        try:
            return json.loads(whole)
        except (ValueError, RecursionError):
            return None


def _read_at_once(data: bytes) -> tuple[list[Any], bool] | None:
    """The events in these bytes, and whether `[DONE]` is one; None where they are not whole and as most write them.

    One call reads all of them, which takes a fraction of what it takes one by one.
    """
    if not data.endswith(b"\n\n") or b"\r" in data:
        return None
    told = _lines_of_data(data)
    if told is None:
        return None
    try:
        events = msgspec.json.decode(b"[%b]" % b",".join([line for line in told if line != DONE]))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return events, DONE in told


def _lines_of_data(data: bytes) -> list[bytes] | None:
    """The data of each event, where each has one line of it, and at most its name before that."""
    told = data[6:-2].split(b"\n\ndata: ")
    if data.startswith(b"data: ") and data.count(b"\n") == 2 * len(told):
        return told  # no event has a name
    told = []
    for block in data[:-2].split(b"\n\n"):
        head, found, line = (
            block.rpartition(b"data: ") if not block.startswith(b"data: ") else (b"", b"1", block[6:])
        )
        if (
            not found
            or b"\n" in line
            or (head and not (head.startswith(b"event: ") and head.count(b"\n") == 1))
        ):
            return None
        told.append(line)
    return told
