"""The events of a streamed reply, read beside the bytes that carry them.

A proxy passes the chunks on as they come and feeds a copy to a reader. A reader never waits for more than it needs, and
it loses nothing: the `raw` bytes of all its events, joined, are the bytes that it was fed.

    reader = event_reader("text/event-stream")
    async for chunk in upstream:
        await send(chunk)
        for event in reader.feed(chunk):
            assembly.feed(event.json())
    rest = reader.close()
"""

from __future__ import annotations

import re
from typing import Any, Protocol

import msgspec

from fanfold.dialects.weigh import encoded
from fanfold.text.json_text import from_json

LONGEST = 64 * 2**20
"""So many bytes may one event have; what is longer comes out in pieces that are not whole."""
DONE = b"[DONE]"
"""The last event of a stream of Chat Completions, which is no JSON."""
EVENTS = "text/event-stream"
_BLANK = re.compile(rb"(?>\r\n|\r|\n)(?>\r\n|\r|\n)")
_MARK = b"\xef\xbb\xbf"
_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """One event, or what stands between events: comments and blank lines, which have no data."""

    raw: bytes
    """The bytes as they came, with the blank line at the end."""
    data: bytes | None = None
    name: str = ""
    """What `event:` says; empty where nothing does."""
    whole: bool = True
    """False for what a stream left behind when it broke off; clients ignore such an event."""

    def json(self) -> Any:
        """The data as a JSON value; None where there is no data or it is no JSON."""
        if self.data is None:
            return None
        try:
            return msgspec.json.decode(self.data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            return from_json(self.data.decode("utf-8", "replace"))

    @property
    def is_done(self) -> bool:
        """Whether this is the `[DONE]` of Chat Completions."""
        return self.data == DONE


class EventReader(Protocol):
    """Reads the events in a stream of bytes, cut anywhere."""

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take in some bytes; the events that end in them."""

    def close(self) -> list[StreamEvent]:
        """The stream is over; what is left of it, as an event that is not whole."""


def event_reader(content_type: str | None) -> EventReader:
    """A reader for a response of this content type; Gemini streams a JSON array where nobody asked for events."""
    kind = (content_type or EVENTS).partition(";")[0].strip().lower()
    return ArrayReader() if kind.endswith("json") else SseReader()


def write_event(data: Any, name: str = "") -> bytes:
    """One event as bytes, with JSON as its data."""
    head = f"event: {name}\n".encode() if name else b""
    return b"%bdata: %b\n\n" % (head, wire_bytes(data))


def wire_bytes(value: Any) -> bytes:
    """A value as compact JSON, with what JSON cannot carry replaced."""
    return encoded((value,))[1][1:-1]


def write_comment(text: str = "") -> bytes:
    """A line that every client ignores; it keeps a silent connection open."""
    return f": {text}\n\n".encode()


class SseReader:
    """Reads server-sent events. Lines end with LF, CR LF or CR."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._looked = 0
        """So far the bytes that are left have no blank line in them."""
        self._first = True

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take in some bytes; the events that end in them."""
        left, at, events = self._left, 0, list[StreamEvent]()
        left += chunk
        looked = self._looked
        while found := _BLANK.search(left, looked):
            events.append(self._event(bytes(left[at : found.end()])))
            at = looked = found.end()
        del left[:at]
        self._looked = max(len(left) - 3, 0)
        if len(left) > LONGEST:
            events += self.close()
        return events

    def close(self) -> list[StreamEvent]:
        """What is left: an event without its blank line."""
        raw = bytes(self._left)
        self._left.clear()
        self._looked = 0
        return [self._event(raw, whole=False)] if raw else []

    def _event(self, raw: bytes, *, whole: bool = True) -> StreamEvent:
        block = raw.removeprefix(_MARK) if self._first else raw
        self._first = False
        data, name = list[bytes](), b""
        for line in block.splitlines():
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value
        joined = data[0] if len(data) == 1 else b"\n".join(data) if data else None
        return StreamEvent(raw, joined, name.decode("utf-8", "replace"), whole)


class ArrayReader:
    """Reads the elements of one JSON array as events; a single object is an event, too."""

    def __init__(self) -> None:
        self._left = bytearray()
        self._at = 0
        self._depth = 0
        self._array = False
        self._in_text = False
        self._start: int | None = None

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take in some bytes; the elements that end in them."""
        self._left += chunk
        events, sent = list[StreamEvent](), 0
        while (end := self._next_end()) is not None:
            start = sent if self._start is None else self._start
            events.append(StreamEvent(bytes(self._left[sent:end]), bytes(self._left[start:end])))
            sent, self._start = end, None
        del self._left[:sent]
        self._at -= sent
        self._start = None if self._start is None else self._start - sent
        if len(self._left) > LONGEST:
            events += self.close()
        return events

    def close(self) -> list[StreamEvent]:
        """What is left: the array's end, or an element that broke off."""
        raw, start, depth = bytes(self._left), self._start, self._depth
        self._left.clear()
        self._at = self._depth = 0
        self._start, self._in_text = None, False
        if not raw:
            return []
        return [StreamEvent(raw, None if start is None else raw[start:], whole=depth == 0)]

    def _next_end(self) -> int | None:
        """Where the next element ends, if it does so in what is here."""
        left = self._left
        while self._at < len(left):
            if self._in_text:
                match = _INSIDE.match(left, self._at)
                self._at = match.end() if match else len(left)
                if self._at >= len(left) or left[self._at : self._at + 1] != b'"':
                    return None
                self._in_text = False
                self._at += 1
                continue
            found = _OUTSIDE.search(left, self._at)
            self._at = found.end() if found else len(left)
            if found and self._step(found[0], found.start()):
                return self._at
        return None

    def _step(self, sign: bytes, at: int) -> bool:
        """Take in one bracket or quote; tells whether an element ends with it."""
        if sign == b'"':
            self._in_text = True
            return False
        if sign in b"{[":
            if sign == b"[" and not self._depth and not self._array:
                self._array = True
                return False
            if not self._depth:
                self._start = at
            self._depth += 1
            return False
        self._depth = max(self._depth - 1, 0) if self._start is not None else 0
        return self._start is not None and not self._depth
