"""What makes a part well-formed by itself."""

from __future__ import annotations

from typing import Any

from fanfold.dialects.gemini.names import spelled
from fanfold.dialects.gemini.read import READERS, kind_of
from fanfold.dialects.gemini.tools import NAMING


def has_data(part: Any) -> bool:
    """Whether a part carries exactly one thing."""
    if not isinstance(part, dict):
        return False
    kind = kind_of(part)
    if kind == "text":
        return isinstance(part["text"], str) and bool(part["text"] or spelled(part, "thoughtSignature"))
    return isinstance(part[kind], dict) and bool(part[kind]) if kind else _is_new(part)


def _is_new(part: dict[str, Any]) -> bool:
    """Whether a part has a field of data that nobody knows yet: the provider may."""
    if any(part.get(kind) is not None for kind in READERS):
        return False
    return any(isinstance(value, dict) and value for value in part.values())


def is_call(call: Any) -> bool:
    """Whether a function call is well-formed."""
    return (
        isinstance(call, dict)
        and NAMING.allows(call.get("name"))
        and isinstance(call.get("args"), dict | None)
    )


def is_response(response: Any) -> bool:
    """Whether a function response is well-formed."""
    return (
        isinstance(response, dict)
        and NAMING.allows(response.get("name"))
        and isinstance(response.get("response"), dict)
    )


def is_sound(part: Any) -> bool:
    """Whether a part can be sent as it is: it carries one thing, and a call or a response is well-formed."""
    call, response = spelled(part, "functionCall"), spelled(part, "functionResponse")
    sound = (call is None or is_call(call)) and (response is None or is_response(response))
    return sound and has_data(part)
