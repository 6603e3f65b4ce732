"""Repairs: broken rows made legal by the smallest change; one module per provider. It is recorded and visible."""

from __future__ import annotations

from fanfold.core.message import Message, Result, Text
from fanfold.core.view import Row

NO_RESULT = "[no result: the call was not answered]"
NOTHING = "[nothing was said]"
"""What stands in a request of which nothing could be sent."""
BEGINNING = "[the conversation goes on from here]"
"""What the user says before an assistant that would speak first."""
GO_ON = "[go on]"
"""What the user says behind an assistant that would have the last word."""
MADE_UP = frozenset({NO_RESULT, NOTHING, BEGINNING, GO_ON})
"""Words that nobody said."""


def no_result(call: str, name: str | None = None) -> Result:
    """What stands for the answer of a call that was never answered."""
    return Result(call, (Text(NO_RESULT),), error=True, name=name)


def stray(call: str, text: str) -> str:
    """The words of a result that answers nothing."""
    return f"[result of a call that is not here ({call or 'no id'})]\n{text}"


def recorded(row: Row) -> tuple[Message, ...]:
    """The messages of a row; of a repaired one without made-up results, for the real ones may have come."""
    if row.kind != "mend":
        return row.messages
    kept = (
        (message, tuple(part for part in message.parts if not is_made_up(part))) for message in row.messages
    )
    return tuple(_with(message, parts) for message, parts in kept if parts or not message.parts)


def _with(message: Message, parts: tuple[object, ...]) -> Message:
    if len(parts) == len(message.parts):
        return message
    return Message(message.role, tuple(part for part in message.parts if not is_made_up(part)))


def is_made_up(part: object) -> bool:
    """Whether a part is such a stand-in."""
    return isinstance(part, Result) and part.parts == (Text(NO_RESULT),)
