"""What the parameters of a request say about room: the length of its reply, and what they add to its prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GEMINI = "gemini.max_output_tokens"
"""Gemini's limit, until it is known whether the request is a REST body or an SDK's keyword arguments."""
NAMES = frozenset({"max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens", GEMINI})
_NESTED = frozenset({"generationConfig", "generation_config", "config"})
_PROMPTED = frozenset({"functions", "response_format", "text", "output_format", "output_config"}) | frozenset(
    {"response_schema", "responseSchema", "response_json_schema", "responseJsonSchema"}
)


def reply_limit(params: Any) -> int | None:
    """The tokens that some parameters ask for as the most of a reply; None if they do not say.

    Of several limits the largest; what is no whole number is given back as it is, for the budget to refuse.
    """
    limits = list(_given(params, NAMES).values())
    odd = [limit for limit in limits if not isinstance(limit, int)]
    return max(limits, default=None) if not odd else odd[0]


def prompted(params: Any) -> dict[str, Any]:
    """The parameters that a model reads like its tools: schemas of replies, functions of the old kind."""
    return _given(params, _PROMPTED)


def _given(params: Any, names: frozenset[str]) -> dict[str, Any]:
    """The parameters of these names, beside the others or among the settings of Gemini."""
    if not isinstance(params, Mapping):
        return {}
    places = [
        params,
        *(params[key] for key in _NESTED.intersection(params) if isinstance(params[key], Mapping)),
    ]
    found = {name: place[name] for place in places for name in names.intersection(place)}
    return {name: value for name, value in found.items() if value is not None}
