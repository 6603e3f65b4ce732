"""The gateway's own errors, in the shape that the client's SDK reads."""

from __future__ import annotations

from typing import Any

_ANTHROPIC = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
_GEMINI = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE",
}  # fmt: skip
_OPENAI = {401: "invalid_api_key", 404: "not_found", 413: "request_too_large"}


def error_body(dialect: str, status: int, sentence: str) -> dict[str, Any]:
    """An error as this dialect's provider words it."""
    server = status >= 500
    if dialect == "anthropic":
        kind = _ANTHROPIC.get(status, "api_error" if server else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": sentence}}
    if dialect == "gemini":
        kind = _GEMINI.get(status, "INTERNAL" if server else "INVALID_ARGUMENT")
        return {"error": {"code": status, "message": sentence, "status": kind}}
    kind = "server_error" if server else "invalid_request_error"
    return {"error": {"message": sentence, "type": kind, "param": None, "code": _OPENAI.get(status)}}
