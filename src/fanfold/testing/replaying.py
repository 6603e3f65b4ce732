"""Conversations replayed through a session: a request wherever the model was asked, each judged twice.

Once by fanfold's own rules, and once by the scripted provider's, which were stated anew from the providers'
documentation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fanfold.core.errors import BrokenGrammar, DoesNotFit
from fanfold.core.message import Message, Thinking
from fanfold.dialects.dialect import Reply
from fanfold.session.open import open
from fanfold.session.session import Session
from fanfold.stores.memory import Memory
from fanfold.testing.provider import Provider

MODELS = {
    "openai.chat": "gpt-4.1",
    "openai.responses": "gpt-5.2",
    "anthropic": "claude-opus-4-5",
    "gemini": "gemini-3-pro-preview",
}
"""The model that each dialect's requests are for."""
_APIS = {"openai.chat": "chat", "openai.responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
_REPLY = {"anthropic": 2_000}
_THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}


class Replayed(msgspec.Struct):
    """What came of a replay."""

    requests: int = 0
    broken: list[str] = []
    """What fanfold's own rules had against a request."""
    refused: list[str] = []
    """What the provider's rules had against one."""
    over: int = 0
    """Requests with more tokens than fit."""
    does_not_fit: int = 0
    """Requests that were not made because nothing could make them fit."""


def replay(
    messages: Iterable[Message], *, dialect: str, window: int, params: Mapping[str, Any] | None = None
) -> Replayed:
    """Record messages, of this dialect or another, one by one; ask wherever the model had been asked.

    For Anthropic, thinking is on where the running loop begins with thinking, else off.
    """
    found = Replayed()
    judge = Provider([], foreign_signatures=True)
    with open("replay", model=MODELS[dialect], window=window, dialect=dialect, store=Memory()) as chat:
        spoken = False
        for message in messages:
            answered = message.role == "assistant"
            if answered and not spoken and chat.head is not None:
                _ask(chat, dialect, judge, found, params or {})
            spoken = answered
            chat.receive(Reply((message,)))
    return found


def _ask(chat: Session, dialect: str, judge: Provider, found: Replayed, params: Mapping[str, Any]) -> None:
    """One request, judged."""
    reply = _REPLY.get(dialect, 1_000)
    found.requests += 1
    try:
        request = chat.request(max_tokens=reply, **_params(chat, dialect), **params)
    except DoesNotFit:
        found.does_not_fit += 1
        return
    except BrokenGrammar as error:
        found.broken.append(str(error))
        return
    refusal = judge.check(_APIS[dialect], _as_read(request), model=MODELS[dialect])
    if refusal is not None:
        found.refused.append(f"{refusal.rule}: {refusal.message}")
    pressure = chat.pressure(max_tokens=reply)
    found.over += pressure.tokens > pressure.room


def _params(chat: Session, dialect: str) -> Mapping[str, Any]:
    if dialect == "gemini":
        return {"generationConfig": {}}
    return _THINKING if dialect == "anthropic" and _begins_with_thinking(chat) else {}


def _begins_with_thinking(chat: Session) -> bool:
    first = next((m for m in chat.view().loop.messages if m.role == "assistant"), None)
    return first is not None and bool(first.parts) and isinstance(first.parts[0], Thinking)


def _as_read(request: dict[str, Any]) -> dict[str, Any]:
    """The request as the server reads it."""
    body: dict[str, Any] = json.loads(json.dumps(request))
    return body
