"""Codex rollouts: JSON lines with an envelope `{timestamp, type, payload}`; before September 2025 bare items.

The items are those of the Responses API. A `compacted` line holds the history that replaced the older one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.conversation import Conversation, Parent, Recorded, Wire
from fanfold.transcripts.formats import Format
from fanfold.transcripts.rows import Recording
from fanfold.transcripts.values import first_string, mapping, mappings, number, seconds, some, string

NAME = "codex"
KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
BOOKKEEPING = ("internal_chat_message_metadata_passthrough",)
UNSENT = ("ghost_snapshot",)
"""Items that Codex keeps for itself; no request holds them."""
ANSWERED = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
INJECTED = ("<environment_context>", "<user_instructions>", "<permissions", "# AGENTS.md")
"""How user messages begin that Codex wrote itself; a rollback does not count them as turns."""


def fits(value: Any) -> bool:
    record = mapping(value)
    if record.get("record_type") == "state":
        return True
    if isinstance(record.get("payload"), dict):
        return record.get("type") in KINDS
    return {"id", "timestamp", "instructions"} <= set(record) and not {"type", "role", "messages"} & set(
        record
    )


def read(recording: Recording) -> Iterator[Conversation]:
    rollout = _Rollout()
    for row in recording.rows():
        if not isinstance(row.value, dict):
            raise recording.wrong(row.line, "a Codex rollout line is a JSON object.")
        rollout.take(row.value)
    if rollout.draft.messages:
        yield rollout.finish(recording.name)


class _Rollout:
    """A rollout being replayed."""

    def __init__(self) -> None:
        self.draft = Recorded()
        self.header: Wire = {}
        self.models: list[str] = []
        self.other: Counter[str] = Counter()
        self.rolled_back = 0
        self.billed = 0
        self.total: Wire | None = None
        self.asked: list[int] = []
        """Where people spoke; copies in a replaced history do not count."""

    def take(self, line: Wire) -> None:
        kind, payload = line.get("type"), mapping(line.get("payload"))
        time = seconds(line.get("timestamp"))
        match kind:
            case "session_meta":
                self.header = self.header or payload
            case "turn_context":
                self._turn(payload)
            case "response_item":
                self._item(payload, time)
            case "compacted":
                self._compact(payload, time)
            case "event_msg":
                self._event(payload)
            case _:
                self._bare(line, time)

    def _bare(self, line: Wire, time: float | None) -> None:
        """The older form: a header without a type, then items without an envelope."""
        if "payload" in line or "record_type" in line:
            self.other[string(line.get("type")) or "state"] += 1
        elif "type" in line:
            self._item({key: value for key, value in line.items() if key != "timestamp"}, time)
        else:
            self.header = self.header or line

    def _turn(self, payload: Wire) -> None:
        if model := string(payload.get("model")):
            self.models.append(model)

    def _item(self, item: Wire, time: float | None) -> None:
        if not item or item.get("type") in UNSENT:
            self.other[string(item.get("type")) or "empty"] += 1
            return
        if _is_asked(item):
            self.asked.append(len(self.draft.messages))
        self.draft.add(_wire(item), time)

    def _compact(self, payload: Wire, time: float | None) -> None:
        shown = [_wire(item) for item in mappings(payload.get("replacement_history"))]
        if not shown and (text := string(payload.get("message"))):
            shown = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]
        self.draft.compact(shown, time, meta=some(payload, "window_number", "window_id"))
        self.billed = len(self.draft.messages)

    def _event(self, payload: Wire) -> None:
        match payload.get("type"):
            case "token_count":
                self._bill(mapping(payload.get("info")))
            case "thread_rolled_back":
                self._roll_back(number(payload.get("num_turns")))
            case kind:
                self.other[string(kind) or "event_msg"] += 1

    def _bill(self, info: Wire) -> None:
        """Usage belongs to the last item that the model made since the bill before.

        The same totals come again when only the rate limits changed.
        """
        total, last = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        usage = last or _difference(total, self.total or {})
        if not usage or (total and total == self.total):
            return
        self.total = total or self.total
        made = range(len(self.draft.messages) - 1, self.billed - 1, -1)
        place = next((index for index in made if _is_made(self.draft.messages[index])), None)
        if place is not None:
            self.draft.usage[place] = usage
            self.billed = place + 1

    def _roll_back(self, turns: int) -> None:
        if turns > 0 and self.asked:
            self.rolled_back += self.draft.truncate(self.asked[-turns:][0])
            del self.asked[-turns:]
            self.billed = min(self.billed, len(self.draft.messages))

    def finish(self, source: str) -> Conversation:
        header = self.header
        text = first_string(header, "instructions") or string(
            mapping(header.get("base_instructions")).get("text")
        )
        meta = some(header, "cwd", "cli_version", "originator", "git", "forked_from_id", "dynamic_tools")
        counted = {"rolled_back": self.rolled_back, "other_lines": dict(self.other)}
        return self.draft.finish(
            first_string(header, "id", "session_id") or source,
            source,
            NAME,
            "openai.responses",
            model=self.models[-1] if self.models else string(header.get("model")),
            frame={"instructions": text} if text else {},
            parent=_parent(header),
            meta=meta | {key: value for key, value in counted.items() if value},
        )


def _wire(item: Wire) -> Wire:
    return {key: value for key, value in item.items() if key not in BOOKKEEPING}


def _difference(total: Wire, before: Wire) -> Wire:
    return {key: value - number(before.get(key)) for key, value in total.items() if number(value) == value}


def _is_made(item: Wire) -> bool:
    """Did the model write this item?"""
    if item.get("type") in ANSWERED:
        return False
    return bool(item.get("role", "assistant") == "assistant")


def _is_asked(item: Wire) -> bool:
    """Is this what a person typed?"""
    if item.get("type", "message") != "message" or item.get("role") != "user":
        return False
    texts = [string(part.get("text")) or "" for part in mappings(item.get("content"))]
    return not any(text.lstrip().startswith(INJECTED) for text in texts)


def _parent(header: Wire) -> Parent | None:
    spawned = mapping(mapping(mapping(header.get("source")).get("subagent")).get("thread_spawn"))
    id = string(spawned.get("parent_thread_id")) or string(header.get("parent_thread_id"))
    return Parent(id) if id else None


FORMAT = Format(NAME, fits, read)
