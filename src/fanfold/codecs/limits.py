"""What the parameters of a request say about room: the length of its reply, and what they add to its prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

GEMINI = "gemini.max_output_tokens"
"""Gemini's limit, until it is known whether the request is a REST body or an SDK's keyword arguments."""
NAMES = ("max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens", GEMINI)
_NESTED = ("generationConfig", "generation_config", "config")


_PROMPTED = (
    "functions",
    "response_format",
    "text",
    "output_format",
    "output_config",
    "response_schema",
    "responseSchema",
    "response_json_schema",
    "responseJsonSchema",
)


def reply_limit(params: Any) -> int | None:
    """The tokens that some parameters ask for as the most of a reply; None if they do not say.

    Of several limits the largest; what is no whole number is given back as it is, for the budget to refuse.
    """
    found = [place[name] for place in _places(params) for name in NAMES if place.get(name) is not None]
    odd = [limit for limit in found if not isinstance(limit, int)]
    return max(found, default=None) if not odd else odd[0]


def prompted(params: Any) -> dict[str, Any]:
    """The parameters that a model reads like its tools: schemas of replies, functions of the old kind."""
    return {
        name: place[name] for place in _places(params) for name in _PROMPTED if place.get(name) is not None
    }


def _places(params: Any) -> Iterator[Mapping[str, Any]]:
    """Where parameters stand: beside each other, or in the settings of Gemini."""
    if isinstance(params, Mapping):
        yield params
        yield from (params[key] for key in _NESTED if isinstance(params.get(key), Mapping))
