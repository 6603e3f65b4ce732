"""What all providers demand, and what repairs say; the rules of each stand in `rules.py` of its folder.

A rule is a small function whose docstring says what the provider demands; what repairs a breach stands beside it.
Some rules look at one message alone and are checked once, when the message is weighed; some look at the order of rows.
A repair is the smallest change that makes rows legal (`Patch`); the session records it, and shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fanfold.core.message import Message, Part, Result, Text
from fanfold.core.view import Row, Violation

Patch = tuple[tuple[str, ...], tuple[Message, ...]]
"""What a repair is: the rows it covers, and what it shows in their place."""
MessageRule = Callable[[Message], str | None]
OrderRule = Callable[[Sequence[Row], Mapping[str, Any]], Iterator[Violation]]

NO_RESULT = "[no result: the call was not answered]"
"""What stands for the result of a call that was never answered."""
NOTHING = "[nothing was said]"
"""What stands in a request of which nothing could be sent."""
BEGINNING = "[the conversation goes on from here]"
"""What the user says before an assistant that would speak first."""
GO_ON = "[go on]"
"""What the user says behind an assistant that would have the last word."""
MADE_UP = frozenset({NO_RESULT, NOTHING, BEGINNING, GO_ON})
"""Words that nobody said."""


def faults(message: Message, rules: Sequence[MessageRule]) -> tuple[Violation, ...]:
    """The rules that one message breaks by itself."""
    found = [(rule.__name__, text) for rule in rules if (text := rule(message))]
    return tuple(Violation(name, "a message", text) for name, text in found) if found else ()


def violations(rows: Sequence[Row], params: Mapping[str, Any], rules: Sequence[OrderRule]) -> list[Violation]:
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


def is_made_up(part: Part) -> bool:
    """Whether a part stands for the result of a call that was never answered."""
    return isinstance(part, Result) and part.parts == (Text(NO_RESULT),)


def stray(call: str, text: str) -> str:
    """The words of a result that answers nothing."""
    return f"[result of a call that is not here ({call or 'no id'})]\n{text}"
