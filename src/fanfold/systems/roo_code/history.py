"""Roo Code's history: nothing is deleted, messages are tagged with what hides them (systems.md E5, E6)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from math import floor
from typing import Any

from fanfold.strategies.truncate import MARKER

ApiMessage = dict[str, Any]


def truncate_conversation(
    messages: Sequence[ApiMessage], frac_to_remove: float, task_id: str = ""
) -> dict[str, Any]:
    """Hide a fraction of the visible messages but the first, made even, behind a marker (E6)."""
    truncation_id = str(uuid.uuid4())
    visible = [index for index, message in enumerate(messages) if _without_truncated(message)]
    removed = floor((len(visible) - 1) * frac_to_remove)
    removed -= removed % 2
    if removed <= 0:
        return {"messages": messages, "truncationId": truncation_id, "messagesRemoved": 0}
    hidden = set(visible[1 : removed + 1])
    tagged = [
        {**message, "truncationParent": truncation_id} if index in hidden else message
        for index, message in enumerate(messages)
    ]
    kept = visible[removed + 1] if removed + 1 < len(visible) else len(messages)
    tagged.insert(kept, _marker(removed, truncation_id, messages[kept : kept + 1]))
    return {"messages": tagged, "truncationId": truncation_id, "messagesRemoved": removed}


def _without_truncated(message: ApiMessage) -> bool:
    return not message.get("truncationParent") and not message.get("isTruncationMarker")


def _marker(removed: int, truncation_id: str, kept: Sequence[ApiMessage]) -> ApiMessage:
    return {
        "role": "user",
        "content": MARKER.format(removed),
        "ts": before(kept),
        "isTruncationMarker": True,
        "truncationId": truncation_id,
    }


def before(kept: Sequence[ApiMessage]) -> int:
    """The time just before the first kept message, or before now."""
    ts = kept[0].get("ts") if kept else None
    return (now() if ts is None else ts) - 1


def now() -> int:
    """Milliseconds, as the messages carry them."""
    return int(time.time() * 1000)


def countable(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """What a truncation leaves to count: what no truncation hides, without the markers."""
    return [message for message in messages if _without_truncated(message)]


def effective_history(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """The messages that are sent: without those that a summary or a marker stands for (E5)."""
    summaries, markers = _standing(messages)
    return [
        message
        for message in messages
        if message.get("condenseParent") not in summaries and message.get("truncationParent") not in markers
    ]


def cleanup_after_truncation(messages: Sequence[ApiMessage]) -> list[ApiMessage]:
    """The messages without tags whose summary or marker is gone, so that they are seen again (E7)."""
    summaries, markers = _standing(messages)
    return [_clean(message, summaries, markers) for message in messages]


def _standing(messages: Sequence[ApiMessage]) -> tuple[set[str], set[str]]:
    """The ids of the summaries and of the markers that are there."""
    summaries = {one["condenseId"] for one in messages if one.get("isSummary") and one.get("condenseId")}
    markers = {
        one["truncationId"] for one in messages if one.get("isTruncationMarker") and one.get("truncationId")
    }
    return summaries, markers


def _clean(message: ApiMessage, summaries: set[str], markers: set[str]) -> ApiMessage:
    dangling = {
        tag
        for tag, standing in (("condenseParent", summaries), ("truncationParent", markers))
        if message.get(tag) and message[tag] not in standing
    }
    if not dangling:
        return message
    return {key: value for key, value in message.items() if key not in dangling}
