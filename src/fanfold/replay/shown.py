"""What a policy would have sent, and who chose it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import msgspec

from fanfold.core.message import Message
from fanfold.replay.trace import Trace


class Shown(msgspec.Struct, frozen=True, dict=True):
    """A request as a policy would have sent it."""

    keys: tuple[bytes, ...]
    """What stands for each block: two that are equal are the same bytes."""
    tokens: tuple[int, ...]
    texts: tuple[str, ...]
    """What can be read in each block."""
    seconds: float = 0.0
    """What choosing it took."""
    edits: int = 0
    """Edits made for it."""
    asked: int = 0
    """Questions to a model made for it."""
    asking: int = 0
    """Tokens of these questions."""
    over: bool = False
    """Whether it does not fit."""
    faults: int = 0
    """Rules of the provider that it breaks."""
    messages: tuple[Message, ...] = ()
    """What it is made of, where the policy says so."""
    refs: tuple[str, ...] = ()
    """The references in it by which a model can ask for single outputs again."""

    @cached_property
    def text(self) -> str:
        """All that can be read in it."""
        return "\n".join(self.texts)


class Player(Protocol):
    """A policy at work on one conversation."""

    def show(self, count: int) -> Shown:
        """The request after so many messages."""

    def near(self, text: str, shown: Shown) -> bool:
        """Whether what is wanted is one call away: the request names the one place that holds it."""

    def close(self) -> None:
        """The conversation is over."""


Policy = Callable[[Trace, int], Player]
