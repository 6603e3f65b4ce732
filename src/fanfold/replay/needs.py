"""What each model call of a trace needed to know, as its next step shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from fanfold.core.message import Message, text_of
from fanfold.replay.references import SHORTEST, references
from fanfold.replay.trace import ModelCall, Trace
from fanfold.strategies.handover.ruling import strict
from fanfold.strategies.handover.words import words_of


class Need(msgspec.Struct, frozen=True):
    """A reference that a reply uses, and that stood in what others said before."""

    text: str
    fresh: bool
    """Whether the model had not written it itself before."""
    loose: bool = False
    """Whether it is any code-like word rather than an identifier."""


Needs = tuple[tuple[Need, ...], ...]
"""For every call of the model, the references that its reply needed, and the words."""


def needs(trace: Trace) -> Needs:
    """What the replies of a trace needed."""
    wanted = [_wanted(trace, call) for call in trace.calls]
    words = {text for some in wanted for text, _ in some}
    given, written = First(words), First(words)
    for number, message in enumerate(trace.messages):
        (written if message.role == "assistant" else given).look(text_of(message, unescaped=True), number)
    return tuple(
        tuple(
            Need(text, not written.before(text, call.before), loose)
            for text, loose in some
            if given.before(text, call.before)
        )
        for call, some in zip(trace.calls, wanted, strict=True)
    )


def _wanted(trace: Trace, call: ModelCall) -> list[tuple[str, bool]]:
    """What the calls of a reply name: identifiers, then words, each in order."""
    reply = trace.messages[call.before : call.until]
    return [(text, loose) for loose in (False, True) for text in _named(reply, loose)]


def _named(reply: Sequence[Message], loose: bool) -> list[str]:
    calls = (call for message in reply for call in message.calls)
    return sorted(set[str]().union(*(references(call, loose=loose) for call in calls)))


FEW = 1_000
"""So many words are found faster one by one."""


class First:
    """Where each of some words (without spaces) stood first.

    The work grows with the text, not with the number of words, and what was read once is not read again.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._missing = set(words)
        self._found: dict[str, int] = {}
        self._read: set[str] = set()
        self._lengths: dict[str, tuple[int, ...]] = {}
        """How long the words are that begin with these letters."""
        for length, beginning in sorted({(len(word), word[:SHORTEST]) for word in self._missing}):
            self._lengths[beginning] = (*self._lengths.get(beginning, ()), length)

    def look(self, text: str, number: int) -> None:
        """Look for the words in a text, the one of this number."""
        new = set(text.split()) - self._read
        self._read |= new
        rest = "\n".join(new)
        some = (
            [word for word in self._missing if word in rest] if len(self._missing) <= FEW else self._in(rest)
        )
        self._missing.difference_update(some)
        self._found.update(dict.fromkeys(some, number))

    def _in(self, text: str) -> set[str]:
        """The words that are missing and stand in a text: a word can begin at any letter."""
        lengths = self._lengths
        begun = [at for at in range(len(text)) if text[at : at + SHORTEST] in lengths]
        ends = ((at, length) for at in begun for length in lengths[text[at : at + SHORTEST]])
        return {text[at : at + length] for at, length in ends} & self._missing

    def before(self, word: str, number: int) -> bool:
        """Whether a word stood in a text before the one of this number."""
        return self._found.get(word, number) < number


def rules(message: Message) -> list[str]:
    """The sentences of a user's message in which a person forbids, demands or limits something."""
    return list(filter(strict, words_of(message.text).rules)) if message.is_request else []
