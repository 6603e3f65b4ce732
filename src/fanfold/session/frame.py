"""System prompt and tools as they are sent: what the provider would refuse of a system prompt is left out, and said."""

from __future__ import annotations

from msgspec.structs import replace

from fanfold.core.message import Message, Text
from fanfold.core.record import Frame
from fanfold.dialects.dialect import Dialect
from fanfold.dialects.tools import localize
from fanfold.session.weigh import sendable_frame


def framed(frame: Frame, dialect: Dialect) -> tuple[Frame, tuple[str, ...]]:
    """The frame as a dialect takes it, and what of it is not sent."""
    sent, left_out = localize(sendable_frame(frame), dialect.name)
    told = [(f"system[{i}]", message, _legal(message, dialect)) for i, message in enumerate(sent.system)]
    odd = [f"{where}: only its words are sent" for where, was, now in told if now is not was]
    if not odd:
        return sent, left_out
    kept = tuple(message for _, _, message in told if message is not None)
    return replace(sent, system=kept), (*left_out, *odd)


def _legal(message: Message, dialect: Dialect) -> Message | None:
    """The message as it is, its words alone where its wire form breaks a rule, or nothing if it has none."""
    body = message.wire.body if message.came_over(dialect.name) and message.wire else None
    match body:
        case {"type": "text", "text": str(text)} if not text.strip():
            return None
        case {"role": _} if dialect.faults(message):
            return Message("system", (Text(message.text),)) if message.text.strip() else None
        case _:
            return message
