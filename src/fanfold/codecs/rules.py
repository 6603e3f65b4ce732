"""Each provider's rules, as small named checks.

Some look at one message alone (they are checked once, when the message is weighed), some at the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fanfold.message import Image, Message, Result
from fanfold.view import Row, Violation, called

MessageRule = Callable[[Message], str | None]
OrderRule = Callable[[Sequence[Row]], Iterator[Violation]]


def answered(rows: Sequence[Row]) -> Iterator[Violation]:
    """Every call is answered, once, right after the message that made it, before anything else is said."""
    open: set[str] = set()
    for i, (calls, results) in enumerate(_exchanges(rows)):
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


def some_message(rows: Sequence[Row]) -> Iterator[Violation]:
    """There is at least one message."""
    if not rows:
        yield Violation("some_message", "messages", "there is no message at all")


def distinct(message: Message) -> str | None:
    """The calls of one message have different ids."""
    ids = [call.id for call in message.calls]
    return "two calls with the same id" if len(set(ids)) < len(ids) else None


def calls_by_assistant(message: Message) -> str | None:
    """Only the assistant calls tools."""
    return f"a call in a {message.role} message" if message.role != "assistant" and message.calls else None


def results_by_tools(message: Message) -> str | None:
    """The assistant does not answer its own calls."""
    return "a result in an assistant message" if message.role == "assistant" and message.results else None


def says_something(message: Message) -> str | None:
    """An assistant message has content or calls."""
    return "neither content nor calls" if message.role == "assistant" and silent(message) else None


def pictures_by_user(message: Message) -> str | None:
    """Pictures stand in user messages only."""
    if message.role == "user" or not any(_has_image(part) for part in message.parts):
        return None
    return f"a picture in a {message.role} message"


CHAT_MESSAGE: tuple[MessageRule, ...] = (
    distinct,
    calls_by_assistant,
    results_by_tools,
    says_something,
    pictures_by_user,
)
CHAT_ORDER: tuple[OrderRule, ...] = (some_message, answered)


def faults(message: Message, rules: Sequence[MessageRule]) -> tuple[Violation, ...]:
    """The rules that one message breaks by itself."""
    found = ((rule.__name__, rule(message)) for rule in rules)
    return tuple(Violation(name, "a message", text) for name, text in found if text)


def broken(rows: Sequence[Row], rules: Sequence[OrderRule]) -> list[Violation]:
    """All that is wrong with these rows."""
    alone = [fault for row in rows if row.weight.faults for fault in row.weight.faults]
    return alone + [violation for rule in rules for violation in rule(rows)]


def silent(message: Message) -> bool:
    """Whether an assistant message came over the wire with neither content nor calls."""
    if message.parts or message.wire is None:
        return False
    body = message.wire.body
    spoken = any(body.get(key) for key in ("tool_calls", "function_call", "refusal", "audio"))
    return not spoken and not isinstance(body.get("content"), str)


def _exchanges(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for row in rows:
        if len(row.messages) == 1:
            yield row.calls, row.results
        else:
            yield from (called((message,)) for message in row.messages)


def _has_image(part: object) -> bool:
    if isinstance(part, Result):
        return any(isinstance(inner, Image) for inner in part.parts)
    return isinstance(part, Image)
