"""Replies of Chat Completions, written: whole, and as the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fanfold.core.message import Call, Text, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.chat.read import THOUGHTS
from fanfold.dialects.chat.write import short_id
from fanfold.dialects.http import deltas
from fanfold.dialects.http.deltas import Delta, Stop, WholeReply, wanted_stop
from fanfold.dialects.http.errors import write_error_event
from fanfold.dialects.http.events import write_event
from fanfold.dialects.http.replies import merge_usage, pieces
from fanfold.dialects.media import note
from fanfold.dialects.registry import CHAT
from fanfold.dialects.rules import Body

PREFIX = "chatcmpl-"
STOPS: dict[Stop, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "pause": "stop",
    "sequence": "stop",
}
_DONE = b"data: [DONE]\n\n"
_REASONING = THOUGHTS[0]


def write_reply(whole: WholeReply, asked: Mapping[str, Any]) -> Body:
    """The reply as `chat.completions.create` returns it."""
    message = _message(whole)
    stop = STOPS[wanted_stop(whole.stop, calls=bool(message.get("tool_calls")))]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": stop}
    opening = whole.opening
    head = {"id": opening.id, "object": "chat.completion", "created": opening.created, "model": opening.model}
    return {**head, "choices": [choice], "usage": write_usage(whole.usage)}


def _message(whole: WholeReply) -> Body:
    if len(whole.messages) == 1 and whole.came_over(CHAT):
        body: Body = whole.messages[0].wire.body  # type: ignore[union-attr]
        return body
    thoughts, texts, calls = list[str](), list[str](), list[Body]()
    for part in whole.parts:
        match part:
            case Thinking(text=text):
                thoughts += [text] if text else []
            case Call(id=id, name=name, raw=raw):
                calls.append(_call(id, name, raw))
            case Text(text=text):
                texts.append(text)
            case _:
                texts.append(note(part))
    content = "\n".join(texts) if texts or not calls else None
    reasoning = {_REASONING: "\n".join(thoughts)} if thoughts else {}
    called = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": content, "refusal": None, **reasoning, **called}


def _call(id: str, name: str, raw: str) -> Body:
    return {"id": short_id(id), "type": "function", "function": {"name": name, "arguments": raw}}


def write_usage(usage: TokenUsage) -> Body:
    """A usage in OpenAI's words; the prompt is told whole, with what of it was cached."""
    read = {"cached_tokens": usage.cache_read}
    written = {"cache_write_tokens": usage.cache_write} if usage.cache_write else {}
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {**read, **written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def set_usage(body: Body, usage: TokenUsage) -> Body:
    """A completion or a chunk with another usage."""
    match body:
        case {"usage": dict(old)}:
            return {**body, "usage": merge_usage(old, write_usage(usage))}
    return body


def replay(body: Body, asked: Mapping[str, Any]) -> Iterator[bytes]:
    """A whole completion as a stream; fields that fanfold does not know come with the first chunk of their message."""
    frame = {key: value for key, value in body.items() if key not in ("choices", "usage", "object")}
    frame["object"] = "chat.completion.chunk"
    listed = body.get("choices")
    for choice in [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else ():
        beside = {
            key: value for key, value in choice.items() if key not in ("message", "finish_reason", "logprobs")
        }
        for delta in _fill(choice.get("message")):
            yield write_event({**frame, "choices": [{**beside, "delta": delta, "finish_reason": None}]})
        ending = {**beside, "delta": {}, "finish_reason": choice.get("finish_reason")}
        if choice.get("logprobs") is not None:
            ending["logprobs"] = choice["logprobs"]
        yield write_event({**frame, "choices": [ending]})
    if _wants_usage(asked):
        yield write_event({**frame, "choices": [], "usage": body.get("usage")})
    yield _DONE


def _fill(message: Any) -> Iterator[Body]:
    """A message in pieces."""
    if not isinstance(message, dict):
        return
    told = (*THOUGHTS, "content", "tool_calls")
    texts = {key: message[key] for key in told[:3] if isinstance(message.get(key), str)}
    rest = {key: value for key, value in message.items() if key not in texts and key != "tool_calls"}
    yield {"role": "assistant", **({"content": ""} if "content" in texts else {}), **rest}
    for key, text in texts.items():
        yield from ({key: piece} for piece in pieces(text))
    calls = message.get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        kind = "custom" if isinstance(call, dict) and "custom" in call else "function"
        field = "input" if kind == "custom" else "arguments"
        match call:
            case {"function": {"arguments": str(raw)} as inner} | {"custom": {"input": str(raw)} as inner}:
                yield {"tool_calls": [{**call, "index": at, kind: {**inner, field: ""}}]}
                for piece in pieces(raw):
                    yield {"tool_calls": [{"index": at, kind: {field: piece}}]}
            case dict():
                yield {"tool_calls": [{**call, "index": at}]}


def _wants_usage(asked: Mapping[str, Any]) -> bool:
    options = asked.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


class ChatWriter:
    """Writes steps as the chunks of a streamed completion."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._bills = _wants_usage(asked)
        self._frame: Body = {}
        self._calls: dict[int, int] = {}
        self._last: dict[str, int] = {}
        """The place of the last words and of the last thought: another one begins on a line of its own."""

    def write(self, delta: Delta) -> bytes:
        """The chunks of one step."""
        match delta:
            case deltas.Opening(id=id, model=model, created=created):
                self._frame = {
                    "id": id,
                    "object": "chat.completion.chunk",
                    "created": created,
                    "model": model,
                }
                return self._chunk({"role": "assistant", "content": ""})
            case deltas.TextDelta(place=place, text=text):
                return self._chunk({"content": self._line("content", place, text)})
            case deltas.ThoughtDelta(place=place, text=text):
                return self._chunk({_REASONING: self._line(_REASONING, place, text)})
            case deltas.CallStart(place=place, id=id, name=name):
                at = self._calls.setdefault(place, len(self._calls))
                return self._chunk({"tool_calls": [{"index": at, **_call(id, name, "")}]})
            case deltas.CallDelta(place=place, text=text) if text and place in self._calls:
                piece = {"index": self._calls[place], "function": {"arguments": text}}
                return self._chunk({"tool_calls": [piece]})
            case deltas.Closing(stop=stop, usage=usage):
                return self._end(STOPS[wanted_stop(stop, calls=bool(self._calls))], usage)
            case deltas.Fault(trouble=trouble):
                return write_error_event(CHAT, trouble)
        return b""

    def _line(self, field: str, place: int, text: str) -> str:
        before, self._last[field] = self._last.get(field, place), place
        return text if before == place else f"\n{text}"

    def _chunk(self, delta: Body, stop: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
        unbilled = {"usage": None} if self._bills else {}
        return write_event({**self._frame, "choices": [choice], **unbilled})

    def _end(self, stop: str, usage: TokenUsage) -> bytes:
        last = self._chunk({}, stop)
        if self._bills:
            last += write_event({**self._frame, "choices": [], "usage": write_usage(usage)})
        return last + _DONE


WRITER = ChatWriter
