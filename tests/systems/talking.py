"""Sessions with presets, talked in."""

from __future__ import annotations

from typing import Any

import fanfold
from fanfold.testing import replied

DIALECTS = ("openai.chat", "openai.responses", "anthropic", "gemini")


def talk(chat: fanfold.Session, turns: int, words: int = 40) -> None:
    for i in range(turns):
        chat.say(f"question {i}: " + "word " * words)
        chat.add(replied(f"answer {i}: " + "word " * words))


def due(preset: Any, window: int, tokens: int, max_tokens: int | None = None) -> bool:
    """Whether the next request of a session with so many tokens reduces."""
    with fanfold.open("run", preset=preset, window=window, meter="characters/4", recall=False) as chat:
        chat.say("x" * 4 * tokens)
        assert chat.pressure().tokens == tokens
        return chat.pressure(max_tokens=max_tokens).due
