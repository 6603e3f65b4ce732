"""What Gemini CLI prints with `--output-format stream-json`: one event a line.

Texts come in pieces (`delta`), calls and results one by one; they are put together to the contents that they were.
The figures at the end count the whole run: they are in `meta["stats"]`, not with a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, mapping, seconds, some, string

NAME = "gemini-stream"


def fits(value: Any) -> bool:
    record = mapping(value)
    match record.get("type"):
        case "init":
            return string(record.get("model")) is not None and "session_id" in record
        case "tool_use" | "tool_result":
            return string(record.get("tool_id")) is not None
        case "result":
            return isinstance(record.get("stats"), dict)
    return False


def read(recording: Recording) -> Iterator[Conversation]:
    stream = _Stream()
    for row in recording.rows():
        if not isinstance(row.value, dict):
            raise recording.wrong(row.line, "an event of Gemini CLI is a JSON object.")
        if row.value.get("type") == "init" and stream.draft.messages:
            yield stream.finish(recording.name)
            stream = _Stream()
        stream.take(row.value)
    if stream.draft.messages:
        yield stream.finish(recording.name)


class _Stream:
    """A run being put together."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.head: Wire = {}
        self.stats: Wire = {}
        self.names: dict[str, str] = {}
        """Which tool each call was for."""
        self.last = ""
        """Who wrote the content that stands last: a user, the model, or tools."""
        self.other: Counter[str] = Counter()

    def take(self, event: Wire) -> None:
        time = seconds(event.get("timestamp"))
        match event.get("type"):
            case "init":
                self.head = self.head or event
            case "message" if event.get("role") == "user":
                self._add("user", {"text": string(event.get("content")) or ""}, time, anew=True)
            case "message":
                self._say(string(event.get("content")) or "", time)
            case "tool_use":
                self._call(event, time)
            case "tool_result":
                self._return(event, time)
            case kind:
                self.stats = mapping(event.get("stats")) or self.stats
                self.other[string(kind) or "unknown"] += kind != "result"

    def _say(self, text: str, time: float | None) -> None:
        parts = self.draft.messages[-1]["parts"] if self.last == "model" else []
        if parts and "text" in parts[-1]:
            parts[-1]["text"] += text
        elif text:
            self._add("model", {"text": text}, time)

    def _call(self, event: Wire, time: float | None) -> None:
        id, name = string(event.get("tool_id")) or "", string(event.get("tool_name")) or ""
        self.names[id] = name
        call = {"id": id, "name": name, "args": mapping(event.get("parameters"))}
        self._add("model", {"functionCall": call}, time)

    def _return(self, event: Wire, time: float | None) -> None:
        id, error = string(event.get("tool_id")) or "", event.get("error")
        failed = first_string(mapping(error), "message") or string(error)
        response = {"error": failed} if failed else {"output": event.get("output", "")}
        self._add(
            "tools",
            {"functionResponse": {"id": id, "name": self.names.get(id, ""), "response": response}},
            time,
        )

    def _add(self, who: str, part: Wire, time: float | None, *, anew: bool = False) -> None:
        """Append a part to the content of who spoke last, or begin the next one."""
        if who == self.last and not anew:
            self.draft.messages[-1]["parts"].append(part)
            return
        self.draft.add({"role": "model" if who == "model" else "user", "parts": [part]}, time)
        self.last = who

    def finish(self, source: str) -> Conversation:
        told = {"stats": self.stats, "other_lines": {key: n for key, n in self.other.items() if n}}
        return self.draft.finish(
            string(self.head.get("session_id")) or source,
            source,
            NAME,
            "gemini",
            model=string(self.head.get("model")),
            meta=some(told, *told),
        )


FORMAT = Format(NAME, fits, read)
