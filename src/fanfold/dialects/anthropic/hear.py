"""The events of a streamed Anthropic message, read as steps."""

from __future__ import annotations

from typing import Any

from fanfold.dialects.http.deltas import (
    BlockEnd,
    CallDelta,
    CallStart,
    Closing,
    Delta,
    Fault,
    Opening,
    Signature,
    TextDelta,
    ThoughtDelta,
    known_usage,
    read_stop,
)
from fanfold.dialects.http.errors import read_error_event
from fanfold.dialects.rules import Body
from fanfold.text.json_text import to_json


class AnthropicReader:
    """Reads the events of one message."""

    def __init__(self) -> None:
        self._usage: Body = {}
        self._stop: str | None = None
        self._inputs: dict[int, Any] = {}
        """The calls of which no argument came yet, with the input that they were opened with."""

    def read(self, event: Any) -> list[Delta]:
        """The steps that one event tells."""
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._add(message.get("usage"))
                id, model = str(message.get("id") or ""), str(message.get("model") or "")
                return [Opening(id=id, model=model, usage=known_usage(self._usage))]
            case {"type": "content_block_start", "index": int(at), "content_block": dict(block)}:
                return self._open(at, block)
            case {"type": "content_block_delta", "index": int(at), "delta": dict(delta)}:
                return self._grow(at, delta)
            case {"type": "content_block_stop", "index": int(at)}:
                if at not in self._inputs:
                    return [BlockEnd(at)]
                return [CallDelta(at, to_json(self._inputs.pop(at) or {})), BlockEnd(at)]
            case {"type": "message_delta"}:
                self._add(event.get("usage"))
                delta = event.get("delta")
                self._stop = (delta.get("stop_reason") if isinstance(delta, dict) else None) or self._stop
                return []
            case {"type": "message_stop"}:
                return [Closing(read_stop(self._stop), known_usage(self._usage))]
        trouble = read_error_event(event)
        return [Fault(trouble)] if trouble else []

    def close(self) -> list[Delta]:
        """Nothing is held back."""
        return []

    def _add(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage.update((key, value) for key, value in usage.items() if value is not None)

    def _open(self, at: int, block: Body) -> list[Delta]:
        match block:
            case {"type": "text", "text": str(text)} if text:
                return [TextDelta(at, text)]
            case {"type": "thinking", "thinking": str(text)} if text:
                return [ThoughtDelta(at, text)]
            case {"type": "redacted_thinking", "data": str(data)}:
                return [Signature(at, data)]
            case {"type": "tool_use", "id": str(id), "name": str(name)}:
                self._inputs[at] = block.get("input")
                return [CallStart(at, id, name)]
        return []

    def _grow(self, at: int, delta: Body) -> list[Delta]:
        match delta:
            case {"type": "text_delta", "text": str(text)} if text:
                return [TextDelta(at, text)]
            case {"type": "thinking_delta", "thinking": str(text)} if text:
                return [ThoughtDelta(at, text)]
            case {"type": "signature_delta", "signature": str(text)} if text:
                return [Signature(at, text)]
            case {"type": "input_json_delta", "partial_json": str(text)} if text:
                self._inputs.pop(at, None)
                return [CallDelta(at, text)]
        return []


READER = AnthropicReader
