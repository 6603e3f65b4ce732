"""The length of the reply that a request asks for, wherever its dialect says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GEMINI = "gemini.max_output_tokens"
"""Gemini's limit, until it is known whether the request is a REST body or an SDK's keyword arguments."""
NAMES = ("max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens", GEMINI)
_NESTED = ("generationConfig", "generation_config", "config")


def reply_limit(params: Any) -> int | None:
    """The tokens that some parameters ask for as the most of a reply; None if they do not say."""
    if not isinstance(params, Mapping):
        return None
    places = (params, *(params[key] for key in _NESTED if isinstance(params.get(key), Mapping)))
    found = (place[name] for place in places for name in NAMES if isinstance(place.get(name), int))
    return next(found, None)
