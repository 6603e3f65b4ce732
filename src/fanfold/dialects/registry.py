"""What is known by name: dialects, and what suits a model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fanfold.core.errors import unknown
from fanfold.dialects.dialect import Codec
from fanfold.dialects.names import ANTHROPIC, CHAT, GEMINI, RESPONSES
from fanfold.plugins import names, plugin
from fanfold.tokens import model_names, models

CODECS = {
    "openai.chat": "fanfold.dialects.chat.dialect:OpenAIChat",
    "openai.responses": "fanfold.dialects.responses.dialect:OpenAIResponses",
    "anthropic": "fanfold.dialects.anthropic.dialect:Anthropic",
    "gemini": "fanfold.dialects.gemini.dialect:Gemini",
}
"""Where each dialect's codec stands; it is imported when it is first spoken."""


def dialect_for(model: str | None) -> str:
    """The dialect in which a model is asked at home; routers and local servers speak `openai.chat`."""
    found = None if model is None or model_names.is_routed(model) else models.kin(model)
    if found is None:
        return CHAT
    if found.provider == "gemini" and not model_names.key(str(model)).startswith("gemini"):
        return CHAT  # open weights, which others serve too
    if found.provider == "openai" and "responses_only" in found.quirks:
        return RESPONSES
    return {"anthropic": ANTHROPIC, "gemini": GEMINI}.get(found.provider, CHAT)


def codec_named(dialect: str, model: str | None = None) -> Codec:
    """The codec for a dialect, told what is known about the model."""
    codec: Codec = _codec(dialect)(models.kin(model))
    return codec


def _codec(dialect: str) -> Any:
    if dialect not in CODECS:
        found = plugin("codecs", dialect)
        if found is None:
            raise unknown("dialect", dialect, (*CODECS, *names("codecs")))
        return found
    module, _, name = CODECS[dialect].partition(":")
    return getattr(import_module(module), name)


MOST_BYTES = {
    "openai.chat": 50 * 2**20,
    "openai.responses": 50 * 2**20,
    "anthropic": 32 * 10**6,
    "gemini": 20 * 10**6,
}
"""How long a request may be, whatever its tokens."""
