"""OpenStarry: what a request is put together from, and what gives way (systems.md B), on Chat dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from fanfold.core.errors import DoesNotFit
from fanfold.systems.javascript import length
from fanfold.text.json_text import to_json

ChatMessage = dict[str, Any]
Count = Callable[[Any], int]
THRESHOLD = 10
OLDEST = 5
LIMIT = 128_000
STATE = "What is known so far, as JSON:\n"
SUMMARY = "What was said earlier, in short:\n"
CONTEXT = "Context for the present task:\n"


def estimate_tokens(value: Any) -> int:
    """A quarter of the characters of a value's JSON; nothing costs nothing."""
    return ceil(length(to_json(value)) / 4) if value else 0


def compose_payload(
    system_prompt: str,
    history: Sequence[ChatMessage],
    tools: Sequence[dict[str, Any]],
    rag_context: str | None = None,
    *,
    summary: str = "",
    state: Mapping[str, Any] | None = None,
    limit: int = LIMIT,
    count: Count = estimate_tokens,
) -> dict[str, Any]:
    """The payload for a model: messages that fit and can be sent, and all tools (B1, B2, B3).

    System prompt, tools and state never give way; history does first, then summary, then context. With a `state`
    the payload carries that object instead of the dialogue, and the newest thing the user said (B5).
    """
    head = [{"role": "system", "content": system_prompt}]
    if state is not None:
        head.append({"role": "system", "content": STATE + to_json(dict(state))})
        history = [message for message in history if message.get("role") == "user"][-1:]
    room = limit - sum(map(count, head)) - count(list(tools))
    if room < 0:
        raise DoesNotFit(
            f"System prompt, tools and state take {limit - room:,} tokens, {limit:,} fit. Shorten them."
        )
    for text in (CONTEXT + rag_context if rag_context else "", SUMMARY + summary if summary else ""):
        block = {"role": "system", "content": text}
        if text and count(block) <= room:
            head.append(block)
            room -= count(block)
    newest = [message for block in _newest(_blocks(history), room, count) for message in block]
    return {"messages": [*head, *newest], "tools": list(tools)}


def _newest(blocks: Sequence[list[ChatMessage]], room: int, count: Count) -> list[list[ChatMessage]]:
    """The newest blocks that fit together."""
    kept: list[list[ChatMessage]] = []
    for block in reversed(blocks):
        room -= sum(map(count, block))
        if room < 0:
            break
        kept.insert(0, block)
    return kept


def _blocks(history: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """The history in pieces that can be sent: a call with its results, any other message by itself."""
    blocks: list[list[ChatMessage]] = []
    for message in history:
        if message.get("role") == "tool":
            if blocks and message.get("tool_call_id") in _calls_of(blocks[-1][0]):
                blocks[-1].append(message)
        else:
            blocks.append([message])
    return [repaired for block in blocks if (repaired := list(_drop_unanswered(block)))]


def _drop_unanswered(block: list[ChatMessage]) -> Iterator[ChatMessage]:
    """The block without calls that nobody answered, and without a message of which nothing is left then."""
    first, *results = block
    missing = _calls_of(first) - {one.get("tool_call_id") for one in results}
    if not missing:
        yield from block
        return
    calls = [call for call in first["tool_calls"] if call.get("id") not in missing]
    rest = {key: value for key, value in first.items() if key != "tool_calls"}
    if calls or rest.get("content"):
        yield {**rest, "tool_calls": calls} if calls else rest
        yield from results


def _calls_of(message: ChatMessage) -> set[Any]:
    return {call.get("id") for call in message.get("tool_calls") or ()}


def on_turn_complete(
    history: Sequence[ChatMessage],
    *,
    summary: str = "",
    summarize: Callable[[str, list[ChatMessage]], str] | None = None,
    threshold: int = THRESHOLD,
    oldest: int = OLDEST,
) -> dict[str, Any]:
    """After a turn: if there are more turns than the threshold, the oldest are added to the summary (B4).

    `summarize` gets the summary so far and the messages of the oldest turns. Without it, or if it returns
    nothing, nothing happens.
    """
    turns = _turns(history)
    old = [message for turn in turns[:oldest] for message in turn]
    new = summarize(summary, old) if summarize is not None and len(turns) > threshold else ""
    if not new.strip():
        return {"history": list(history), "summary": summary}
    return {"history": list(history[len(old) :]), "summary": new}


def _turns(history: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """From one user message to the next; what comes before the first belongs to it."""
    turns: list[list[ChatMessage]] = []
    spoken = False
    for message in history:
        asks = message.get("role") == "user"
        if not turns or (asks and spoken):
            turns.append([])
        turns[-1].append(message)
        spoken = spoken or asks
    return turns


def update_state(
    state: Mapping[str, Any],
    schema: Mapping[str, Any],
    history: Sequence[ChatMessage],
    extract: Callable[[dict[str, Any], list[ChatMessage]], Mapping[str, Any]],
) -> dict[str, Any]:
    """The state after the user said something: what `extract` finds, as far as the schema has a place for it (B5)."""
    found = extract(dict(state), list(history))
    return {**state, **{name: found[name] for name in schema if name in found}}
