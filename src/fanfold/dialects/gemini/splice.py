"""Several streamed responses of Gemini, told as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.core.record import TokenUsage
from fanfold.dialects.gemini.names import get_field, get_object, without
from fanfold.dialects.gemini.partial import continues, is_open
from fanfold.dialects.gemini.read import parts_of
from fanfold.dialects.gemini.tell import set_usage
from fanfold.dialects.http.events import StreamEvent, wire_bytes, write_event
from fanfold.dialects.http.rounds import Hidden, is_hidden

Body = dict[str, Any]
_IDS = ("responseId", "response_id")


class GeminiSplice:
    """Tells the chunks of several responses as those of one; of several candidates only the first is looked at."""

    def __init__(self, hidden: Hidden, *, events: bool = True) -> None:
        self.has_hidden = False
        self.has_calls = False
        self.complete = False
        self._hidden = hidden
        self._events = events
        self._begun = False
        self._rounds = 0
        self._ids: Body = {}
        self._open: Any = None
        """A hidden call of which more is to come."""
        self._held: tuple[StreamEvent, Body] | None = None

    def feed(self, event: StreamEvent) -> bytes:
        """Take in one chunk; what the client is told now."""
        chunk = event.json()
        if not isinstance(chunk, dict):
            return event.raw if self._events else b""
        self._ids = self._ids or {key: chunk[key] for key in _IDS if key in chunk}
        candidate = _candidate(chunk)
        if candidate is None or self.complete:
            return self._write(event, chunk)
        told = self._visible(chunk, candidate)
        if get_field(candidate, "finishReason"):
            self.complete, self._held = True, (event, told)
            return b""
        if told is not chunk and not parts_of(_content(told)):
            return b""
        return self._write(event, {**told, **self._ids} if self._rounds else told)

    def next_round(self) -> bytes:
        """Another round follows; the last chunk of this one may have words in it."""
        left = b""
        if self._held is not None and _says(_content(self._held[1])):
            told = self._held[1]
            rest = without(_candidate(told) or {}, "finishReason")
            ids = self._ids if self._rounds else {}
            left = self._write(None, {**told, **ids, "candidates": [rest]})
        self._rounds += 1
        self._held = None
        self.has_hidden = self.complete = False
        return left

    def finish(self, usage: TokenUsage | None = None) -> bytes:
        """The end as the last round told it."""
        last = b"]" if not self._events else b""
        if self._held is None:
            return last if self._begun else b""
        event, told = self._held
        told = {**told, **self._ids} if self._rounds else told
        return self._write(event, told if usage is None else set_usage(told, usage)) + last

    def _visible(self, chunk: Body, candidate: Body) -> Body:
        """A chunk without the hidden calls; the very same where it has none."""
        parts = parts_of(_content(chunk))
        kept = [part for part in parts if not self._hides(part)]
        self.has_calls = self.has_calls or any(get_object(part, "functionCall") for part in kept)
        if len(kept) == len(parts):
            return chunk
        content = {**_content(chunk), "parts": kept}
        return {**chunk, "candidates": [{**candidate, "content": content}]}

    def _hides(self, part: Any) -> bool:
        if self._open is not None and continues(part, self._open):
            self._open = self._open if is_open(part) else None
            return True
        if not _is_hidden(part, self._hidden):
            return False
        self.has_hidden = True
        self._open = part if is_open(part) else None
        return True

    def _write(self, event: StreamEvent | None, chunk: Body) -> bytes:
        if self._events:
            return event.raw if event is not None and chunk == event.json() else write_event(chunk)
        sign, self._begun = (b"," if self._begun else b"["), True
        return sign + wire_bytes(chunk)


def _candidate(chunk: Mapping[str, Any]) -> Body | None:
    match chunk:
        case {"candidates": [dict(first), *_]}:
            return first
    return None


def _content(chunk: Mapping[str, Any]) -> Body:
    content = (_candidate(chunk) or {}).get("content")
    return content if isinstance(content, dict) else {}


def _says(content: Body) -> bool:
    return any(part != {"text": ""} for part in parts_of(content))


def _is_hidden(part: Any, hidden: Hidden) -> bool:
    call = get_object(part, "functionCall")
    return call is not None and is_hidden(call.get("name"), hidden)


def splice_replies(bodies: Sequence[Mapping[str, Any]], hidden: Hidden) -> Body:
    """Whole responses as one: the first one's id, all parts but the hidden calls, the last one's end."""
    told = [part for body in bodies for part in parts_of(_content(body)) if not _is_hidden(part, hidden)]
    last = bodies[-1]
    candidate = {**(_candidate(last) or {}), "content": {"role": "model", **_content(last), "parts": told}}
    ids = {key: bodies[0][key] for key in _IDS if key in bodies[0]}
    return {**last, **ids, "candidates": [candidate]}


SPLICE = GeminiSplice
