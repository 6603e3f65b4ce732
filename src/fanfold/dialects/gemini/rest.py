"""A request of google-genai as a REST body: its settings are spread over several fields there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.dialects.gemini.names import camel, spelling
from fanfold.dialects.gemini.read import is_bare, parts_of

_BESIDE = frozenset(
    {
        "systemInstruction",
        "tools",
        "toolConfig",
        "safetySettings",
        "cachedContent",
        "labels",
        "serviceTier",
        "store",
    }
)
"""Settings that stand beside the contents; all others are in `generationConfig`."""
_LOCAL = frozenset({"httpOptions", "automaticFunctionCalling", "shouldReturnHttpResponse"})
"""Settings of the SDK itself."""
_VERBATIM = frozenset({"tools", "systemInstruction", "responseSchema", "responseJsonSchema", "labels"})
"""Settings with names in them that are not the API's own; both spellings of the others are taken."""


def rest_body(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request, in the form of keyword arguments or of a REST body, as a REST body; the model is in the path."""
    body = {key: value for key, value in request.items() if key not in ("model", "config")}
    config = request.get("config")
    if isinstance(config, Mapping):
        body = _spread(body, config)
    key = spelling(body, "systemInstruction")
    if body.get(key) is not None:
        body[key] = _instruction(body[key])
    if "contents" in body:
        contents = body["contents"]
        listed = contents if isinstance(contents, list | tuple) else [contents]
        body["contents"] = [_content(content) for content in listed]
    return body


def _spread(body: dict[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for key, value in config.items():
        name = camel(key)
        if value is None or name in _LOCAL:
            continue
        place = body if name in _BESIDE else settings
        place[name] = value if name in _VERBATIM else _camel_deep(value)
    if settings:
        key = spelling(body, "generationConfig")
        given = body.get(key)
        body[key] = {**(given if isinstance(given, Mapping) else {}), **settings}
    return body


def _camel_deep(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {camel(key): _camel_deep(inner) for key, inner in value.items()}
    return [_camel_deep(inner) for inner in value] if isinstance(value, list | tuple) else value


def _instruction(system: Any) -> Any:
    """A system prompt is one content."""
    if isinstance(system, Mapping) and not is_bare(system):
        return system
    pieces = system if isinstance(system, list | tuple) else [system]
    parts = [{"text": piece} if isinstance(piece, str) else piece for piece in pieces]
    return {
        "parts": [
            part for piece in parts for part in (parts_of(piece) if isinstance(piece, dict) else [piece])
        ]
    }


def _content(content: Any) -> Any:
    """A text or a part alone is a content of the user."""
    if isinstance(content, str):
        return {"role": "user", "parts": [{"text": content}]}
    if isinstance(content, dict) and is_bare(content):
        called = "functionCall" in content or "function_call" in content
        return {"role": "model" if called else "user", "parts": [content]}
    return content
