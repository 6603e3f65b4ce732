"""The rules of OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fanfold.codecs.rules import (
    MessageRule,
    OrderRule,
    calls_by_assistant,
    distinct,
    exchanges,
    has_image,
    results_by_tools,
    some_message,
)
from fanfold.message import Message
from fanfold.view import Row, Violation


def answered(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """Every call is answered, once, right after the message that made it, before anything else is said."""
    open: set[str] = set()
    for i, (calls, results) in enumerate(exchanges(rows)):
        for id in results:
            if id not in open:
                yield Violation(
                    "answered", f"messages[{i}]", f"a result for {id!r}, which no call before it asked for"
                )
            open.discard(id)
        if open and not results:
            yield Violation(
                "answered", f"messages[{i}]", f"calls without a result before it: {', '.join(sorted(open))}"
            )
            open.clear()
        if calls:
            open.update(calls)
    if open:
        yield Violation("answered", "the end", f"calls without a result: {', '.join(sorted(open))}")


def says_something(message: Message) -> str | None:
    """An assistant message has content or calls."""
    return "neither content nor calls" if message.role == "assistant" and silent(message) else None


def pictures_by_user(message: Message) -> str | None:
    """Pictures stand in user messages only."""
    if message.role == "user" or not any(has_image(part) for part in message.parts):
        return None
    return f"a picture in a {message.role} message"


MESSAGE: tuple[MessageRule, ...] = (
    distinct,
    calls_by_assistant,
    results_by_tools,
    says_something,
    pictures_by_user,
)
ORDER: tuple[OrderRule, ...] = (some_message, answered)


def silent(message: Message) -> bool:
    """Whether an assistant message came over the wire with neither content nor calls."""
    if message.parts or message.wire is None:
        return False
    body = message.wire.body
    spoken = any(body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))
    return not spoken and not isinstance(body.get("content"), str)
