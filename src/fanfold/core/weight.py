"""Weights: what a message costs, and who weighs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from fanfold.core.message import Message
from fanfold.core.record import Frame


class Violation(msgspec.Struct, frozen=True):
    """A rule of the provider that a request breaks, and where."""

    rule: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text} ({self.rule})"


class Weight(msgspec.Struct, frozen=True, gc=False):
    """What a message costs, and its encoded form, made once."""

    tokens: int
    size: int
    """Bytes on the wire."""
    wire: tuple[Any, ...] = ()
    digest: bytes = b""
    faults: tuple[Violation, ...] = ()
    """The provider's rules that the message breaks by itself."""
    lost: tuple[str, ...] = ()
    """Parts, by number, that cannot carry over into this session's dialect; or what of a part cannot."""
    own: bool = False
    """Whether all of it came over this session's wire, and is sent in the form it came in."""
    guessed: int = 0
    """Those of its tokens that the model's own tokenizer did not count; 0 where nothing is counted by one."""
    hidden: int = 0
    """Tokens of sealed reasoning, by its length: nobody but the provider can count them, and they are not counted."""


def together(weights: Sequence[Weight]) -> Weight:
    """Several weights as one."""
    if len(weights) == 1:
        return weights[0]
    return Weight(
        sum(weight.tokens for weight in weights),
        sum(weight.size for weight in weights) + max(0, len(weights) - 1),
        tuple(block for weight in weights for block in weight.wire),
        b"".join(weight.digest for weight in weights),
        tuple(fault for weight in weights for fault in weight.faults),
        tuple(number for weight in weights for number in weight.lost),
        all(weight.own for weight in weights),
        sum(weight.guessed for weight in weights),
        sum(weight.hidden for weight in weights),
    )


class Scale(Protocol):
    """Weighs what is shown; a session's scale knows its meter and its dialect."""

    def message(self, message: Message, was: Message | None = None) -> Weight:
        """The weight of one message; `was` is the message before parts of it were elided."""

    def frame(self, frame: Frame) -> Weight:
        """The weight of system prompt and tools."""

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its rows."""
