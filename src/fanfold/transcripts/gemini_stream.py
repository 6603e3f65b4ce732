"""What Gemini CLI prints with `--output-format stream-json`: one event a line.

Texts come in pieces (`delta`), calls and results one by one; they are put together to the contents that they were.
The figures at the end count the whole run: they are in `meta["stats"]`, not with a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, mapping, seconds, text


def fits(value: Any) -> bool:
    record = mapping(value)
    match record.get("type"):
        case "init":
            return bool(text(record, "model")) and "session_id" in record
        case "tool_use" | "tool_result":
            return bool(text(record, "tool_id"))
        case "result":
            return isinstance(record.get("stats"), dict)
    return False


def read(recording: Recording) -> Iterator[Conversation]:
    run = _Run()
    for event in recording.objects("an event of Gemini CLI"):
        if event.get("type") == "init" and run.messages:
            yield run.tell(recording.name)
            run = _Run()
        run.take(event)
    if run.messages:
        yield run.tell(recording.name)


class _Run(Teller):
    """A run being put together."""

    def __init__(self) -> None:
        super().__init__()
        self.head: Wire = {}
        self.stats: Wire = {}
        self.names: dict[str, str] = {}
        """Which tool each call was for."""
        self.last = ""
        """Who wrote the content that stands last: a user, the model, or tools."""

    def take(self, event: Wire) -> None:
        time, id = seconds(event.get("timestamp")), text(event, "tool_id")
        match event.get("type"):
            case "init":
                self.head = self.head or event
            case "message" if event.get("role") == "user":
                self.last = ""
                self._append("user", {"text": text(event, "content")}, time)
            case "message":
                self._speak(text(event, "content"), time)
            case "tool_use":
                self.names[id] = text(event, "tool_name")
                call = {"id": id, "name": self.names[id], "args": mapping(event.get("parameters"))}
                self._append("model", {"functionCall": call}, time)
            case "tool_result":
                failed = text(inner(event, "error"), "message") or text(event, "error")
                response = {"error": failed} if failed else {"output": event.get("output", "")}
                result = {"id": id, "name": self.names.get(id, ""), "response": response}
                self._append("tools", {"functionResponse": result}, time)
            case kind:
                self.stats = mapping(event.get("stats")) or self.stats
                if kind != "result":
                    self.other[text(event, "type") or "unknown"] += 1

    def _speak(self, said: str, time: float | None) -> None:
        parts = self.messages[-1]["parts"] if self.last == "model" else []
        if parts and "text" in parts[-1]:
            parts[-1]["text"] += said
        elif said:
            self._append("model", {"text": said}, time)

    def _append(self, who: str, part: Wire, time: float | None) -> None:
        """Append a part to the content of who spoke last, or begin the next one."""
        if who == self.last:
            self.messages[-1]["parts"].append(part)
            return
        self.add({"role": "model" if who == "model" else "user", "parts": [part]}, time)
        self.last = who

    def tell(self, source: str) -> Conversation:
        meta = {"stats": self.stats} if self.stats else {}
        id = text(self.head, "session_id") or source
        return self.finish(id, source, "gemini", model=text(self.head, "model"), meta=meta)
