"""What one policy did on one conversation."""

from __future__ import annotations

import msgspec

from fanfold.core.message import Message, text_of
from fanfold.replay.cache import overlap
from fanfold.replay.references import references
from fanfold.replay.score import Score
from fanfold.replay.shown import Shown
from fanfold.replay.spending import Expense
from fanfold.replay.trace import ModelCall, Trace
from fanfold.replay.trail import Missed

AROUND = 100
"""Characters shown on each side of what was lost."""


class Change(msgspec.Struct, frozen=True):
    """A call before which the policy changed what had been sent, so that the prompt did not only grow."""

    call: int
    before: int
    """Tokens of the request before."""
    after: int
    kept: int
    """Tokens of the beginning that stayed as it was."""


class Loss(msgspec.Struct, frozen=True):
    """A reference that a reply needed, and that was neither in view nor one call away."""

    call: int
    text: str
    user: str
    """The tool that was called with it."""
    stood: str
    """Who had said it last, and what stood around it."""


class Played(msgspec.Struct, frozen=True):
    """What one policy did on one conversation."""

    conversation: str
    policy: str
    score: Score
    """Over all calls."""
    tight: Score
    """Over those calls whose unreduced request exceeds the trigger: where a policy matters."""
    windows: tuple[int, ...]
    """Tokens sent, call by call."""
    changes: tuple[Change, ...] = ()
    spent: float = 0.0
    """What all blocks of its requests have cost, in token equivalents."""
    dearest: tuple[Expense, ...] = ()
    """The most expensive of these blocks."""
    lost: tuple[Loss, ...] = ()
    missed: tuple[Missed, ...] = ()
    """What of the trail was missing most often, a few of each kind."""
    false: tuple[str, ...] = ()
    """The lines that say how something ended, and are contradicted by the history."""
    model: str | None = None
    """The model that answered, where that was recorded."""


def change(number: int, shown: Shown, last: Shown | None) -> Change | None:
    """How a request differs from the one before it, unless it only goes on."""
    if last is None:
        return None
    before, (kept, _) = sum(last.tokens), overlap(shown, last)
    return Change(number, before, sum(shown.tokens), kept) if kept < before else None


def loss(number: int, text: str, trace: Trace, call: ModelCall) -> Loss:
    """What was lost, with the place where it had stood and the tool that needed it."""
    said = (message for message in reversed(trace.messages[: call.before]) if message.role != "assistant")
    stood = next((_around(message, text) for message in said if text in text_of(message, unescaped=True)), "")
    made = (made for message in trace.messages[call.before : call.until] for made in message.calls)
    return Loss(number, text, next((one.name for one in made if text in references(one)), ""), stood)


def _around(message: Message, text: str) -> str:
    whole = text_of(message, unescaped=True)
    at = whole.index(text)
    start, end = max(0, at - AROUND), at + len(text) + AROUND
    words = " ".join(whole[start:end].split())
    return f"{message.role}: {'…' * (start > 0)}{words}{'…' * (end < len(whole))}"
