"""The events of a streamed response, read as steps."""

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
from fanfold.dialects.responses.read import Item

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_WORDS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
_ARGUMENTS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete"})


class ResponsesReader:
    """Reads the events of one response."""

    def __init__(self) -> None:
        self._told: set[int] = set()
        """The places of which some words or arguments came."""
        self._calls: set[int] = set()
        self._sections: set[tuple[int, int]] = set()
        """The sections of summaries that came."""

    def read(self, event: Any) -> list[Delta]:
        """The steps that one event tells."""
        match event:
            case {"type": "response.created", "response": dict(response)}:
                return [_opening(response)]
            case {"type": str(kind), "response": dict(response)} if kind in _ENDS:
                return [_closing(response)]
            case {"type": "response.output_item.added", "output_index": int(at), "item": dict(item)}:
                return self._open(at, item)
            case {"type": "response.output_item.done", "output_index": int(at), "item": dict(item)}:
                return [*self._open(at, item), *self._finish(at, item), BlockEnd(at)]
            case {"type": str(kind), "output_index": int(at), "delta": str(text)} if text:
                return self._grow(kind, at, text, event.get("summary_index"))
        trouble = read_error_event(event)
        return [Fault(trouble)] if trouble else []

    def close(self) -> list[Delta]:
        """Nothing is held back."""
        return []

    def _open(self, at: int, item: Item) -> list[Delta]:
        if str(item.get("type")) not in _CALLS or at in self._calls:
            return []
        self._calls.add(at)
        return [CallStart(at, str(item.get("call_id") or ""), str(item.get("name") or ""))]

    def _grow(self, kind: str, at: int, text: str, section: Any) -> list[Delta]:
        if kind in _WORDS:
            self._told.add(at)
            return [TextDelta(at, text)]
        if kind in _ARGUMENTS and at in self._calls:
            self._told.add(at)
            return [CallDelta(at, text)]
        if kind not in _THOUGHTS:
            return []
        apart = isinstance(section, int) and section > 0 and (at, section) not in self._sections
        if isinstance(section, int):
            self._sections.add((at, section))
        self._told.add(at)
        return [ThoughtDelta(at, f"\n{text}" if apart else text)]

    def _finish(self, at: int, item: Item) -> list[Delta]:
        """What only the whole item tells: what was not streamed, and the seal of a thought."""
        found: list[Delta] = []
        kind, sealed = str(item.get("type")), item.get("encrypted_content")
        if at not in self._told:
            if kind in _CALLS:
                found.append(CallDelta(at, str(item.get(_CALLS[kind]) or "{}")))
            elif kind in ("message", "reasoning"):
                make = TextDelta if kind == "message" else ThoughtDelta
                text = _text(item.get("content")) or _text(item.get("summary"))
                found += [make(at, text)] if text else []
        if kind == "reasoning" and isinstance(sealed, str) and sealed:
            found.append(Signature(at, sealed))
        return found


def _text(blocks: Any) -> str:
    listed = blocks if isinstance(blocks, list) else ()
    said = [block.get("text") or block.get("refusal") for block in listed if isinstance(block, dict)]
    return "\n".join(text for text in said if isinstance(text, str))


def _opening(response: Item) -> Opening:
    created = response.get("created_at")
    return Opening(
        id=str(response.get("id") or ""),
        model=str(response.get("model") or ""),
        created=int(created) if isinstance(created, int | float) else 0,
    )


def _closing(response: Item) -> Closing:
    details = response.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return Closing(read_stop(reason or str(response.get("status"))), known_usage(response.get("usage")))


READER = ResponsesReader
