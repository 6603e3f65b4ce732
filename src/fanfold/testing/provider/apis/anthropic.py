"""Anthropic's Messages."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fanfold.testing.provider.cache import Bill, PromptCache, bill_marks
from fanfold.testing.provider.rejection import MEBIBYTE, Limits, Rejection
from fanfold.testing.provider.request import Received
from fanfold.testing.provider.seal import fingerprint
from fanfold.testing.provider.tokens import Count, PricedBlock, block, definition
from fanfold.testing.provider.wire import Wire, canonical, objects, pieces, references, section, without

from .order import Order, event, total
from .order import model as model
from .order import streams as streams
from .order import usage as usage

STOPS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}
STOPS |= {"refusal": "refusal", "pause": "pause_turn"}
TOOL_USE = 346
"""Tokens of the system prompt that Anthropic puts before tools, by its documentation."""
TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
TYPES |= {413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}


def blocks(body: Wire, count: Count) -> list[PricedBlock]:
    """Tools, system, and the blocks of all messages; a mark on the request is one on its last block."""
    found = [*_frame(body, count), *_messages(body, count)]
    control = body.get("cache_control")
    if isinstance(control, dict) and found:
        found[-1] = replace(found[-1], mark=control.get("ttl", "5m"))
    return found


def charge(cache: PromptCache, blocks: Sequence[PricedBlock], request: Received, minimum: int) -> Bill:
    """What the marks find in the cache and leave there; other thinking or choice is another cache."""
    body = request.body
    seed = canonical([request.model, body.get("thinking"), body.get("tool_choice")])
    frame = len(_frame(body, len))
    salted = [replace(item, text=seed + item.text) if at == frame else item for at, item in enumerate(blocks)]
    return bill_marks(cache, salted, request.model, minimum)


def refuse_long(blocks: Sequence[PricedBlock], body: Wire, window: int) -> Rejection | None:
    """Prompt and `max_tokens` share one window."""
    used, asked = total(blocks), body.get("max_tokens", 0)
    if used > window:
        return Rejection(f"prompt is too long: {used} tokens > {window} maximum")
    if used + asked <= window:
        return None
    text = f"input length and `max_tokens` exceed context limit: {used} + {asked} > {window}, "
    return Rejection(text + "decrease input length or `max_tokens` and try again")


def refuse_large(size: int, limits: Limits) -> Rejection | None:
    if size <= limits.anthropic_bytes:
        return None
    text = f"Request exceeds the maximum allowed number of bytes ({limits.anthropic_bytes / MEBIBYTE:g} MB)."
    return Rejection(text, status=413)


def unreadable(problem: str) -> Rejection:
    return Rejection(f"The request body is not valid JSON: {problem}")


def word_count(tokens: int) -> Wire:
    return {"input_tokens": tokens}


def reply(order: Order) -> Wire:
    turn, content = order.turn, _thoughts(order)
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    for nth, (name, args) in enumerate(turn.calls):
        call = {"type": "tool_use", "id": order.name.call("toolu_", nth), "name": name, "input": dict(args)}
        content.append(call)
    head = {"id": order.name.reply("msg_"), "type": "message", "role": "assistant"}
    ending = {"stop_reason": STOPS[turn.why], "stop_sequence": None}
    return {
        **head,
        "model": order.request.model,
        "content": content,
        **ending,
        "usage": _usage(order, content),
    }


def events(reply: Wire, request: Received) -> Iterator[bytes]:
    for data in _story(reply):
        yield event(data, data["type"])


def error(rejection: Rejection, name: str) -> Wire:
    kind = TYPES.get(rejection.status, "invalid_request_error" if rejection.status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": rejection.message}, "request_id": name}


def error_event(rejection: Rejection, name: str) -> bytes:
    return event(error(rejection, name), "error")


def _frame(body: Wire, count: Count) -> list[PricedBlock]:
    system = body.get("system")
    texts = [block(system, count)] if isinstance(system, str) and system else []
    there = [tool for tool in objects(body.get("tools")) if tool.get("defer_loading") is not True]
    tools = [definition(tool, count) for tool in there]
    return [
        *([PricedBlock("tool use", TOOL_USE)] if tools else []),
        *tools,
        *texts,
        *(block(item, count) for item in objects(system)),
    ]


def _messages(body: Wire, count: Count) -> Iterator[PricedBlock]:
    for message in objects(body.get("messages")):
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
        for part in parts:
            weighed = block(part, count)
            loaded = [
                _definition_of(body, name, count) for name in references({"messages": [{"content": [part]}]})
            ]
            weighed = replace(weighed, tokens=weighed.tokens + sum(loaded))
            yield replace(weighed, text=f"{message.get('role')}:{weighed.text}", mark=_mark(part, weighed))


def _definition_of(body: Wire, name: str, count: Count) -> int:
    """The tokens of a tool that waited: it is read where it is referred to."""
    found = (tool for tool in objects(body.get("tools")) if tool.get("name") == name)
    return sum(definition(without(tool, "defer_loading"), count).tokens for tool in found)


def _mark(part: Wire, weighed: PricedBlock) -> str | None:
    """The block's own mark, or one on the parts of a result."""
    marks = [block(inner, len).mark for inner in objects(part.get("content"))]
    return weighed.mark or next((mark for mark in marks if mark), None)


def _thoughts(order: Order) -> list[Wire]:
    turn, wanted = order.turn, section(order.request.body, "thinking").get("type") in ("enabled", "adaptive")
    texts = [("thinking", turn.thinking), ("redacted_thinking", turn.hidden)] if wanted else []
    given = [(kind, text) for kind, text in texts if text]
    return [_thought_block(order, kind, text, place, len(given)) for place, (kind, text) in enumerate(given)]


def _thought_block(order: Order, kind: str, text: str, place: int, of: int) -> Wire:
    shown = text if kind == "thinking" else ""
    payload = {"reply": order.name.digest[:24], "place": place, "of": of, "text": fingerprint(shown)}
    if kind == "thinking":
        return {"type": kind, "thinking": text, "signature": order.seal.close(**payload)}
    return {"type": kind, "data": order.seal.close(**payload, hidden=text)}


def _usage(order: Order, content: list[Wire]) -> Wire:
    bill, calls = order.bill, [canonical(part) for part in content if part["type"] == "tool_use"]
    thought = order.thought_tokens if content and "thinking" in content[0]["type"] else 0
    kept = {"ephemeral_5m_input_tokens": bill.written_5m, "ephemeral_1h_input_tokens": bill.written_1h}
    return {
        "input_tokens": bill.fresh,
        "cache_creation_input_tokens": bill.written,
        "cache_read_input_tokens": bill.read,
        "cache_creation": kept,
        "output_tokens": order.spoken_tokens(order.turn.text, *calls) + thought,
        "service_tier": "standard",
    }


def _story(reply: Wire) -> Iterator[Wire]:
    begun = {**reply, "content": [], "stop_reason": None, "usage": {**reply["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for at, part in enumerate(reply["content"]):
        opened, deltas = _parts(part)
        yield {"type": "content_block_start", "index": at, "content_block": opened}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    told = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    ending = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {key: reply["usage"][key] for key in told}}
    yield {"type": "message_stop"}


def _parts(part: Wire) -> tuple[Wire, list[Wire]]:
    """How a block is opened, and the deltas that fill it."""
    match part["type"]:
        case "text":
            texts = [{"type": "text_delta", "text": piece} for piece in pieces(part["text"])]
            return {"type": "text", "text": ""}, texts
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(part["thinking"])]
            signed = {"type": "signature_delta", "signature": part["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use":
            fragments = ["", *pieces(canonical(part["input"]))]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in fragments]
            return {**part, "input": {}}, deltas
    return part, []
