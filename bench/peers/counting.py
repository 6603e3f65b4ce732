"""Exact counts for peers that take a counter: o200k with the frames of Chat, the same as fanfold's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fanfold.dialects.registry import dialect_named
from fanfold.tokens.meter import Bpe

_METER = Bpe("o200k")
_DIALECT = dialect_named("openai.chat")


def text_tokens(text: str) -> int:
    """Tokens of a piece of text."""
    return _METER.text(text)


def tokens(bodies: Iterable[dict[str, Any]]) -> int:
    """Tokens of messages of the Chat dialect."""
    return sum(_METER.message(_DIALECT.message(body)) for body in bodies)
