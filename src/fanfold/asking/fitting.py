"""Fitting a question into the window of the model that is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fanfold.core.message import Message, Result, Text, replace_part, text_of, user
from fanfold.core.plan import Ask
from fanfold.core.view import Scale
from fanfold.text.cutting import clip_text

Make = Callable[[str], Ask]
_ANSWER = 0.25
"""The share of the asked model's window that is left for its answer and for the answer before, half each."""


def fitted_asks(question: Ask, room: int, scale: Scale) -> Iterator[Make]:
    """The question in as many pieces as its model's window needs; each piece is told the answer before."""
    space = max(64, int(room * (1 - _ANSWER)) - scale.message(user(question.prompt)).tokens)
    for messages in _pieces(question.messages, space, scale):
        yield _maker(question, messages, max(64, int(room * _ANSWER / 2)), scale)


def _maker(question: Ask, messages: tuple[Message, ...], space: int, scale: Scale) -> Make:
    def make(earlier: str) -> Ask:
        told = user(f"[what was written about the part before this]\n{earlier}")
        before = (_clipped(told, space, scale)[0],) if earlier else ()
        return Ask((*before, *messages), question.prompt, question.max_tokens, question.model)

    return make


def _pieces(messages: Sequence[Message], space: int, scale: Scale) -> Iterator[tuple[Message, ...]]:
    piece: list[Message] = []
    used = 0
    for message in messages:
        message, tokens = _clipped(message, space, scale)
        if piece and used + tokens > space:
            yield tuple(piece)
            piece, used = [], 0
        piece.append(message)
        used += tokens
    yield tuple(piece)


def _clipped(message: Message, space: int, scale: Scale) -> tuple[Message, int]:
    """The message, its long parts clipped until it fits."""
    tokens = scale.message(message).tokens
    while tokens > space:
        number = max(range(len(message.parts)), key=lambda i: len(text_of(message.parts[i])), default=None)
        if number is None:
            break
        part = message.parts[number]
        text = clip_text(text_of(part), int(len(text_of(part)) * min(0.5, space / tokens)))
        if len(text) >= len(text_of(part)):  # the note of what was cut is longer than what was
            break
        short = replace_part(part if isinstance(part, Text | Result) else Text(""), text)
        parts = (*message.parts[:number], short, *message.parts[number + 1 :])
        message = Message(message.role, parts)
        tokens = scale.message(message).tokens
    return message, tokens
