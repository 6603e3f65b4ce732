"""The body of a request as it is sent on: the client's own, with what the session made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.dialects.dialect import LIMITS
from fanfold.dialects.gemini.rest import rest_body
from fanfold.dialects.http.request import HttpRequest
from fanfold.dialects.registry import facts, request_fields
from fanfold.gateway.course import OUTSIDE
from fanfold.gateway.hidden import beside_added
from fanfold.gateway.keys import UNSAID

_CONFIGS = ("generationConfig", "generation_config")
_LEAST_REPLY = 1_024
"""So many tokens a reply may have, however much its hidden rounds took."""


def compose(request: HttpRequest, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The client's request with other messages, tools and cache marks in it; all else stays as it came."""
    known = facts(request.dialect)
    ours = {known.field, *known.frame}
    written = rest_body(sent) if request.dialect == "gemini" else sent
    body: dict[str, Any] = {}
    for key, value in request.body.items():
        if key in written and key not in LIMITS:
            body[key] = written[key]
        elif key in LIMITS:
            body[key] = value
        elif key in UNSAID or key in request_fields() - ours:
            body[key] = value  # all else that is missing is what this request must not have
    body |= {key: written[key] for key in ours & written.keys()}
    for key in OUTSIDE.get(request.dialect, ()):
        body.pop(key, None)
    return body if request.body.get("tools") else beside_added(body)


def with_less_room(body: dict[str, Any], spent: int) -> dict[str, Any]:
    """A written request whose reply may be as long as what earlier rounds left of the client's limit."""
    if not spent:
        return body
    thinking = body.get("thinking")
    least = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    floor = _LEAST_REPLY + (least if isinstance(least, int) else 0)  # a provider wants more than it may think
    told = dict(body)
    for key, value in body.items():
        if key in LIMITS and type(value) is int:
            told[key] = max(value - spent, min(value, floor))
        elif key in _CONFIGS and isinstance(value, dict):
            told[key] = with_less_room(value, spent)
    return told
