"""What cannot carry over from one dialect to another."""

from __future__ import annotations

from fanfold.core.message import Message, Thinking
from fanfold.dialects.names import GEMINI

_SIGNATURES = {"thoughtSignature", "thought_signature"}


def foreign_thinking(message: Message, dialect: str) -> tuple[str, ...]:
    """The thinking, and the signatures of it, that came over another wire: no provider takes another one's."""
    if message.came_over(dialect):
        return ()
    signed = _signed(message)
    return tuple(
        str(i) if isinstance(part, Thinking) else f"{i}: thought signature"
        for i, part in enumerate(message.parts)
        if isinstance(part, Thinking) or i in signed
    )


def plain_thoughts(message: Message) -> tuple[Thinking, ...]:
    """The reasoning that came over no wire and that nobody signed: a word of our own, say."""
    if message.wire is not None or message.role != "assistant":
        return ()
    return tuple(part for part in message.parts if isinstance(part, Thinking) and not part.signature)


def _signed(message: Message) -> set[int]:
    """The parts that Gemini signed: words and calls, which go elsewhere without."""
    body = message.wire.body if message.wire is not None and message.came_over(GEMINI) else None
    if not isinstance(body, dict):
        return set()
    parts = body["parts"] if isinstance(body.get("parts"), list) else [body]
    return {i for i, part in enumerate(parts) if isinstance(part, dict) and _SIGNATURES & part.keys()}
