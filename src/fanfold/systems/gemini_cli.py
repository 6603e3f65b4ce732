"""Gemini CLI: one summary in the place of the oldest 70 % (systems.md D), on its own dicts: `{"role", "parts"}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from math import floor
from typing import Any

from fanfold.core.errors import BadInput
from fanfold.core.plan import Trigger
from fanfold.strategies.prompting import prompt
from fanfold.strategies.summarize import ACKNOWLEDGED
from fanfold.systems.budgets import NEARLY_FULL
from fanfold.systems.javascript import length
from fanfold.systems.meters import weighed_by_script
from fanfold.text.json_text import to_json

Content = dict[str, Any]
Part = str | Mapping[str, Any]

COMPRESSION_THRESHOLD = 0.5
PRESERVE_THRESHOLD = 0.3
DEFAULT_LIMIT = 1_048_576
TOKEN_LIMITS = {
    "gemini-1.5-pro": 2_097_152,
    "gemini-2.5-pro": 1_048_576,
    "gemini-2.5-flash": 1_048_576,
    "gemini-2.5-flash-lite": 1_048_576,
}
COMPRESSION_MODELS = {
    "gemini-3-pro-preview": "chat-compression-3-pro",
    "gemini-2.5-pro": "chat-compression-2.5-pro",
    "gemini-2.5-flash": "chat-compression-2.5-flash",
    "gemini-2.5-flash-lite": "chat-compression-2.5-flash-lite",
}
"""The model that compresses, by the model that talks; all others: `chat-compression-default` (D6)."""
LAST_WORD = "First, reason in your scratchpad. Then, generate the <state_snapshot>."


class CompressionStatus(StrEnum):
    """How a compression ended (D8)."""

    COMPRESSED = "compressed"
    COMPRESSION_FAILED_INFLATED_TOKEN_COUNT = "failed-inflated"
    COMPRESSION_FAILED_TOKEN_COUNT_ERROR = "failed-count-error"
    NOOP = "noop"


def token_limit(model: str | None) -> int:
    """The window of a model (D1)."""
    return TOKEN_LIMITS.get(model or "", DEFAULT_LIMIT)


def compression_model(model: str | None, models: Mapping[str, str] = COMPRESSION_MODELS) -> str:
    """The alias of the model that compresses for a model (D6)."""
    return models.get(model or "", "chat-compression-default")


def estimate_tokens(parts: Part | Sequence[Part], *, ascii: float = 0.25, other: float = 1.3) -> int:
    """A quarter token for an ASCII character, 1.3 for any other; what is no text by the length of its JSON (D2).

    A request is a text, a part, or several of both.
    """

    def weight(part: Part) -> float:
        text = part if isinstance(part, str) else part.get("text")
        if isinstance(text, str):
            return weighed_by_script(text, ascii, other)
        return length(to_json(part)) / 4

    return floor(sum(map(weight, [parts] if isinstance(parts, str | Mapping) else parts)))


def nearly_full(request_tokens: int, remaining_tokens: int) -> bool:
    """Whether the next request makes a compression due: it takes more than 95 % of what remains (D3)."""
    return request_tokens > remaining_tokens * NEARLY_FULL


def find_split_point(contents: Sequence[Content], fraction: float) -> int:
    """How many of the oldest contents are compressed so that about `fraction` of the characters are (D4)."""
    if not 0 < fraction < 1:
        raise BadInput(f"Fraction must be between 0 and 1, both left out; {fraction} is not.")
    sizes = [length(to_json(content)) for content in contents]
    target = sum(sizes) * fraction
    legal = before = 0
    for index, content in enumerate(contents):
        if _is_request(content):
            if before >= target:
                return index
            legal = index
        before += sizes[index]
    if contents and contents[-1].get("role") == "model" and not _holds(contents[-1], "functionCall"):
        return len(contents)
    return legal


def _is_request(content: Content) -> bool:
    return content.get("role") == "user" and not _holds(content, "functionResponse")


def _holds(content: Content, kind: str) -> bool:
    return any(part.get(kind) is not None for part in content.get("parts") or ())


def compress(
    history: Sequence[Content],
    generate: Callable[[dict[str, Any]], Any],
    *,
    model: str | None = None,
    force: bool = False,
    original_token_count: int | None = None,
    threshold: float | None = None,
    has_failed_compression_attempt: bool = False,
    count_tokens: Callable[[list[dict[str, Any]]], int] = estimate_tokens,
    before_compress: Callable[[Trigger], object] | None = None,
    models: Mapping[str, str] = COMPRESSION_MODELS,
) -> dict[str, Any]:
    """Compress a history if it takes half of the window, or if forced (D3 to D9).

    `generate` gets the request for the summary and returns a text or a response. In what comes back, `newHistory`
    is None where nothing changed.
    """
    if not history or (has_failed_compression_attempt and not force):
        return _result(CompressionStatus.NOOP, 0, 0)
    before = _count(count_tokens, history) if original_token_count is None else original_token_count
    if before is None:
        return _result(CompressionStatus.COMPRESSION_FAILED_TOKEN_COUNT_ERROR, 0, 0)
    least = COMPRESSION_THRESHOLD if threshold is None else threshold
    if not force and before < least * token_limit(model):
        return _result(CompressionStatus.NOOP, before, before)
    if before_compress is not None:
        before_compress("manual" if force else "auto")
    split = find_split_point(history, 1 - PRESERVE_THRESHOLD)
    if split == 0:
        return _result(CompressionStatus.NOOP, before, before)
    summary = _text(generate(_request(history[:split], compression_model(model, models))))
    new = [_content("user", summary), _content("model", ACKNOWLEDGED), *history[split:]]
    after = _count(count_tokens, new)
    if after is None:
        return _result(CompressionStatus.COMPRESSION_FAILED_TOKEN_COUNT_ERROR, before, before)
    if after > before:
        return _result(CompressionStatus.COMPRESSION_FAILED_INFLATED_TOKEN_COUNT, before, after)
    return _result(CompressionStatus.COMPRESSED, before, after, new)


def _request(contents: Sequence[Content], model: str) -> dict[str, Any]:
    return {
        "modelConfigKey": {"model": model},
        "contents": [*contents, _content("user", LAST_WORD)],
        "systemInstruction": {"text": prompt("snapshot")},
    }


def _text(response: Any) -> str:
    """The words of a response: a text, or the parts of its first candidate."""
    if isinstance(response, str):
        return response
    candidates = response.get("candidates") or [{}]
    parts = (candidates[0].get("content") or {}).get("parts") or ()
    return "".join(part.get("text") or "" for part in parts if not part.get("thought"))


def _content(role: str, text: str) -> Content:
    return {"role": role, "parts": [{"text": text}]}


def _count(count_tokens: Callable[[list[dict[str, Any]]], int], history: Sequence[Content]) -> int | None:
    """The tokens of a history, or None where they cannot be counted."""
    try:
        return count_tokens([part for content in history for part in content.get("parts") or ()])
    except Exception:  # a counter may ask a provider, and raise anything
        return None


def _result(
    status: CompressionStatus, before: int, after: int, history: list[Content] | None = None
) -> dict[str, Any]:
    info = {"originalTokenCount": before, "newTokenCount": after, "compressionStatus": status}
    return {"newHistory": history, "info": info}
