"""OpenAI's Chat Completions."""

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.testing.provider.rejection import Rejection
from fanfold.testing.provider.request import Received
from fanfold.testing.provider.rules.chat import THINKING
from fanfold.testing.provider.tokens import Count, PricedBlock, block, definition
from fanfold.testing.provider.wire import Wire, canonical, objects, pieces, section

from .openai import charge as charge
from .openai import error as error
from .openai import refuse_large as refuse_large
from .openai import unreadable as unreadable
from .order import CREATED, Order, event, total
from .order import model as model
from .order import streams as streams
from .order import usage as usage

STOPS = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "pause": "stop",
}


def blocks(body: Wire, count: Count) -> list[PricedBlock]:
    """Tools, then messages."""
    tools = [definition(tool, count) for tool in objects(body.get("tools"))]
    return tools + [block(message, count) for message in objects(body.get("messages"))]


def refuse_long(blocks: Sequence[PricedBlock], body: Wire, window: int) -> Rejection | None:
    """Prompt and completion share one window."""
    used, asked = total(blocks), body.get("max_completion_tokens") or body.get("max_tokens") or 0
    if used + asked <= window:
        return None
    head = f"This model's maximum context length is {window} tokens. However, "
    if used > window:
        text = f"your messages resulted in {used} tokens. Please reduce the length of the messages."
    else:
        parts = f"({used} in the messages, {asked} in the completion)"
        text = f"you requested {used + asked} tokens {parts}. Please reduce the length of the messages or "
        text += "completion."
    return Rejection(head + text, param="messages", code="context_length_exceeded")


def word_count(tokens: int) -> Wire:
    """Chat Completions count no tokens; this is the count all the same."""
    return {"input_tokens": tokens}


def reply(order: Order) -> Wire:
    turn, calls = order.turn, [_call(order, nth) for nth in range(len(order.turn.calls))]
    message: Wire = {"role": "assistant", "content": turn.text or None, "refusal": None, "annotations": []}
    if turn.thinking and THINKING.search(order.request.model):
        message["reasoning_content"] = turn.thinking
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": STOPS[turn.why]}
    head = {"id": order.name.reply("chatcmpl-"), "object": "chat.completion", "created": CREATED}
    tail = {"usage": _usage(order, calls), "service_tier": "default", "system_fingerprint": "fp_scripted"}
    return {**head, "model": order.request.model, "choices": [choice], **tail}


def events(reply: Wire, request: Received) -> Iterator[bytes]:
    choice = reply["choices"][0]
    yield _chunk(reply, {"role": "assistant", "content": "", "refusal": None})
    for piece in pieces(choice["message"].get("reasoning_content", "")):
        yield _chunk(reply, {"reasoning_content": piece})
    for piece in pieces(choice["message"]["content"] or ""):
        yield _chunk(reply, {"content": piece})
    for nth, call in enumerate(choice["message"].get("tool_calls", [])):
        yield from _call_chunks(reply, nth, call)
    yield _chunk(reply, {}, choice["finish_reason"])
    if section(request.body, "stream_options").get("include_usage"):
        yield event({**_frame(reply), "choices": [], "usage": reply["usage"]})
    yield b"data: [DONE]\n\n"


def error_event(rejection: Rejection, name: str) -> bytes:
    return event(error(rejection, name))


def _call(order: Order, nth: int) -> Wire:
    name, args = order.turn.calls[nth]
    function = {"name": name, "arguments": canonical(dict(args))}
    return {"id": order.name.call("call_", nth), "type": "function", "function": function}


def _usage(order: Order, calls: list[Wire]) -> Wire:
    spoken = order.spoken_tokens(order.turn.text, *(canonical(call["function"]) for call in calls))
    completion = spoken + order.thought_tokens
    return {
        "prompt_tokens": order.bill.total,
        "completion_tokens": completion,
        "total_tokens": order.bill.total + completion,
        "prompt_tokens_details": {"cached_tokens": order.bill.read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": order.thought_tokens, "audio_tokens": 0},
    }


def _frame(reply: Wire) -> Wire:
    kept = ("id", "created", "model", "service_tier", "system_fingerprint")
    return {**{key: reply[key] for key in kept}, "object": "chat.completion.chunk"}


def _chunk(reply: Wire, delta: Wire, finish: str | None = None) -> bytes:
    choice: dict[str, Any] = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return event({**_frame(reply), "choices": [choice], "usage": None})


def _call_chunks(reply: Wire, nth: int, call: Wire) -> Iterator[bytes]:
    opened = {"name": call["function"]["name"], "arguments": ""}
    yield _chunk(reply, {"tool_calls": [{**call, "index": nth, "function": opened}]})
    for piece in pieces(call["function"]["arguments"]):
        yield _chunk(reply, {"tool_calls": [{"index": nth, "function": {"arguments": piece}}]})
