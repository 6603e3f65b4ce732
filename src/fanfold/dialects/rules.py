"""What all providers demand, and what repairs say; the rules of each stand in `rules.py` of its folder.

A rule is a small function whose docstring says what the provider demands; what repairs a breach stands beside it. Its
name is the name of the violation. Some rules look at one message alone and are checked once, when the message is
weighed; some look at the order of rows. A repair is the smallest change that makes rows legal (`Patch`); the session
records it, and shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from fanfold.core.message import Message, Part, Result, Text
from fanfold.core.view import Row, Violation

T = TypeVar("T")
Body = dict[str, Any]
Rows = Sequence[Row]
Params = Mapping[str, Any]
Patch = tuple[tuple[str, ...], tuple[Message, ...]]
"""What a repair is: the rows it covers, and what it shows in their place."""
MessageRule = Callable[[Message], str | None]
Breaches = Iterator[tuple[str, str]]
"""Where a rule is broken, and how."""
OrderRule = Callable[[Rows, Params], Breaches]

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


def faults(
    given: T, rules: Iterable[Callable[[T], str | None]], where: str = "a message"
) -> tuple[Violation, ...]:
    """The rules that one message, or one wire form of it, breaks by itself."""
    found = [(rule.__name__, text) for rule in rules if (text := rule(given))]
    return tuple(Violation(name, where, text) for name, text in found) if found else ()


def breaches(rules: Iterable[Callable[..., Breaches]], *given: Any) -> list[Violation]:
    """The rules that rows, or what is made of them, break by their order."""
    return [Violation(rule.__name__, where, text) for rule in rules for where, text in rule(*given)]


def row_faults(rows: Rows) -> list[Violation]:
    """What was found wrong with each message when it was weighed."""
    return [fault for row in rows if row.weight.faults for fault in row.weight.faults]


def some_message(rows: Rows, params: Params) -> Breaches:
    """There is at least one message."""
    if not any(row.weight.wire for row in rows):
        yield "messages", "there is no message at all"


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


def unused(id: str, taken: set[str]) -> str:
    """An id that no other call has, which is taken then."""
    while id in taken:
        id += "~"
    taken.add(id)
    return id


def runs(items: Iterable[T], begins: Callable[[list[T], T], bool]) -> Iterator[list[T]]:
    """The items in groups; `begins` says of a group and the next item whether that begins a new one."""
    run: list[T] = []
    for item in items:
        if run and begins(run, item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run
