"""Replies of the Responses API, written: whole, and as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fanfold.core.message import Call, Message, Part, Text, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import id_digest
from fanfold.dialects.http import deltas
from fanfold.dialects.http.deltas import Delta, Opening, Stop, WholeReply
from fanfold.dialects.http.errors import Trouble, write_error, write_error_event
from fanfold.dialects.http.events import write_event
from fanfold.dialects.http.replies import merge_usage, pieces
from fanfold.dialects.media import note
from fanfold.dialects.responses.read import NAME, Item
from fanfold.dialects.responses.write import short

PREFIX = "resp_"
_SHORT: dict[Stop, str] = {"length": "max_output_tokens", "refusal": "content_filter"}
_REPEATED: Item = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": None,
    "store": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
}
"""What a response repeats of its request, and what it says where the request says nothing."""


def write_reply(whole: WholeReply, asked: Mapping[str, Any]) -> Item:
    """The reply as `responses.create` returns it."""
    items = [_item(part, f"{whole.opening.id}.{at}") for at, part in enumerate(whole.parts)]
    if whole.came_over(NAME):
        items = [_own_item(message) for message in whole.messages]
    return _response(whole.opening, asked, items, whole.stop) | {"usage": write_usage(whole.usage)}


def _own_item(message: Message) -> Item:
    body: Item = message.wire.body if message.wire else {}
    return body


def _response(opening: Opening, asked: Mapping[str, Any], items: list[Item], stop: Stop | None) -> Item:
    """A response with these items; without a stop it is still in progress."""
    cut = _SHORT.get(stop) if stop else None
    state = "in_progress" if stop is None else "incomplete" if cut else "completed"
    head = {"id": opening.id, "object": "response", "created_at": opening.created, "status": state}
    why = {"error": None, "incomplete_details": {"reason": cut} if cut else None}
    repeated = {key: asked[key] if asked.get(key) is not None else value for key, value in _REPEATED.items()}
    return {**head, **why, **repeated, "model": opening.model, "output": items, "usage": None}


def _item(part: Part, seed: str) -> Item:
    match part:
        case Text(text=text):
            return _words(seed, text)
        case Thinking(text=text, signature=signature):
            return _reasoning(seed, text, signature)
        case Call(id=id, name=name, raw=raw):
            return _call(seed, id, name, raw)
        case _:
            return _words(seed, note(part))


def _id(prefix: str, seed: str) -> str:
    return f"{prefix}_{id_digest(seed)[:24]}"


def _words(seed: str, text: str) -> Item:
    block = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    head = {"id": _id("msg", seed), "type": "message", "role": "assistant", "status": "completed"}
    return {**head, "content": [block]}


def _reasoning(seed: str, text: str, signature: str | None) -> Item:
    summary = [{"type": "summary_text", "text": text}] if text else []
    sealed = {"encrypted_content": signature} if signature else {}
    return {"id": _id("rs", seed), "type": "reasoning", "summary": summary, **sealed}


def _call(seed: str, id: str, name: str, raw: str) -> Item:
    call = {"call_id": short(id), "name": name, "arguments": raw}
    return {"id": _id("fc", seed), "type": "function_call", **call, "status": "completed"}


def write_usage(usage: TokenUsage) -> Item:
    """A usage in OpenAI's words; the prompt is told whole, with what of it was cached."""
    written = {"cache_write_tokens": usage.cache_write} if usage.cache_write else {}
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read, **written},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }


def set_usage(body: Item, usage: TokenUsage) -> Item:
    """A response or an event with another usage."""
    match body:
        case {"response": {"usage": dict(old)} as response}:
            return {**body, "response": {**response, "usage": merge_usage(old, write_usage(usage))}}
        case {"usage": dict(old)}:
            return {**body, "usage": merge_usage(old, write_usage(usage))}
    return body


def replay(body: Item, asked: Mapping[str, Any]) -> Iterator[bytes]:
    """A whole response as a stream, every event numbered; items that fanfold does not know come whole."""
    for number, data in enumerate(_story(body)):
        yield write_event({**data, "sequence_number": number}, data["type"])


def _story(body: Item) -> Iterator[Item]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    output = body.get("output")
    for place, item in enumerate(output if isinstance(output, list) else ()):
        if isinstance(item, dict):
            yield from _item_story(place, item)
    yield {"type": f"response.{body.get('status') or 'completed'}", "response": body}


def _item_story(place: int, item: Item) -> Iterator[Item]:
    where: Item = {"item_id": item.get("id"), "output_index": place}
    yield {"type": "response.output_item.added", "output_index": place, "item": _opened(item)}
    match item:
        case {"type": "message", "content": list(blocks)}:
            for at, block in enumerate(blocks):
                yield from _block_story({**where, "content_index": at}, block)
        case {"type": "reasoning"}:
            summary, content = item.get("summary"), item.get("content")
            for at, block in enumerate(summary if isinstance(summary, list) else ()):
                yield from _summary_story({**where, "summary_index": at}, block)
            for at, block in enumerate(content if isinstance(content, list) else ()):
                yield from _block_story({**where, "content_index": at}, block)
        case {"type": "function_call", "arguments": str(raw)}:
            kind = "response.function_call_arguments"
            yield from ({"type": f"{kind}.delta", **where, "delta": piece} for piece in pieces(raw))
            yield {"type": f"{kind}.done", **where, "name": item.get("name"), "arguments": raw}
        case {"type": "custom_tool_call", "input": str(raw)}:
            kind = "response.custom_tool_call_input"
            yield from ({"type": f"{kind}.delta", **where, "delta": piece} for piece in pieces(raw))
            yield {"type": f"{kind}.done", **where, "input": raw}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _opened(item: Item) -> Item:
    """An item as it is announced, with nothing in it yet."""
    blank: dict[str, Item] = {
        "message": {"content": []},
        "reasoning": {"summary": [], **({"content": []} if "content" in item else {})},
        "function_call": {"arguments": ""},
        "custom_tool_call": {"input": ""},
    }
    opened = {**item, **blank.get(str(item.get("type")), {})}
    opened |= {"status": "in_progress"} if "status" in item else {}
    if item.get("type") == "reasoning":
        opened.pop("encrypted_content", None)
    return opened


_BLOCKS: dict[str, tuple[str, str, Item]] = {
    "output_text": ("response.output_text", "text", {"logprobs": []}),
    "refusal": ("response.refusal", "refusal", {}),
    "reasoning_text": ("response.reasoning_text", "text", {}),
}


def _block_story(here: Item, block: Any) -> Iterator[Item]:
    kind = block.get("type") if isinstance(block, dict) else None
    name, field, beside = _BLOCKS.get(str(kind), ("", "", {}))
    text = block.get(field) if name else None
    blank = {field: ""} if isinstance(text, str) else {}
    yield {"type": "response.content_part.added", **here, "part": {**block, **blank} if blank else block}
    if isinstance(text, str):
        yield from ({"type": f"{name}.delta", **here, "delta": piece, **beside} for piece in pieces(text))
        yield {"type": f"{name}.done", **here, field: text, **beside}
    yield {"type": "response.content_part.done", **here, "part": block}


def _summary_story(here: Item, block: Any) -> Iterator[Item]:
    text = block.get("text") if isinstance(block, dict) else None
    if not isinstance(text, str):
        return
    part, delta = "response.reasoning_summary_part", "response.reasoning_summary_text"
    yield {"type": f"{part}.added", **here, "part": {**block, "text": ""}}
    yield from ({"type": f"{delta}.delta", **here, "delta": piece} for piece in pieces(text))
    yield {"type": f"{delta}.done", **here, "text": text}
    yield {"type": f"{part}.done", **here, "part": block}


class SpokenItem(msgspec.Struct):
    """An item that is being told."""

    kind: str
    index: int
    seed: str
    call: tuple[str, str] = ("", "")
    """The id and the name of a call."""
    texts: list[str] = []
    signature: str | None = None

    @property
    def id(self) -> str:
        """The id of the item."""
        return _id({"call": "fc", "words": "msg"}.get(self.kind, "rs"), self.seed)

    def item(self) -> Item:
        """The item as far as it is told."""
        text = "".join(self.texts)
        if self.kind == "call":
            return _call(self.seed, *self.call, text)
        return (
            _words(self.seed, text) if self.kind == "words" else _reasoning(self.seed, text, self.signature)
        )


class ResponsesWriter:
    """Writes steps as the events of a streamed response."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._asked = asked
        self._opening = Opening(id="", model="")
        self._number = 0
        self._open: dict[int, SpokenItem] = {}
        self._done: dict[int, Item] = {}
        self._count = 0

    def write(self, delta: Delta) -> bytes:
        """The events of one step."""
        match delta:
            case Opening():
                self._opening = delta
                begun = _response(delta, self._asked, [], None)
                kinds = ("response.created", "response.in_progress")
                return b"".join(self._event(kind, response=begun) for kind in kinds)
            case deltas.TextDelta(place=place, text=text):
                return self._enter(place, "words") + self._grow(place, text)
            case deltas.ThoughtDelta(place=place, text=text):
                return self._enter(place, "thought") + self._grow(place, text)
            case deltas.Signature(place=place, text=text):
                opened = self._enter(place, "thought")
                self._open[place].signature = text
                return opened
            case deltas.CallStart(place=place, id=id, name=name):
                return self._enter(place, "call", (id, name))
            case deltas.CallDelta(place=place, text=text):
                return self._grow(place, text) if text and place in self._open else b""
            case deltas.BlockEnd(place=place):
                return self._leave(place)
            case deltas.Closing(stop=stop, usage=usage):
                return self._end(stop, usage)
            case deltas.Fault(trouble=trouble):
                return self._fail(trouble)

    def _event(self, kind: str, **data: Any) -> bytes:
        number, self._number = self._number, self._number + 1
        return write_event({"type": kind, **data, "sequence_number": number}, kind)

    def _enter(self, place: int, kind: str, call: tuple[str, str] = ("", "")) -> bytes:
        """Announce an item. Words and thoughts before it are over; calls may still grow beside it."""
        if place in self._open:
            return b""
        left = b"".join(self._leave(one) for one, item in list(self._open.items()) if item.kind != "call")
        index, self._count = self._count, self._count + 1
        growing = SpokenItem(kind, index, f"{self._opening.id}.{index}", call=call, texts=[])
        self._open[place] = growing
        item = growing.item()
        left += self._event("response.output_item.added", output_index=index, item=_opened(item))
        here = {"item_id": item["id"], "output_index": index}
        if kind == "words":
            part = item["content"][0]
            left += self._event("response.content_part.added", **here, content_index=0, part=part)
        return left

    def _grow(self, place: int, text: str) -> bytes:
        growing = self._open[place]
        here: Item = {"item_id": growing.id, "output_index": growing.index}
        first = not growing.texts
        growing.texts.append(text)
        match growing.kind:
            case "call":
                return self._event("response.function_call_arguments.delta", **here, delta=text)
            case "words":
                here |= {"content_index": 0, "delta": text, "logprobs": []}
                return self._event("response.output_text.delta", **here)
        here["summary_index"] = 0
        blank = {"type": "summary_text", "text": ""}
        opened = self._event("response.reasoning_summary_part.added", **here, part=blank) if first else b""
        return opened + self._event("response.reasoning_summary_text.delta", **here, delta=text)

    def _leave(self, place: int) -> bytes:
        growing = self._open.pop(place, None)
        if growing is None:
            return b""
        item = growing.item()
        self._done[growing.index] = item
        told = list(_item_story(growing.index, item))
        ends = [event for event in told if str(event["type"]).endswith(".done")]
        return b"".join(self._event(event.pop("type"), **event) for event in ends)

    def _end(self, stop: Stop, usage: TokenUsage) -> bytes:
        left = b"".join(map(self._leave, sorted(self._open, key=lambda place: self._open[place].index)))
        items = [self._done[index] for index in sorted(self._done)]
        response = _response(self._opening, self._asked, items, stop) | {"usage": write_usage(usage)}
        return left + self._event(f"response.{response['status']}", response=response)

    def _fail(self, trouble: Trouble) -> bytes:
        """A response that has begun fails; before, there is only an error to tell."""
        if not self._number:
            return write_error_event("openai.responses", trouble)
        told = write_error("openai.responses", trouble).body["error"]
        error = {"code": told["code"] or told["type"], "message": told["message"]}
        response = _response(self._opening, self._asked, [], None) | {"status": "failed", "error": error}
        return self._event("response.failed", response=response)


WRITER = ResponsesWriter
