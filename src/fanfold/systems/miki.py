"""Miki: importance, pruned UI data and a snapshot (systems.md C), on its own dicts: `{"role", "parts"}`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from fanfold.outputs.filters.ui_tree import TreeLimits, prune_tree
from fanfold.systems.javascript import length
from fanfold.text.json_text import to_json

Message = dict[str, Any]
Snapshot = dict[str, Any]

MAX_MESSAGES = 24
PROFILES = {"short": 16, "normal": 24, "complex": 40}
"""The most messages for a short task (12 to 16), a normal one (20 to 24) and a complex one (30 to 40) (C3)."""
NEWEST = 0.4
MAX_TEXT_CHARS = 1_000
MAX_DATA_CHARS = 2_000
MAX_UI_NODES = 200
MAX_UI_DEPTH = 2
MAX_UI_CHILDREN = 20
MAX_WEB_ELEMENTS = 200
MAX_ACTIONS = 8
"""The document names no use for it, so nothing is cut by it."""
IMAGE_TOKENS = 100
LIMITS = {
    "elementsJson": TreeLimits(MAX_UI_NODES, MAX_UI_DEPTH, MAX_UI_CHILDREN, MAX_TEXT_CHARS),
    "webElements": TreeLimits(MAX_WEB_ELEMENTS, MAX_UI_DEPTH, MAX_UI_CHILDREN, MAX_TEXT_CHARS),
}
"""How much is shown of what each tool says about a user interface (C4)."""


def importance(message: Message) -> float:
    """How much a message matters: 0.5, and more or less for what is in it (C1)."""
    parts = message.get("parts") or ()
    score = 0.5
    score += 0.3 if any(map(_is_error, parts)) else 0
    score += 0.3 if any(map(_is_done, parts)) else 0
    score += 0.2 if any(map(_is_planning, parts)) else 0
    score += 0.1 if any(map(_is_screenshot, parts)) else 0
    score -= 0.1 if any(map(_is_dump, parts)) else 0
    return round(score, 10)


def _is_error(part: Mapping[str, Any]) -> bool:
    said = (part.get("text") or "").lower()
    response = (part.get("functionResponse") or {}).get("response")
    return (
        "error" in said or "エラー" in said or (isinstance(response, Mapping) and bool(response.get("error")))
    )


def _is_done(part: Mapping[str, Any]) -> bool:
    named = {(part.get(kind) or {}).get("name") for kind in ("functionCall", "functionResponse")}
    return "done" in named or "完了" in (part.get("text") or "")


def _is_planning(part: Mapping[str, Any]) -> bool:
    call = part.get("functionCall") or {}
    return call.get("name") == "think" and (call.get("args") or {}).get("phase") == "planning"


def _is_screenshot(part: Mapping[str, Any]) -> bool:
    return str((part.get("inlineData") or {}).get("mimeType", "")).startswith("image/")


def _is_dump(part: Mapping[str, Any]) -> bool:
    return (part.get("functionResponse") or {}).get("name") in LIMITS


def retain(
    messages: Sequence[Message],
    max_messages: int = MAX_MESSAGES,
    *,
    score: Callable[[Message], float] = importance,
) -> list[Message]:
    """At most so many messages, in time order: the newest 40 %, and the most important of the older ones (C2)."""
    if len(messages) <= max_messages:
        return list(messages)
    newest = ceil(NEWEST * max_messages)
    start = len(messages) - newest
    ranked = sorted(range(start), key=lambda index: (-score(messages[index]), index))
    return [messages[index] for index in sorted(ranked[: max_messages - newest])] + list(messages[start:])


def compress_ui_data(message: Message, limits: Mapping[str, TreeLimits] = LIMITS) -> Message:
    """The message with the results of the tools that have limits pruned; other parts as they are (C4)."""
    parts = message.get("parts")
    return {**message, "parts": [_prune(part, limits) for part in parts]} if parts else message


def _prune(part: dict[str, Any], limits: Mapping[str, TreeLimits]) -> dict[str, Any]:
    result = part.get("functionResponse") or {}
    limit = limits.get(result.get("name", ""))
    if limit is None:
        return part
    return {**part, "functionResponse": {**result, "response": prune_tree(result.get("response"), limit)}}


def update_snapshot(snapshot: Snapshot | None, update: Snapshot) -> Snapshot:
    """The snapshot with some fields replaced; the first one begins empty (C5)."""
    empty = {"goal": "", "completedActions": [], "currentPhase": "", "keyObservations": []}
    return {**(empty if snapshot is None else snapshot), **update}


def estimate_tokens(messages: Sequence[Message]) -> int:
    """A quarter of the characters, calls and results by their JSON, 100 for a picture (C6)."""
    return ceil(sum(weight for message in messages for weight in _weights(message)))


def _weights(message: Message) -> Iterator[float]:
    for part in message.get("parts") or ():
        yield length(part.get("text") or "") / 4
        for kind in ("functionCall", "functionResponse"):
            if part.get(kind) is not None:
                yield length(to_json(part[kind])) / 4
        if part.get("inlineData") is not None:
            yield IMAGE_TOKENS


def stats(messages: Sequence[Message], snapshot: Snapshot | None = None) -> dict[str, Any]:
    """How much is in the context (C6)."""
    return {
        "messageCount": len(messages),
        "estimatedTokens": estimate_tokens(messages),
        "hasSnapshot": snapshot is not None,
    }
