"""Several streamed messages of Anthropic, told as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.core.record import TokenUsage
from fanfold.dialects.anthropic.read import blocks, kind
from fanfold.dialects.anthropic.tell import set_usage
from fanfold.dialects.http.events import StreamEvent, write_event
from fanfold.dialects.http.rounds import Hidden, is_hidden
from fanfold.dialects.rules import Body


class AnthropicSplice:
    """Tells the events of several messages as those of one."""

    def __init__(self, hidden: Hidden) -> None:
        self.has_hidden = False
        self.has_calls = False
        self.complete = False
        self._hidden = hidden
        self._rounds = 0
        self._next = 0
        self._places: dict[int, int | None] = {}
        """Under what index each block of this round is told; None for one that is not."""
        self._held: list[tuple[StreamEvent, Body]] = []

    def feed(self, event: StreamEvent) -> bytes:
        """Take in one event; what the client is told now."""
        data = event.json()
        match data:
            case {"type": "message_start"} if self._rounds:
                return b""
            case {"type": "content_block_start", "index": int(at), "content_block": block}:
                self._enter(at, block)
                return self._at_index(event, data)
            case {"type": "content_block_delta" | "content_block_stop", "index": int()}:
                return self._at_index(event, data)
            case {"type": "message_delta" | "message_stop" as kind}:
                self.complete = self.complete or kind == "message_stop"
                self._held.append((event, data))
                return b""
        return event.raw

    def next_round(self) -> bytes:
        """Another round follows; the end of this one is not told."""
        self._rounds += 1
        self._held.clear()
        self._places.clear()
        self.has_hidden = self.complete = False
        return b""

    def finish(self, usage: TokenUsage | None = None) -> bytes:
        """The end as the last round told it; calls that the client never saw are not waited for."""
        return b"".join(self._ending(event, data, usage) for event, data in self._held)

    def _enter(self, at: int, block: Any) -> None:
        is_call = kind(block) == "tool_use"
        if _is_hidden(block, self._hidden):
            self.has_hidden = True
            self._places[at] = None
            return
        self.has_calls = self.has_calls or is_call
        self._places[at], self._next = self._next, self._next + 1

    def _at_index(self, event: StreamEvent, data: Body) -> bytes:
        index = self._places.get(data["index"])
        if index is None:
            return b""
        return event.raw if index == data["index"] else write_event({**data, "index": index}, data["type"])

    def _ending(self, event: StreamEvent, data: Body, usage: TokenUsage | None) -> bytes:
        changed = data if usage is None else set_usage(data, usage)
        delta = data.get("delta")
        if (
            self.has_hidden
            and not self.has_calls
            and isinstance(delta, dict)
            and delta.get("stop_reason") == "tool_use"
        ):
            changed = {**changed, "delta": {**delta, "stop_reason": "end_turn"}}
        return event.raw if changed is data else write_event(changed, str(data["type"]))


def splice_replies(bodies: Sequence[Mapping[str, Any]], hidden: Hidden) -> Body:
    """Whole messages as one: the first one's id, all blocks but the hidden calls, the last one's end."""
    told = [block for body in bodies for block in blocks(dict(body)) if not _is_hidden(block, hidden)]
    ending = {key: bodies[-1].get(key) for key in ("stop_reason", "stop_sequence", "usage")}
    if ending["stop_reason"] == "tool_use" and not any(kind(block) == "tool_use" for block in told):
        ending["stop_reason"] = "end_turn"
    return {**bodies[0], "content": told, **ending}


def _is_hidden(block: Any, hidden: Hidden) -> bool:
    return kind(block) == "tool_use" and is_hidden(block.get("name"), hidden)


SPLICE = AnthropicSplice
