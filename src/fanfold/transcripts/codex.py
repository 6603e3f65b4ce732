"""Codex rollouts: JSON lines with an envelope `{timestamp, type, payload}`; before September 2025 bare items.

The items are those of the Responses API. A `compacted` line holds the history that replaced the older one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.transcripts.conversation import Conversation, Parent, Teller, Wire
from fanfold.transcripts.recording import Recording
from fanfold.transcripts.values import inner, mapping, mappings, number, seconds, some, text, without

KINDS = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
BOOKKEEPING = "internal_chat_message_metadata_passthrough"
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
    has_header = {"id", "timestamp", "instructions"} <= set(record)
    return has_header and not {"type", "role", "messages"} & set(record)


def read(recording: Recording) -> Iterator[Conversation]:
    rollout = _Rollout()
    for line in recording.objects("a Codex rollout line"):
        rollout.take(line)
    if rollout.messages:
        yield rollout.tell(recording.name)


class _Rollout(Teller):
    """A rollout being replayed."""

    def __init__(self) -> None:
        super().__init__()
        self.header: Wire = {}
        self.rolled_back = 0
        self.billed = 0
        self.total: Wire | None = None
        self.asked: list[int] = []
        """Where people spoke; copies in a replaced history do not count."""

    def take(self, line: Wire) -> None:
        payload, time = mapping(line.get("payload")), seconds(line.get("timestamp"))
        match line.get("type"):
            case "session_meta":
                self.header = self.header or payload
            case "turn_context":
                self.model = text(payload, "model") or self.model
            case "response_item":
                self._item(payload, time)
            case "compacted":
                self._compact(payload, time)
            case "event_msg":
                self._event(payload)
            case _ if "payload" in line or "record_type" in line:
                self.other[text(line, "type") or "state"] += 1
            case _ if "type" in line:  # the older form: items without an envelope
                self._item(without(line, "timestamp"), time)
            case _:
                self.header = self.header or line

    def _item(self, item: Wire, time: float | None) -> None:
        if not item or item.get("type") in UNSENT:
            self.other[text(item, "type") or "empty"] += 1
            return
        if _is_asked(item):
            self.asked.append(len(self.messages))
        self.add(without(item, BOOKKEEPING), time)

    def _compact(self, payload: Wire, time: float | None) -> None:
        shown = [without(item, BOOKKEEPING) for item in mappings(payload.get("replacement_history"))]
        if not shown and (said := text(payload, "message")):
            shown = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": said}]}]
        self.compact(shown, time, meta=some(payload, "window_number", "window_id"))
        self.billed = len(self.messages)

    def _event(self, payload: Wire) -> None:
        match payload.get("type"):
            case "token_count":
                self._bill(mapping(payload.get("info")))
            case "thread_rolled_back":
                self._roll_back(number(payload.get("num_turns")))
            case _:
                self.other[text(payload, "type") or "event_msg"] += 1

    def _bill(self, info: Wire) -> None:
        """Usage belongs to the last item that the model made since the bill before.

        The same totals come again when only the rate limits changed.
        """
        total, before = mapping(info.get("total_token_usage")), self.total or {}
        grown = {
            key: value - number(before.get(key)) for key, value in total.items() if number(value) == value
        }
        usage = mapping(info.get("last_token_usage")) or grown
        if not usage or (total and total == self.total):
            return
        self.total = total or self.total
        since = range(len(self.messages) - 1, self.billed - 1, -1)
        place = next((index for index in since if _is_made(self.messages[index])), None)
        if place is not None:
            self.usage[place] = usage
            self.billed = place + 1

    def _roll_back(self, turns: int) -> None:
        if turns > 0 and self.asked:
            self.rolled_back += self.truncate(self.asked[-turns:][0])
            del self.asked[-turns:]
            self.billed = min(self.billed, len(self.messages))

    def tell(self, source: str) -> Conversation:
        header = self.header
        instructions = text(header, "instructions") or text(inner(header, "base_instructions"), "text")
        spawned = inner(header, "source", "subagent", "thread_spawn")
        parent = text(spawned, "parent_thread_id") or text(header, "parent_thread_id")
        meta = some(header, "cwd", "cli_version", "originator", "git", "forked_from_id", "dynamic_tools")
        return self.finish(
            text(header, "id", "session_id") or source,
            source,
            "openai.responses",
            model=self.model or text(header, "model"),
            frame={"instructions": instructions} if instructions else {},
            parent=Parent(parent) if parent else None,
            meta=meta | ({"rolled_back": self.rolled_back} if self.rolled_back else {}),
        )


def _is_made(item: Wire) -> bool:
    """Did the model write this item?"""
    return item.get("type") not in ANSWERED and item.get("role", "assistant") == "assistant"


def _is_asked(item: Wire) -> bool:
    """Is this what a person typed?"""
    if item.get("type", "message") != "message" or item.get("role") != "user":
        return False
    texts = [text(part, "text") for part in mappings(item.get("content"))]
    return not any(said.lstrip().startswith(INJECTED) for said in texts)
