"""What `codex exec --json` prints: items that begin, change and end, in the turns of a thread.

The prompt is not among them. An item that did something holds the call and what came of it, so it is told in
OpenAI's chat form as both. A turn's bill counts the whole thread: it is in `meta["usage"]`, not with a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.chat import make_answer, make_call, make_result, text_of
from fanfold.transcripts.conversation import Conversation, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, mapping, text, without

TURNS = ("thread.started", "turn.started", "turn.completed", "turn.failed")
ITEMS = ("item.started", "item.updated", "item.completed")
SAID = ("agent_message", "assistant_message")
OUTCOMES = ("id", "type", "item_type", "status", "result", "error", "aggregated_output", "exit_code")
"""Fields of an item that are no arguments of its call."""


def fits(value: Any) -> bool:
    record = mapping(value)
    kind = record.get("type")
    return kind in TURNS or (kind in ITEMS and isinstance(record.get("item"), dict))


def read(recording: Recording) -> Iterator[Conversation]:
    thread = _ExecThread()
    for record in recording.objects("an event of `codex exec`"):
        name = text(record, "thread_id")
        if name and thread.name and name != thread.name:
            yield from thread.tell(recording.name)
            thread = _ExecThread()
        thread.name = name or thread.name
        thread.take(record)
    yield from thread.tell(recording.name)


class _ExecThread(Teller):
    """A thread being told."""

    def __init__(self) -> None:
        super().__init__()
        self.name = ""
        self.turn = 1
        self.items: dict[str, tuple[Wire, bool]] = {}
        """The items of this turn as they stand, and whether each has ended."""
        self.thought = ""
        self.bill: Wire = {}

    def take(self, event: Wire) -> None:
        kind = text(event, "type") or "unknown"
        if kind in ITEMS:
            item = mapping(event.get("item"))
            self.items[text(item, "id") or f"item {len(self.items)}"] = item, kind == "item.completed"
            return
        self._end_turn()
        self.bill = mapping(event.get("usage")) or self.bill
        if kind not in ("thread.started", "turn.started", "turn.completed"):
            self.other[kind] += 1

    def _end_turn(self) -> None:
        """Tell the items so far: the ids of items begin anew with each turn."""
        for id, (item, has_ended) in self.items.items():
            self._item(f"turn_{self.turn}_{id}", item, has_ended)
        self.turn += bool(self.items)
        self.items.clear()

    def _item(self, id: str, item: Wire, has_ended: bool) -> None:
        kind = text(item, "type", "item_type") or "unknown"
        if kind == "error":
            self.other[kind] += 1
        elif kind == "reasoning":
            self.thought += text(item, "text")
        elif kind in SAID:
            self._answer(text(item, "text"))
        else:
            self._answer(None, make_call(id, *_call(kind, item)))
            if has_ended:
                self.add(make_result(id, _outcome(item)))

    def _answer(self, said: str | None, *calls: Wire) -> None:
        self.add(make_answer(said, calls, self.thought))
        self.thought = ""

    def tell(self, source: str) -> Iterator[Conversation]:
        self._end_turn()
        if self.thought:
            self._answer("")
        if self.messages:
            meta = {"usage": self.bill} if self.bill else {}
            yield self.finish(self.name or source, source, "openai.chat", meta=meta)


def _call(kind: str, item: Wire) -> tuple[str, Any]:
    """The name of the call that an item stands for, and its arguments."""
    if kind == "command_execution":
        return "shell", {"command": item.get("command")}
    if kind == "mcp_tool_call":
        names = filter(None, (text(item, "server"), text(item, "tool")))
        return "__".join(names) or kind, item.get("arguments")
    return kind, without(item, *OUTCOMES)


def _outcome(item: Wire) -> str:
    """What came of it: its output, its error, or the status in which it ended."""
    if "aggregated_output" in item:
        code = item.get("exit_code")
        return (f"Exit code: {code}\n" if code else "") + text_of(item["aggregated_output"])
    result = item.get("result")
    content = mapping(result).get("content") or mapping(result).get("structured_content") or result
    return text_of(content) or text(inner(item, "error"), "message") or text(item, "status") or "completed"
