"""Gemini's generateContent."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.testing.provider.cache import Bill, PromptCache, bill_prefix
from fanfold.testing.provider.rejection import Limits, Rejection
from fanfold.testing.provider.request import Received
from fanfold.testing.provider.tokens import Count, PricedBlock, block, definition
from fanfold.testing.provider.wire import Wire, canonical, objects, pieces, spelled

from .order import Order, event, total

STOPS = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY", "pause": "OTHER"}
STATES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT"}
STATES |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
THREE = re.compile(r"gemini-([3-9]|\d\d)")


def model(path: str, body: Wire) -> str:
    """The model that is asked for: it stands in the path."""
    return path.split("/models/")[-1].rsplit(":", 1)[0]


def streams(path: str, body: Wire) -> bool:
    """Whether the reply is to be streamed: that, too, stands in the path."""
    return path.endswith(":streamGenerateContent")


def blocks(body: Wire, count: Count) -> list[PricedBlock]:
    """Tools, then the system instruction, then the contents."""
    tools = [definition(tool, count) for tool in objects(body.get("tools"))]
    system = spelled(body, "systemInstruction")
    told = [block(system, count)] if system else []
    return tools + told + [block(content, count) for content in objects(body.get("contents"))]


def charge(cache: PromptCache, blocks: Sequence[PricedBlock], request: Received, minimum: int) -> Bill:
    """Implicit caching: the longest remembered prefix."""
    return bill_prefix(cache, blocks, f"gemini {request.model}", minimum, 1)


def refuse_long(blocks: Sequence[PricedBlock], body: Wire, window: int) -> Rejection | None:
    """The input has to fit; output has a window of its own."""
    used = total(blocks)
    if used <= window:
        return None
    text = f"The input token count ({used}) exceeds the maximum number of tokens allowed ({window})."
    return Rejection(text)


def refuse_large(size: int, limits: Limits) -> Rejection | None:
    if size <= limits.gemini_bytes:
        return None
    return Rejection(f"Request payload size exceeds the limit: {limits.gemini_bytes} bytes.")


def unreadable(problem: str) -> Rejection:
    return Rejection(f"Invalid JSON payload received. {problem}")


def word_count(tokens: int) -> Wire:
    return {"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]}


def reply(order: Order) -> Wire:
    parts = [*_thoughts(order), *_spoken_parts(order)]
    candidate = {
        "content": {"role": "model", "parts": parts},
        "finishReason": STOPS[order.turn.why],
        "index": 0,
    }
    head = {"candidates": [candidate], "usageMetadata": _usage(order, parts)}
    return {**head, "modelVersion": order.request.model, "responseId": order.name.reply("")}


def usage(reply: Wire) -> Wire:
    found: Wire = reply["usageMetadata"]
    return found


def events(reply: Wire, request: Received) -> Iterator[bytes]:
    """The same reply as a stream: of events, or of one JSON array where no events are asked for."""
    chunks = list(_chunks(reply))
    if "alt=sse" in request.query:
        yield from (event(chunk) for chunk in chunks)
        return
    for at, chunk in enumerate(chunks):
        yield ("[" if at == 0 else ",\n").encode() + canonical(chunk).encode()
    yield b"]"


def error(rejection: Rejection, name: str) -> Wire:
    code = 400 if rejection.status == 413 else 503 if rejection.status == 529 else rejection.status
    state = STATES.get(code, "INTERNAL" if code >= 500 else "INVALID_ARGUMENT")
    return {"error": {"code": code, "message": rejection.message, "status": state}}


def error_event(rejection: Rejection, name: str) -> bytes:
    return event(error(rejection, name))


def _thoughts(order: Order) -> list[Wire]:
    settings = spelled(spelled(order.request.body, "generationConfig") or {}, "thinkingConfig") or {}
    if not order.turn.thinking or not spelled(settings, "includeThoughts"):
        return []
    return [{"text": order.turn.thinking, "thought": True}]


def _spoken_parts(order: Order) -> list[Wire]:
    turn = order.turn
    parts: list[Wire] = [{"text": turn.text}] if turn.text or not turn.calls else []
    parts += [{"functionCall": _call(order, nth)} for nth in range(len(turn.calls))]
    signed = next((part for part in parts if "functionCall" in part), parts[-1])
    if THREE.search(order.request.model) or turn.thinking:
        signed["thoughtSignature"] = order.seal.close(reply=order.name.digest[:24], thought=turn.thinking)
    return parts


def _call(order: Order, nth: int) -> Wire:
    name, args = order.turn.calls[nth]
    call: dict[str, Any] = {"name": name, "args": dict(args)}
    return {**call, "id": order.name.call("", nth)} if THREE.search(order.request.model) else call


def _usage(order: Order, parts: list[Wire]) -> Wire:
    calls = [canonical(part["functionCall"]) for part in parts if "functionCall" in part]
    spoken, bill = order.spoken_tokens(order.turn.text, *calls), order.bill
    found: Wire = {"promptTokenCount": bill.total, "candidatesTokenCount": spoken}
    if order.thought_tokens:
        found["thoughtsTokenCount"] = order.thought_tokens
    if bill.read:
        found["cachedContentTokenCount"] = bill.read
    found["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": bill.total}]
    return {**found, "totalTokenCount": bill.total + spoken + order.thought_tokens}


def _chunks(reply: Wire) -> Iterator[Wire]:
    candidate = reply["candidates"][0]
    parts = [piece for part in candidate["content"]["parts"] for piece in _pieces(part)]
    for at, part in enumerate(parts):
        chunk: Wire = {"content": {"role": "model", "parts": [part]}, "index": 0}
        if at == len(parts) - 1:
            chunk["finishReason"] = candidate["finishReason"]
        yield {**reply, "candidates": [chunk]}


def _pieces(part: Wire) -> list[Wire]:
    """A text in pieces, its signature last on an empty one; a call is never cut."""
    if not part.get("text"):
        return [part]
    beside = {"thought": True} if part.get("thought") else {}
    texts: list[Wire] = [{"text": piece, **beside} for piece in pieces(part["text"])]
    signature = part.get("thoughtSignature")
    return [*texts, {"text": "", "thoughtSignature": signature}] if signature else texts
