"""Each provider's rules, as small named checks; one module per provider.

Some look at one message alone (they are checked once, when the message is weighed), some at the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.message import Message
from fanfold.core.view import Row, Violation

MessageRule = Callable[[Message], str | None]
OrderRule = Callable[[Sequence[Row], Mapping[str, Any]], Iterator[Violation]]


def faults(message: Message, rules: Sequence[MessageRule]) -> tuple[Violation, ...]:
    """The rules that one message breaks by itself."""
    found = [(rule.__name__, text) for rule in rules if (text := rule(message))]
    return tuple(Violation(name, "a message", text) for name, text in found) if found else ()


def broken(rows: Sequence[Row], params: Mapping[str, Any], rules: Sequence[OrderRule]) -> list[Violation]:
    """All that is wrong with these rows."""
    alone = [fault for row in rows if row.weight.faults for fault in row.weight.faults]
    return alone + [violation for rule in rules for violation in rule(rows, params)]


def some_message(rows: Sequence[Row], params: Mapping[str, Any]) -> Iterator[Violation]:
    """There is at least one message."""
    if not any(row.weight.wire for row in rows):
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
