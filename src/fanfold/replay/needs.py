"""What each model call of a trace needed to know, told by what it did next."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fanfold.message import Message, reading
from fanfold.replay.references import references
from fanfold.replay.trace import Trace
from fanfold.strategies.ruling import rules as stated
from fanfold.strategies.ruling import strict


class Need(msgspec.Struct, frozen=True):
    """A reference that a reply uses, and that stood in what others said before."""

    text: str
    fresh: bool
    """Whether the model had not written it itself before."""
    loose: bool = False
    """Whether it is any code-like word rather than an identifier."""


def needs(trace: Trace) -> list[tuple[Need, ...]]:
    """For every call of the model, the references that its reply needed, and the words."""
    found = []
    given, written = Seen(), Seen()
    at = 0
    for call in trace.calls:
        for message in trace.messages[at : call.before]:
            (written if message.role == "assistant" else given).add(reading(message))
        reply = trace.messages[call.before : call.until]
        wanted = ((text, loose) for loose in (False, True) for text in _wanted(reply, loose) if text in given)
        found.append(tuple(Need(text, text not in written, loose) for text, loose in wanted))
        at = call.before
    return found


def _wanted(reply: Sequence[Message], loose: bool) -> list[str]:
    texts: set[str] = set()
    for message in reply:
        for call in message.calls:
            texts |= references(call, loose=loose)
    return sorted(texts)


class Seen:
    """Texts that were said, searched for words."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._known: set[str] = set()

    def add(self, text: str) -> None:
        """Take in a text."""
        self._texts.append(text)

    def __contains__(self, word: str) -> bool:
        if word not in self._known and any(word in text for text in self._texts):
            self._known.add(word)
        return word in self._known


def rules(message: Message) -> list[str]:
    """The lines of a user's message that state a rule, of very long ones the sentences."""
    return list(filter(strict, stated([message.text]))) if message.is_request else []
