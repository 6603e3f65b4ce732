"""What is known by name: dialects, and what suits a model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fanfold.core.errors import unknown
from fanfold.dialects.dialect import Dialect
from fanfold.dialects.names import ANTHROPIC, CHAT, GEMINI, RESPONSES
from fanfold.plugins import names, plugin
from fanfold.tokens import model_names, models

BUILT_IN = {
    "openai.chat": "fanfold.dialects.chat.dialect:OpenAIChat",
    "openai.responses": "fanfold.dialects.responses.dialect:OpenAIResponses",
    "anthropic": "fanfold.dialects.anthropic.dialect:Anthropic",
    "gemini": "fanfold.dialects.gemini.dialect:Gemini",
}
"""Where each dialect's dialect stands; it is imported when it is first spoken."""


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


def dialect_named(name: str, model: str | None = None) -> Dialect:
    """The dialect of this name, told what is known about the model."""
    dialect: Dialect = _find(name)(models.kin(model))
    return dialect


def _find(name: str) -> Any:
    if name not in BUILT_IN:
        found = plugin("dialects", name)
        if found is None:
            raise unknown("dialect", name, (*BUILT_IN, *names("dialects")))
        return found
    module, _, kind = BUILT_IN[name].partition(":")
    return getattr(import_module(module), kind)


MOST_BYTES = {
    "openai.chat": 50 * 2**20,
    "openai.responses": 50 * 2**20,
    "anthropic": 32 * 10**6,
    "gemini": 20 * 10**6,
}
"""How long a request may be, whatever its tokens."""
