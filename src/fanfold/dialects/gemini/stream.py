"""Gemini's replies, whole and in chunks."""

from __future__ import annotations

from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message, Part, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply, cut_call, cut_thinking, plain
from fanfold.dialects.gemini.names import get_field, get_object
from fanfold.dialects.gemini.partial import continues, is_open, join, settle
from fanfold.dialects.gemini.read import message, parts_of, read
from fanfold.tokens.usage import billed_usage


def reply(response: Any) -> Reply:
    """Read a whole response. A blocked prompt, or a candidate without content, says nothing but why it stopped."""
    body = plain(response, "response")
    candidate = _candidate(body)
    stop = _stop(body, candidate)
    if candidate is None and stop is None:
        raise BadMessage("The response has no `candidates`: give what models.generate_content returned.")
    content = candidate.get("content") if candidate else None
    parts = parts_of(content) if isinstance(content, dict) else []
    if not isinstance(content, dict) or not parts:
        return Reply((), _usage(body), stop)
    whole = list(map(settle, parts))
    is_same = all(new is old for new, old in zip(whole, parts, strict=True))
    return Reply((_message(content if is_same else {**content, "parts": whole}),), _usage(body), stop)


def _candidate(body: Any) -> dict[str, Any] | None:
    match body:
        case {"candidates": [dict(first), *_]}:
            return first
    return None


def _stop(body: Any, candidate: dict[str, Any] | None) -> str | None:
    if candidate is not None:
        return get_field(candidate, "finishReason")  # type: ignore[no-any-return]
    feedback = get_object(body, "promptFeedback")
    return None if feedback is None else f"blocked: {get_field(feedback, 'blockReason') or 'no reason given'}"


def _message(content: dict[str, Any]) -> Message:
    return message({**content, "role": content.get("role") or "model"}, "response.candidates[0].content")


def _usage(body: dict[str, Any]) -> TokenUsage | None:
    return billed_usage(get_field(body, "usageMetadata"))


class GeminiChunks:
    """The chunks of a streamed response, on their way to a reply."""

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._texts: list[list[str]] = []
        """The pieces of each part's words."""
        self._ids: set[str] = set()
        self._usage: TokenUsage | None = None
        self._stop: str | None = None

    @property
    def complete(self) -> bool:
        """Whether a chunk said why the model stopped."""
        return self._stop is not None

    def feed(self, event: Any) -> None:
        """Take in one chunk; after the last one nothing is said any more."""
        chunk = plain(event, "chunk")
        if not isinstance(chunk, dict):
            raise BadMessage(f"A chunk is an object, not {type(chunk).__name__}.")
        self._usage = _usage(chunk) or self._usage
        if self.complete:
            return
        candidate = _candidate(chunk)
        content = candidate.get("content") if candidate else None
        for part in parts_of(content) if isinstance(content, dict) else ():
            self._add(part)
        self._stop = _stop(chunk, candidate)

    def _add(self, part: Any) -> None:
        """Words and arguments go on where they stopped; a part with a signature stays by itself."""
        last = self._parts[-1] if self._parts else {}
        if continues(part, last):
            join(last, part)
        elif _is_words(part) and _is_words(last) and part.get("thought") == last.get("thought"):
            self._texts[-1].append(part["text"])
        elif not self._is_known((get_object(part, "functionCall") or {}).get("id")):
            self._parts.append(part)
            self._texts.append([part["text"]] if _is_words(part) else [])

    def _is_known(self, id: Any) -> bool:
        """Whether a call came before: a stream that was joined twice repeats it."""
        if not isinstance(id, str) or not id:
            return False
        known = id in self._ids
        self._ids.add(id)
        return known

    def reply(self) -> Reply:
        """What came so far."""
        pieces = zip(self._parts, self._texts, strict=True)
        joined = [{**part, "text": "".join(text)} if text else settle(part) for part, text in pieces]
        spoken = [part for part in joined if part != {"text": ""}]
        body = {"role": "model", "parts": spoken}
        if self.complete and not any(map(is_open, spoken)):
            return Reply((_message(body),) if spoken else (), self._usage, self._stop)
        parts = read(spoken)
        kept = tuple(self._keep(part, wire) for part, wire in zip(parts, spoken, strict=True))
        said = _message(body) if kept == parts else Message("assistant", kept)
        return Reply((said,) if kept else (), self._usage, self._stop or "cut")

    def _keep(self, part: Part, wire: Any) -> Part:
        """A part as it may be kept: an incomplete call never, unsigned thinking not if the stream broke off."""
        if is_open(wire):
            return cut_call(wire)
        if isinstance(part, Thinking) and part.signature is None and not self.complete:
            return cut_thinking(part.text)
        return part


def _is_words(part: Any) -> bool:
    return isinstance(part, dict) and part.keys() <= {"text", "thought"} and isinstance(part.get("text"), str)
