"""The chunks of a streamed Gemini response, read as steps."""

from __future__ import annotations

from typing import Any

from fanfold.core.message import Call, Text, Thinking
from fanfold.dialects.gemini.names import get_field, get_object
from fanfold.dialects.gemini.partial import continues, is_open, join, settle
from fanfold.dialects.gemini.read import parts_of, read
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
    unique_id,
)
from fanfold.dialects.http.errors import read_error_event


class GeminiReader:
    """Reads the chunks of one response; of several candidates only the first."""

    def __init__(self) -> None:
        self._id = ""
        self._begun = False
        self._ended = False
        self._place = 0
        self._kind: type | None = None
        self._open: dict[str, Any] | None = None
        """A call of which more is to come."""

    def read(self, event: Any) -> list[Delta]:
        """The steps that one chunk tells."""
        if not isinstance(event, dict) or self._ended:
            return []
        trouble = read_error_event(event)
        if trouble is not None:
            return [Fault(trouble)]
        usage = known_usage(get_field(event, "usageMetadata"))
        found: list[Delta] = []
        if not self._begun:
            self._begun = True
            self._id = str(event.get("responseId") or event.get("response_id") or "")
            model = str(event.get("modelVersion") or event.get("model_version") or "")
            found.append(Opening(id=self._id, model=model, usage=usage))
        listed = event.get("candidates")
        candidate = listed[0] if isinstance(listed, list) and listed else None
        content = candidate.get("content") if isinstance(candidate, dict) else None
        for part in parts_of(content) if isinstance(content, dict) else ():
            found += self._read_part(part)
        stop = get_field(candidate, "finishReason")
        blocked = get_field(get_object(event, "promptFeedback"), "blockReason")
        if stop or blocked:
            self._ended = True
            found.append(Closing(read_stop(str(stop) if stop else "blocked"), usage))
        return found

    def close(self) -> list[Delta]:
        """Nothing is held back."""
        return []

    def _read_part(self, part: Any) -> list[Delta]:
        """A call is told when it is whole; words and thoughts as they come."""
        if self._open is not None and continues(part, self._open):
            join(self._open, part)
            part, self._open = self._open, None
        if is_open(part):
            self._open = part
            return []
        (said,) = read([settle(part)])
        match said:
            case Call(id=id, name=name, raw=raw):
                self._enter(Call, anew=True)
                place = self._place
                return [
                    CallStart(place, unique_id(id, name, f"{self._id}.{place}"), name),
                    CallDelta(place, raw),
                    BlockEnd(place),
                ]
            case Thinking(text=text, signature=signature):
                self._enter(Thinking)
                told: list[Delta] = [ThoughtDelta(self._place, text)] if text else []
                return [*told, *([Signature(self._place, signature)] if signature else [])]
            case Text(text=text) if text:
                self._enter(Text)
                return [TextDelta(self._place, text)]
        return []

    def _enter(self, kind: type, *, anew: bool = False) -> None:
        self._place += anew or kind is not self._kind
        self._kind = kind


READER = GeminiReader
