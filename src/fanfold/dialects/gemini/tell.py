"""Replies of Gemini, written: whole, and as the chunks of a stream of events or of one JSON array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fanfold.core.message import Call, Message, Part, Text, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.gemini.names import DIALECT, get_object, made_up, spelling
from fanfold.dialects.gemini.read import parts_of
from fanfold.dialects.gemini.write import arguments
from fanfold.dialects.http import deltas
from fanfold.dialects.http.deltas import Delta, Stop, WholeReply
from fanfold.dialects.http.errors import write_error
from fanfold.dialects.http.events import wire_bytes, write_event
from fanfold.dialects.http.replies import merge_usage, pieces
from fanfold.dialects.media import note

PREFIX = ""
Body = dict[str, Any]
STOPS: dict[Stop, str] = {
    "end": "STOP",
    "calls": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
    "pause": "STOP",
    "sequence": "STOP",
}


def write_reply(whole: WholeReply, asked: Mapping[str, Any]) -> Body:
    """The reply as `generateContent` returns it."""
    parts = [_part(part) for part in whole.parts]
    if whole.came_over(DIALECT):
        parts = [part for message in whole.messages for part in _own_parts(message)]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": STOPS[whole.stop], "index": 0}
    return {"candidates": [candidate], **_frame(whole.opening, whole.usage)}


def _own_parts(message: Message) -> list[Any]:
    body = message.wire.body if message.wire else None
    return parts_of(body) if isinstance(body, dict) else [{"text": message.text}]


def _frame(opening: deltas.Opening, usage: TokenUsage) -> Body:
    return {"usageMetadata": write_usage(usage), "modelVersion": opening.model, "responseId": opening.id}


def _part(part: Part) -> Body:
    match part:
        case Text(text=text):
            return {"text": text}
        case Thinking(text=text, signature=signature):
            return {"text": text, "thought": True, **({"thoughtSignature": signature} if signature else {})}
        case Call(id=id, name=name, raw=raw):
            return _call(id, name, raw)
        case _:
            return {"text": note(part)}


def _call(id: str, name: str, raw: str) -> Body:
    named = {} if made_up(id, name) else {"id": id}
    return {"functionCall": {**named, "name": name, "args": arguments(raw)}}


def write_usage(usage: TokenUsage) -> Body:
    """A usage in Google's words; thoughts are told beside the output, only if there are any."""
    told = {"promptTokenCount": usage.prompt, "candidatesTokenCount": usage.output - usage.reasoning}
    thought = {"thoughtsTokenCount": usage.reasoning} if usage.reasoning else {}
    cached = {"cachedContentTokenCount": usage.cache_read} if usage.cache_read else {}
    return {**told, **thought, **cached, "totalTokenCount": usage.total}


def set_usage(body: Body, usage: TokenUsage) -> Body:
    """A response or a chunk with another usage."""
    key, old = spelling(body, "usageMetadata"), get_object(body, "usageMetadata")
    if old is None:
        return body
    counts = ("thoughtsTokenCount", "cachedContentTokenCount", "toolUsePromptTokenCount")
    kept = {name: value for name, value in old.items() if name not in counts}
    return {**body, key: merge_usage(kept, write_usage(usage))}


def replay(body: Body, asked: Mapping[str, Any], *, events: bool = True) -> Iterator[bytes]:
    """A whole response as a stream of events, or of one JSON array."""
    if events:
        yield from map(write_event, _chunks(body))
        return
    for at, chunk in enumerate(_chunks(body)):
        yield (b"," if at else b"[") + wire_bytes(chunk)
    yield b"]"


def _chunks(body: Body) -> Iterator[Body]:
    listed = body.get("candidates")
    first = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else None
    content = first.get("content") if first else None
    spoken = parts_of(content) if isinstance(content, dict) else []
    parts = [piece for part in spoken for piece in _pieces(part)]
    if first is None or not isinstance(content, dict) or len(parts) < 2 or len(listed or ()) > 1:
        yield body
        return
    for part in parts[:-1]:
        yield {
            **body,
            "candidates": [{"content": {**content, "parts": [part]}, "index": first.get("index", 0)}],
        }
    yield {**body, "candidates": [{**first, "content": {**content, "parts": parts[-1:]}}]}


def _pieces(part: Any) -> Iterator[Any]:
    """A long text in pieces; all else that its part has comes with the last."""
    text = part.get("text") if isinstance(part, dict) else None
    cut = list(pieces(text)) if isinstance(text, str) else []
    if len(cut) < 2:
        yield part
        return
    beside = {"thought": part["thought"]} if "thought" in part else {}
    yield from ({"text": piece, **beside} for piece in cut[:-1])
    yield {**part, "text": cut[-1]}


class GeminiWriter:
    """Writes steps as the chunks of a stream. A call is told when it is whole: clients take no less."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._opening = deltas.Opening(id="", model="")
        self._usage = TokenUsage()
        self._calls: dict[int, tuple[str, str, list[str]]] = {}

    def write(self, delta: Delta) -> bytes:
        """The chunks of one step."""
        match delta:
            case deltas.Opening():
                self._opening, self._usage = delta, delta.usage
            case deltas.TextDelta(text=text):
                return self._chunk([{"text": text}])
            case deltas.ThoughtDelta(text=text):
                return self._chunk([{"text": text, "thought": True}])
            case deltas.Signature(text=text):
                return self._chunk([{"text": "", "thought": True, "thoughtSignature": text}])
            case deltas.CallStart(place=place, id=id, name=name):
                self._calls[place] = (id, name, [])
            case deltas.CallDelta(place=place, text=text) if place in self._calls:
                self._calls[place][2].append(text)
            case deltas.BlockEnd(place=place) if place in self._calls:
                return self._chunk([self._take_call(place)])
            case deltas.Closing(stop=stop, usage=usage):
                self._usage = usage
                left = [self._take_call(place) for place in sorted(self._calls)]
                return self._chunk(left or [{"text": ""}], STOPS[stop])
            case deltas.Fault(trouble=trouble):
                return self.write_chunk(write_error("gemini", trouble).body, last=True)
        return b""

    def _take_call(self, place: int) -> Body:
        id, name, raw = self._calls.pop(place)
        return _call(id, name, "".join(raw))

    def _chunk(self, parts: list[Body], stop: str | None = None) -> bytes:
        candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
        candidate |= {"finishReason": stop} if stop else {}
        return self.write_chunk(
            {"candidates": [candidate], **_frame(self._opening, self._usage)}, last=bool(stop)
        )

    def write_chunk(self, chunk: Body, *, last: bool) -> bytes:
        """One chunk as bytes."""
        return write_event(chunk)


class GeminiArrayWriter(GeminiWriter):
    """Writes steps as the elements of one JSON array, as Gemini does where nobody asks for events."""

    _begun = False

    def write_chunk(self, chunk: Body, *, last: bool) -> bytes:
        """One element, with what stands around it."""
        sign, self._begun = (b"," if self._begun else b"["), True
        return sign + wire_bytes(chunk) + (b"]" if last else b"")


WRITER = GeminiWriter
ARRAY = GeminiArrayWriter
