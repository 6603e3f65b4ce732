"""What is known by name: dialects, and what suits a model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec.structs import replace

from fanfold import model_names, models
from fanfold.budget import Budget
from fanfold.codecs.codec import Codec
from fanfold.codecs.dialects import ANTHROPIC, CHAT, GEMINI, RESPONSES
from fanfold.errors import BadInput, BadSetting
from fanfold.meter import Bpe, Estimate, Meter, RooCode, Whole, for_model, named
from fanfold.plugins import names, plugin
from fanfold.settings import find_model
from fanfold.spelling import unknown

CODECS = {
    "openai.chat": "fanfold.codecs.openai_chat.codec:OpenAIChat",
    "openai.responses": "fanfold.codecs.openai_responses.codec:OpenAIResponses",
    "anthropic": "fanfold.codecs.anthropic.codec:Anthropic",
    "gemini": "fanfold.codecs.gemini.codec:Gemini",
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


def budget_for(model: str | None, window: int | None, dialect: str | None = None) -> Budget:
    """The limits of a model, or of a bare window, in a dialect."""
    most = MOST_BYTES.get(dialect or "")
    if window is not None:
        known = models.lookup(model) if model else None
        return cached_like(
            Budget(window=window, max_output=known.max_output if known else None, max_bytes=most), model
        )
    if model is None:
        raise BadInput("Say how much fits: give `model=` or `window=`.")
    found = find_model(model)
    budget = Budget(
        window=found.window or found.max_input or 0,
        max_input=found.max_input,
        max_output=found.max_output,
        shared=found.shared,
        max_bytes=most,
    )
    return cached_like(budget, model)


def cached_like(budget: Budget, model: str | None) -> Budget:
    """The budget with what is known of the prompt cache of a model's provider."""
    known = models.kin(model)
    return replace(budget, cached_from=known.min_cacheable) if known and known.min_cacheable else budget


def meter_for(meter: Meter | str | None, model: str | None) -> Meter:
    """The meter asked for, or the one that suits the model."""
    if isinstance(meter, str):
        return named(meter)
    if meter is not None and not callable(getattr(meter, "message", None)):
        raise BadSetting(f"A meter is one, or the name of one, not {meter!r}.")
    if meter is not None:
        return meter if isinstance(meter, Bpe | Estimate | RooCode | Whole) else Whole(meter)
    known = models.kin(model)
    return for_model(known.tokenizer, known.provider, known.name) if known else for_model()
