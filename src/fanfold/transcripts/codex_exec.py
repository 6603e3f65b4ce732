"""What `codex exec --json` prints: items that begin, change and end, in the turns of a thread.

The prompt is not among them. An item that did something holds the call and what came of it, so it is told in
OpenAI's chat form as both. A turn's bill counts the whole thread: it is in `meta["usage"]`, not with a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, mapping, string

NAME = "codex-exec"
TURNS = ("thread.started", "turn.started", "turn.completed", "turn.failed")
ITEMS = ("item.started", "item.updated", "item.completed")
SAID = ("agent_message", "assistant_message")
OUTCOMES = ("id", "type", "item_type", "status", "result", "error", "aggregated_output", "exit_code")
"""Fields of an item that are no arguments of its call."""


def fits(value: Any) -> bool:
    record = mapping(value)
    return record.get("type") in TURNS or (
        record.get("type") in ITEMS and isinstance(record.get("item"), dict)
    )


def read(recording: Recording) -> Iterator[Conversation]:
    thread = _ExecThread()
    for row in recording.rows():
        record = row.value
        if not isinstance(record, dict):
            raise recording.wrong(row.line, "an event of `codex exec` is a JSON object.")
        name = string(record.get("thread_id"))
        if name and thread.name not in (None, name):
            yield from thread.finish(recording.name)
            thread = _ExecThread()
        thread.name = name or thread.name
        thread.take(record)
    yield from thread.finish(recording.name)


class _ExecThread:
    """A thread being told."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.name: str | None = None
        self.turn = 1
        self.items: dict[str, tuple[Wire, bool]] = {}
        """The items of this turn as they stand, and whether each has ended."""
        self.thought = ""
        self.usage: Wire = {}
        self.other: Counter[str] = Counter()

    def take(self, event: Wire) -> None:
        kind = string(event.get("type")) or "unknown"
        if kind in ITEMS:
            item = mapping(event.get("item"))
            self.items[string(item.get("id")) or f"item {len(self.items)}"] = item, kind == "item.completed"
            return
        self._tell()
        self.usage = mapping(event.get("usage")) or self.usage
        if kind not in ("thread.started", "turn.started", "turn.completed"):
            self.other[kind] += 1

    def _tell(self) -> None:
        """Tell the items so far: the ids of items begin anew with each turn."""
        for id, (item, has_ended) in self.items.items():
            self._tell_item(f"turn_{self.turn}_{id}", item, has_ended)
        self.turn += bool(self.items)
        self.items.clear()

    def _tell_item(self, id: str, item: Wire, has_ended: bool) -> None:
        kind = first_string(item, "type", "item_type") or "unknown"
        if kind == "error":
            self.other[kind] += 1
        elif kind == "reasoning":
            self.thought += string(item.get("text")) or ""
        elif kind in SAID:
            self._answer(string(item.get("text")) or "")
        else:
            self._answer(None, make_call(id, *_call(kind, item)))
            if has_ended:
                self.draft.add(make_result(id, _outcome(item)))

    def _answer(self, text: str | None, *calls: Wire) -> None:
        self.draft.add(make_answer(text, calls, self.thought))
        self.thought = ""

    def finish(self, source: str) -> Iterator[Conversation]:
        self._tell()
        if self.thought:
            self._answer("")
        meta = {"usage": self.usage, "other_lines": dict(self.other)}
        told = {key: value for key, value in meta.items() if value}
        if self.draft.messages:
            yield self.draft.finish(self.name or source, source, NAME, "openai.chat", meta=told)


def _call(kind: str, item: Wire) -> tuple[str, Any]:
    """The name of the call that an item stands for, and its arguments."""
    if kind == "command_execution":
        return "shell", {"command": item.get("command")}
    if kind == "mcp_tool_call":
        names = (string(item.get("server")), string(item.get("tool")))
        return "__".join(name for name in names if name) or kind, item.get("arguments")
    return kind, {key: value for key, value in item.items() if key not in OUTCOMES}


def _outcome(item: Wire) -> str:
    """What came of it: its output, its error, or the status in which it ended."""
    if "aggregated_output" in item:
        code = item.get("exit_code")
        return (f"Exit code: {code}\n" if code else "") + text_of(item["aggregated_output"])
    result, error = item.get("result"), mapping(item.get("error")).get("message")
    content = mapping(result).get("content") or mapping(result).get("structured_content") or result
    return text_of(content) or string(error) or string(item.get("status")) or "completed"


FORMAT = Format(NAME, fits, read)
