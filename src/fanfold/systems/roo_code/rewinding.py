"""Roo Code's rewind: what the user sees and what the model sees go back together (systems.md E7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanfold.core.errors import NotFound
from fanfold.systems.roo_code.history import ApiMessage, cleanup_after_truncation, now

Task = dict[str, Any]
"""`clineMessages`, which the user sees, and `apiConversationHistory`."""


def rewind_to_timestamp(
    task: Task, ts: int, *, include_target: bool = False, skip_cleanup: bool = False
) -> Task:
    """The task as it was before the message of a time; with `include_target` the user still sees that message."""
    seen = task["clineMessages"]
    index = next((index for index, message in enumerate(seen) if message.get("ts") == ts), None)
    if index is None:
        raise NotFound(f"Message with timestamp {ts} not found in clineMessages")
    return _rewound(task, index + include_target, ts, skip_cleanup)


def rewind_to_index(
    task: Task, to_index: int, *, include_target: bool = False, skip_cleanup: bool = False
) -> Task:
    """The task with the messages before an index of what the user sees; one beyond the end takes nothing back."""
    if to_index < 0:
        raise NotFound(f"There is no message {to_index}; they are counted from 0.")
    target = task["clineMessages"][to_index : to_index + 1]
    ts = target[0].get("ts") if target else None
    return _rewound(task, to_index + include_target, now() if ts is None else ts, skip_cleanup)


def _rewound(task: Task, index: int, ts: int, skip_cleanup: bool) -> Task:
    gone = task["clineMessages"][index:]
    condensed = {_id(one, "condense_context", "contextCondense", "condenseId") for one in gone} - {None}
    truncated = {
        _id(one, "sliding_window_truncation", "contextTruncation", "truncationId") for one in gone
    } - {None}
    cutoff = _cutoff(task["apiConversationHistory"], ts)
    history = [
        message
        for message in task["apiConversationHistory"]
        if (not message.get("ts") or message["ts"] < cutoff)
        and not (message.get("isSummary") and message.get("condenseId") in condensed)
        and not (message.get("isTruncationMarker") and message.get("truncationId") in truncated)
    ]
    cleaned = history if skip_cleanup else cleanup_after_truncation(history)
    return {**task, "clineMessages": task["clineMessages"][:index], "apiConversationHistory": cleaned}


def _id(message: dict[str, Any], say: str, event: str, name: str) -> str | None:
    """The id of the summary or marker that an event of the user's view stands for."""
    if message.get("say") != say:
        return None
    return (message.get(event) or {}).get(name) or None


def _cutoff(history: Sequence[ApiMessage], ts: int) -> int:
    """The time from which messages go. While a reply streams, the model's side may be recorded later than the
    user's: without an exact match, the first user message at or after that time is where it goes."""
    times = [message["ts"] for message in history if message.get("ts") is not None]
    if ts in times or not any(time < ts for time in times):
        return ts
    users = [one["ts"] for one in history if one.get("role") == "user" and one.get("ts") is not None]
    return next((time for time in users if time >= ts), ts)
