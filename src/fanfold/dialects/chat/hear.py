"""The chunks of a streamed chat completion, read as steps."""

from __future__ import annotations

from typing import Any

from fanfold.dialects.chat.read import THOUGHTS
from fanfold.dialects.http.deltas import (
    CallDelta,
    CallStart,
    Closing,
    Delta,
    Fault,
    Opening,
    TextDelta,
    ThoughtDelta,
    known_usage,
    read_stop,
)
from fanfold.dialects.http.errors import read_error_event
from fanfold.dialects.rules import Body

_THOUGHT, _WORDS, _CALLS = 0, 1, 2
"""The places of reasoning, words, and the first call: no chunk tells where a block ends."""


class ChatReader:
    """Reads the chunks of one completion; of several choices only the first."""

    def __init__(self) -> None:
        self._begun = False
        self._ended = False
        self._usage: Any = None
        self._stop: str | None = None
        self._calls: dict[int, bool] = {}
        """The places of the calls, and whether an argument came."""

    def read(self, event: Any) -> list[Delta]:
        """The steps that one chunk tells."""
        if not isinstance(event, dict):
            return []
        trouble = read_error_event(event)
        if trouble is not None:
            return [Fault(trouble)]
        if not isinstance(event.get("choices"), list):
            return []
        found: list[Delta] = [] if self._begun else [_opening(event)]
        self._begun = True
        self._usage = event.get("usage") or self._usage
        for choice in event["choices"]:
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                delta = choice.get("delta")
                found += self._read_delta(delta) if isinstance(delta, dict) else []
                self._stop = choice.get("finish_reason") or self._stop
        # The usage comes behind the last words, or with them.
        return [*found, *(self.close() if self._stop and self._usage else [])]

    def close(self) -> list[Delta]:
        """The stream is over: if it said why, the reply is whole."""
        if self._ended or self._stop is None:
            return []
        self._ended = True
        empty = [CallDelta(place, "{}") for place, came in self._calls.items() if not came]
        return [*empty, Closing(read_stop(self._stop), known_usage(self._usage))]

    def _read_delta(self, delta: Body) -> list[Delta]:
        found: list[Delta] = []
        thought = next(
            (delta[key] for key in THOUGHTS if isinstance(delta.get(key), str) and delta[key]), None
        )
        if thought is not None:
            found.append(ThoughtDelta(_THOUGHT, thought))
        for key in ("content", "refusal"):
            if isinstance(delta.get(key), str) and delta[key]:
                found.append(TextDelta(_WORDS, delta[key]))
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            found += self._read_call(call) if isinstance(call, dict) else []
        return found

    def _read_call(self, call: Body) -> list[Delta]:
        index, inner = call.get("index"), call.get("function") or call.get("custom")
        place = _CALLS + (index if isinstance(index, int) else len(self._calls))
        inner = inner if isinstance(inner, dict) else {}
        found: list[Delta] = []
        if place not in self._calls:
            self._calls[place] = False
            found.append(
                CallStart(place, str(call.get("id") or f"call_{place}"), str(inner.get("name") or ""))
            )
        text = inner.get("arguments") or inner.get("input")
        if isinstance(text, str):
            self._calls[place] = True
            found.append(CallDelta(place, text))
        return found


def _opening(chunk: Body) -> Opening:
    created = chunk.get("created")
    return Opening(
        id=str(chunk.get("id") or ""),
        model=str(chunk.get("model") or ""),
        created=created if isinstance(created, int) else 0,
    )


READER = ChatReader
