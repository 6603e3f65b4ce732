"""Replies of Anthropic Messages, written: whole, and as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fanfold.core.message import Call, Part, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.anthropic.read import DIALECT, blocks
from fanfold.dialects.anthropic.write import arguments, text_block, wire_id
from fanfold.dialects.http import deltas
from fanfold.dialects.http.deltas import Delta, Stop, WholeReply, wanted_stop
from fanfold.dialects.http.errors import write_error_event
from fanfold.dialects.http.events import write_event
from fanfold.dialects.http.replies import merge_usage, pieces
from fanfold.dialects.media import note
from fanfold.dialects.rules import Body
from fanfold.text.json_text import to_json

PREFIX = "msg_"
STOPS: dict[Stop, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "pause": "pause_turn",
    "sequence": "stop_sequence",
}


def write_reply(whole: WholeReply, asked: Mapping[str, Any]) -> Body:
    """The reply as `messages.create` returns it."""
    content = [_block(part) for part in whole.parts]
    if whole.came_over(DIALECT):
        content = [block for message in whole.messages for block in blocks(message.wire.body)]  # type: ignore[union-attr]
    calls = any(isinstance(part, Call) for part in whole.parts)
    head = {"id": whole.opening.id, "type": "message", "role": "assistant", "model": whole.opening.model}
    ending = {"stop_reason": STOPS[wanted_stop(whole.stop, calls=calls)], "stop_sequence": None}
    return {**head, "content": content, **ending, "usage": write_usage(whole.usage)}


def _block(part: Part) -> Body:
    match part:
        case Call(id=id, name=name, raw=raw):
            return {"type": "tool_use", "id": wire_id(id), "name": name, "input": arguments(raw)}
        case Thinking(text="", signature=str(data)):
            return {"type": "redacted_thinking", "data": data}
        case Thinking(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature or ""}
        case _:
            return text_block(getattr(part, "text", None) or note(part))


def write_usage(usage: TokenUsage) -> Body:
    """A usage in Anthropic's words; prompt tokens are told in three disjoint shares."""
    long = usage.cache_write_1h
    kept = {"ephemeral_5m_input_tokens": usage.cache_write - long, "ephemeral_1h_input_tokens": long}
    told = {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": kept,
        "output_tokens": usage.output,
    }
    return told | ({"output_tokens_details": {"thinking_tokens": usage.reasoning}} if usage.reasoning else {})


def set_usage(body: Body, usage: TokenUsage) -> Body:
    """A message or an event with another usage. The first event keeps its output: it tells what came so far."""
    match body:
        case {"type": "message_start", "message": {"usage": dict(old)} as message}:
            figures = {
                key: value for key, value in write_usage(usage).items() if not key.startswith("output")
            }
            return {**body, "message": {**message, "usage": merge_usage(old, figures)}}
        case {"usage": dict(old)}:
            kept = {key: value for key, value in old.items() if key != "output_tokens_details"}
            return {**body, "usage": merge_usage(kept if usage.reasoning == 0 else old, write_usage(usage))}
    return body


def replay(body: Body, asked: Mapping[str, Any]) -> Iterator[bytes]:
    """A whole message as a stream; blocks that fanfold does not know come whole when they are opened."""
    usage = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    begun = {**body, "content": [], "stop_reason": None, "stop_sequence": None}
    yield _event(
        {"type": "message_start", "message": {**begun, "usage": {**usage, "output_tokens": 1}}}  # type: ignore[dict-item]
    )
    for at, block in enumerate(blocks(body)):
        opened, filling = _fill(block)
        yield _event({"type": "content_block_start", "index": at, "content_block": opened})
        for delta in filling:
            yield _event({"type": "content_block_delta", "index": at, "delta": delta})
        yield _event({"type": "content_block_stop", "index": at})
    ending = {key: body.get(key) for key in ("stop_reason", "stop_sequence")}
    yield _event({"type": "message_delta", "delta": ending, "usage": usage})
    yield _event({"type": "message_stop"})


def _fill(block: Any) -> tuple[Any, list[Body]]:
    """How a block is opened, and the deltas that fill it."""
    match block:
        case {"type": "text", "text": str(text)}:
            told = [{"type": "text_delta", "text": piece} for piece in pieces(text)]
            cited = block.get("citations")
            cites = (
                [{"type": "citations_delta", "citation": one} for one in cited]
                if isinstance(cited, list)
                else []
            )
            opened = {key: value for key, value in block.items() if key != "citations"} if cites else block
            return {**opened, "text": ""}, [*told, *cites]
        case {"type": "thinking", "thinking": str(text)}:
            told = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text)]
            signature = block.get("signature")
            signed = [{"type": "signature_delta", "signature": signature}] if signature else []
            return {**block, "thinking": "", "signature": ""}, [*told, *signed]
        case {"type": "tool_use" | "server_tool_use" | "mcp_tool_use", "input": given}:
            told = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(to_json(given))]
            return {**block, "input": {}}, told
    return block, []


def _event(data: Body) -> bytes:
    return write_event(data, str(data["type"]))


class AnthropicWriter:
    """Writes steps as the events of a streamed message."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._next = 0
        self._open: dict[int, int] = {}
        """The blocks that are open: place and index."""
        self._calls: set[int] = set()

    def write(self, delta: Delta) -> bytes:
        """The events of one step."""
        match delta:
            case deltas.Opening():
                return self._begin(delta)
            case deltas.TextDelta(place=place, text=text):
                opened = self._enter(place, {"type": "text", "text": ""})
                return opened + self._delta(place, {"type": "text_delta", "text": text})
            case deltas.ThoughtDelta(place=place, text=text):
                opened = self._enter(place, {"type": "thinking", "thinking": "", "signature": ""})
                return opened + self._delta(place, {"type": "thinking_delta", "thinking": text})
            case deltas.Signature(place=place, text=text) if place in self._open:
                return self._delta(place, {"type": "signature_delta", "signature": text})
            case deltas.Signature(place=place, text=text):
                return self._enter(place, {"type": "redacted_thinking", "data": text}) + self._leave(place)
            case deltas.CallStart(place=place, id=id, name=name):
                self._calls.add(place)
                return self._enter(place, {"type": "tool_use", "id": wire_id(id), "name": name, "input": {}})
            case deltas.CallDelta(place=place, text=text):
                return self._delta(place, {"type": "input_json_delta", "partial_json": text}) if text else b""
            case deltas.BlockEnd(place=place):
                return self._leave(place)
            case deltas.Closing():
                return self._end(delta)
            case deltas.Fault(trouble=trouble):
                return write_error_event("anthropic", trouble)

    def _begin(self, opening: deltas.Opening) -> bytes:
        usage = {**write_usage(opening.usage), "output_tokens": 1}
        head = {"id": opening.id, "type": "message", "role": "assistant", "model": opening.model}
        message: Body = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return _event({"type": "message_start", "message": message}) + _event({"type": "ping"})

    def _end(self, closing: deltas.Closing) -> bytes:
        left = b"".join(map(self._leave, sorted(self._open, key=self._open.__getitem__)))
        ending = {
            "stop_reason": STOPS[wanted_stop(closing.stop, calls=bool(self._calls))],
            "stop_sequence": None,
        }
        last = {"type": "message_delta", "delta": ending, "usage": write_usage(closing.usage)}
        return left + _event(last) + _event({"type": "message_stop"})

    def _enter(self, place: int, block: Body) -> bytes:
        """Open a block. Words and thoughts before it are over; calls may still grow beside it."""
        if place in self._open:
            return b""
        left = b"".join(map(self._leave, [one for one in self._open if one not in self._calls]))
        self._open[place], self._next = self._next, self._next + 1
        start = {"type": "content_block_start", "index": self._open[place], "content_block": block}
        return left + _event(start)

    def _delta(self, place: int, delta: Body) -> bytes:
        if place not in self._open:
            return b""
        return _event({"type": "content_block_delta", "index": self._open[place], "delta": delta})

    def _leave(self, place: int) -> bytes:
        index = self._open.pop(place, None)
        return b"" if index is None else _event({"type": "content_block_stop", "index": index})


WRITER = AnthropicWriter
