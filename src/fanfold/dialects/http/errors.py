"""Errors as providers say them: what one means, whoever said it, and the same in the words of any dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import msgspec

from fanfold.dialects.http.events import write_event
from fanfold.dialects.refusals import RATE, Refusal, refusal
from fanfold.dialects.registry import DialectName
from fanfold.text.json_text import from_json

Kind = Literal[
    "bad_request", "unauthorized", "forbidden", "not_found", "too_large", "too_long", "rate_limit", "quota",
    "overloaded", "timeout", "server",
]  # fmt: skip
"""What went wrong. `too_long` is about tokens, `too_large` about bytes; waiting does not lift a
`quota`."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, in no provider's words."""

    kind: Kind
    message: str
    status: int | None = None
    """The HTTP status that came; None for what the dialect has for its kind."""
    code: str | None = None
    """The provider's own word for it."""
    param: str | None = None
    retry_after: float | None = None
    """Seconds to wait, where the provider says so."""
    refusal: Refusal | None = None
    """The figures of a prompt that was too long."""

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in ("rate_limit", "overloaded", "timeout", "server")


class HttpError(msgspec.Struct, frozen=True, kw_only=True):
    """An error as it is sent."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any]


_OPENAI: dict[Kind, tuple[int, str, str | None]] = {
    "bad_request": (400, "invalid_request_error", None),
    "unauthorized": (401, "invalid_request_error", "invalid_api_key"),
    "forbidden": (403, "invalid_request_error", "forbidden"),
    "not_found": (404, "invalid_request_error", "not_found"),
    "too_large": (413, "invalid_request_error", "request_too_large"),
    "too_long": (400, "invalid_request_error", "context_length_exceeded"),
    "rate_limit": (429, "rate_limit_error", "rate_limit_exceeded"),
    "quota": (429, "insufficient_quota", "insufficient_quota"),
    "overloaded": (503, "server_error", "server_is_overloaded"),
    "timeout": (504, "server_error", "timeout"),
    "server": (500, "server_error", "server_error"),
}
_ANTHROPIC: dict[Kind, tuple[int, str]] = {
    "bad_request": (400, "invalid_request_error"),
    "unauthorized": (401, "authentication_error"),
    "forbidden": (403, "permission_error"),
    "not_found": (404, "not_found_error"),
    "too_large": (413, "request_too_large"),
    "too_long": (400, "invalid_request_error"),
    "rate_limit": (429, "rate_limit_error"),
    "quota": (400, "billing_error"),
    "overloaded": (529, "overloaded_error"),
    "timeout": (504, "timeout_error"),
    "server": (500, "api_error"),
}
_GEMINI: dict[Kind, tuple[int, str]] = {
    "bad_request": (400, "INVALID_ARGUMENT"),
    "unauthorized": (401, "UNAUTHENTICATED"),
    "forbidden": (403, "PERMISSION_DENIED"),
    "not_found": (404, "NOT_FOUND"),
    "too_large": (400, "INVALID_ARGUMENT"),
    "too_long": (400, "INVALID_ARGUMENT"),
    "rate_limit": (429, "RESOURCE_EXHAUSTED"),
    "quota": (429, "RESOURCE_EXHAUSTED"),
    "overloaded": (503, "UNAVAILABLE"),
    "timeout": (504, "DEADLINE_EXCEEDED"),
    "server": (500, "INTERNAL"),
}
_LARGE = {
    "anthropic": "Request exceeds the maximum size",
    "gemini": "Request payload size exceeds the limit",
}
_LONG = {
    "openai.chat": "This model's maximum context length is {limit} tokens. However, your messages resulted in {asked} "
    "tokens. Please reduce the length of the messages.",
    "openai.responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "anthropic": "prompt is too long: {asked} tokens > {limit} maximum",
    "gemini": "The input token count ({asked}) exceeds the maximum number of tokens allowed ({limit}).",
}
_PARAMS = {"openai.chat": "messages", "openai.responses": "input"}


def too_long(dialect: DialectName, asked: int, limit: int) -> Trouble:
    """A prompt of so many tokens is too long, in the words of a dialect's provider."""
    words = _LONG[dialect].format(asked=asked, limit=limit)
    return Trouble(kind="too_long", message=words, param=_PARAMS.get(dialect))


def too_large(dialect: DialectName, limit: int) -> Trouble:
    """A body of more bytes than are taken, in the words of a dialect's provider."""
    words = _LARGE.get(dialect, "Request body too large")
    return Trouble(kind="too_large", message=f"{words}: {limit} bytes.")


def write_error(dialect: DialectName, trouble: Trouble) -> HttpError:
    """An error in the shape that the clients of a dialect read, with its status.

    A status that came with it is kept; one that came from a provider of another dialect should be left out.
    """
    headers = {"content-type": "application/json"}
    if trouble.retry_after is not None:
        headers["retry-after"] = str(max(1, round(trouble.retry_after)))
    status, body = _error_body(dialect, trouble)
    return HttpError(status=status, headers=headers, body=body)


def _error_body(dialect: DialectName, trouble: Trouble) -> tuple[int, dict[str, Any]]:
    if dialect == "anthropic":
        known, kind = _ANTHROPIC[trouble.kind]
        return trouble.status or known, {"type": "error", "error": {"type": kind, "message": trouble.message}}
    if dialect == "gemini":
        known, state = _GEMINI[trouble.kind]
        status = trouble.status or known
        return status, {
            "error": {"code": status, "message": trouble.message, "status": state, **_delay(trouble)}
        }
    known, kind, code = _OPENAI[trouble.kind]
    said = {"message": trouble.message, "type": kind, "param": trouble.param, "code": trouble.code or code}
    return trouble.status or known, {"error": said}


def _delay(trouble: Trouble) -> dict[str, Any]:
    if trouble.retry_after is None:
        return {}
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    return {"details": [{"@type": kind, "retryDelay": f"{trouble.retry_after:g}s"}]}


def write_error_event(dialect: DialectName, trouble: Trouble, *, number: int = 0) -> bytes:
    """The error in the middle of a stream; `number` is the next sequence number of Responses."""
    body = _error_body(dialect, trouble)[1]
    if dialect == "anthropic":
        return write_event(body, "error")
    if dialect != "openai.responses":
        return write_event(body)
    said = body["error"]
    told = {"code": said["code"] or said["type"], "message": said["message"], "param": said["param"]}
    return write_event({"type": "error", **told, "sequence_number": number}, "error")


def read_error(
    status: int,
    headers: Mapping[str, str] | None = None,
    body: bytes | str = b"",
    *,
    now: float | None = None,
) -> Trouble:
    """What a provider's answer with an error status means, whatever dialect it speaks.

    The names of headers are in small letters. `now` (seconds since 1970) lets a `retry-after` be a date.
    """
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    read = from_json(text)
    said = _said(read)
    refused = refusal({"status_code": status, "body": read if read is not None else text})
    message = _text(said.get("message")) or _text(read) or (text.strip() if read is None else "")
    return Trouble(
        kind=_kind(status, said, message, refused),
        message=message[:4_000] or f"The provider answered with status {status}.",
        status=status,
        code=_code(said),
        param=_text(said.get("param")),
        retry_after=_retry_after(headers or {}, said, message, now),
        refusal=refused,
    )


def read_error_event(event: Any) -> Trouble | None:
    """What an event of a stream says went wrong, in any dialect; None where it says nothing of the kind."""
    match event:
        case {"type": "response.failed", "response": {"error": dict(said)}} | {
            "type": "error",
            "error": dict(said),
        }:
            pass
        case {"type": "error", "message": str()} as said:
            pass
        case {"type": _}:
            return None
        case {"error": dict(said)}:
            pass
        case _:
            return None
    refused, message = refusal({"body": said}), _text(said.get("message")) or ""
    number = said.get("code")
    status = number if isinstance(number, int) and 400 <= number < 600 else 0
    return Trouble(
        kind=_kind(status, said, message, refused),
        message=message or "The provider broke the stream off.",
        code=_code(said),
        param=_text(said.get("param")),
        retry_after=_retry_after({}, said, message, None),
        refusal=refused,
    )


_WORDS: dict[str, Kind] = {
    "insufficient_quota": "quota",
    "billing_error": "quota",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "resource_exhausted": "rate_limit",
    "overloaded_error": "overloaded",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "unavailable": "overloaded",
    "authentication_error": "unauthorized",
    "invalid_api_key": "unauthorized",
    "unauthenticated": "unauthorized",
    "permission_error": "forbidden",
    "permission_denied": "forbidden",
    "forbidden": "forbidden",
    "not_found_error": "not_found",
    "not_found": "not_found",
    "timeout_error": "timeout",
    "deadline_exceeded": "timeout",
    "timeout": "timeout",
    "api_error": "server",
    "server_error": "server",
    "internal": "server",
    "invalid_request_error": "bad_request",
    "invalid_argument": "bad_request",
}
"""What the words mean that stand under `code`, `type` and `status`, the most telling first."""
_STATUSES: dict[int, Kind] = {
    401: "unauthorized",
    402: "quota",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}


def _kind(status: int, said: Mapping[str, Any], message: str, refused: Refusal | None) -> Kind:
    """Length first: it is said with several statuses. Then the provider's own word, then the status."""
    if refused is not None:
        return "too_long" if refused.kind == "tokens" else "too_large"
    words = {str(said.get(field)).lower() for field in ("code", "type", "status")}
    named: Kind | None = next((_WORDS[word] for word in _WORDS if word in words), None)
    if named == "quota":
        return named
    by_status = _STATUSES.get(status)
    if by_status == "too_large" and (named == "rate_limit" or RATE.search(message)):
        return "rate_limit"  # Groq says so of a limit per minute
    return by_status or named or ("server" if status >= 500 or not status else "bad_request")


def _said(read: Any) -> Mapping[str, Any]:
    """The object that says what went wrong; Gemini's streams wrap it in a list."""
    match read:
        case [dict(first), *_]:
            return _said(first)
        case {"error": dict(said)}:
            return said
        case {"error": str(message)} | {"detail": str(message)}:
            return {**read, "message": message}
        case dict():
            return read
    return {}


def words_of(reply: object) -> str:
    """What a provider says went wrong, where an error came in the place of a reply."""
    match reply:
        case {"error": dict() | str()} | [{"error": dict() | str()}, *_]:
            return _text(_said(reply).get("message")) or ""
    return ""


def _code(said: Mapping[str, Any]) -> str | None:
    return next((word for name in ("code", "type", "status") if (word := _text(said.get(name)))), None)


_WAIT = re.compile(
    r"(?:try again|retry) in (?:(\d{1,4})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)(ms|s))?", re.IGNORECASE
)


def _retry_after(
    headers: Mapping[str, str], said: Mapping[str, Any], message: str, now: float | None
) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1_000
    given = headers.get("retry-after")
    seconds = _number(given) if _number(given) is not None else _until(given, now)
    if seconds is not None:
        return seconds
    details = said.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return _number(detail["retryDelay"].removesuffix("s"))
    found = _WAIT.search(message)
    if found is None or not any(found.groups()):
        return None
    return int(found[1] or 0) * 60 + float(found[2] or 0) / (1_000 if found[3] == "ms" else 1)


def _number(given: str | None) -> float | None:
    """Seconds or milliseconds that can be waited for; nothing below none."""
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*", given or "")
    return float(found[1]) if found else None


def _until(given: str | None, now: float | None) -> float | None:
    if not given or now is None:
        return None
    try:
        return max(parsedate_to_datetime(given).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
