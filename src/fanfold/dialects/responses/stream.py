"""The events of a streamed response, on their way to a reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fanfold.core.message import Message, Opaque
from fanfold.dialects.dialect import Reply, cut_call, cut_thinking, plain
from fanfold.dialects.responses.read import read, read_said, without_parsed

Item = dict[str, Any]
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_LISTS: dict[str, tuple[str, str, Item]] = {
    "response.output_text.delta": ("content", "content_index", {"type": "output_text", "annotations": []}),
    "response.refusal.delta": ("content", "content_index", {"type": "refusal"}),
    "response.reasoning_text.delta": ("content", "content_index", {"type": "reasoning_text"}),
    "response.reasoning_summary_text.delta": ("summary", "summary_index", {"type": "summary_text"}),
}
"""Deltas that continue a block of a list: the list, the field with the block's place, the block's start."""
_FIELDS = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
}
"""Deltas that continue a field of the item."""


class GrowingItem:
    """An item that is still arriving."""

    def __init__(self, start: Item) -> None:
        self._start = start
        self._blocks: dict[tuple[str, int], tuple[Item, list[str]]] = {}
        self._fields: dict[str, list[str]] = {}

    def add(self, event: Item) -> None:
        """Take in one delta."""
        kind, piece = str(event.get("type")), str(event.get("delta", ""))
        if kind in _LISTS:
            field, index, start = _LISTS[kind]
            number = event.get(index)
            place = (field, number if isinstance(number, int) else 0)
            self._blocks.setdefault(place, (start, []))[1].append(piece)
        elif kind in _FIELDS:
            self._fields.setdefault(_FIELDS[kind], []).append(piece)

    def so_far(self) -> Item:
        """The item as far as it came."""
        item = {"type": "message", "role": "assistant", **self._start, "status": "incomplete"}
        for field, number in sorted(self._blocks):
            known = item[field] if number and isinstance(item.get(field), list) else []
            start, pieces = self._blocks[field, number]
            words = "refusal" if start["type"] == "refusal" else "text"
            item[field] = [*known, {**start, words: "".join(pieces)}]
        return item | {field: "".join(pieces) for field, pieces in self._fields.items()}


class ResponseEvents:
    """The events of a streamed response."""

    def __init__(self, reply: Callable[[Any], Reply]) -> None:
        self._reply = reply
        self._seen: set[int] = set()
        self._growing: dict[int, GrowingItem] = {}
        self._done: dict[int, Item] = {}
        self._end: Item | None = None

    @property
    def complete(self) -> bool:
        """Whether the server said how the response ended."""
        return self._end is not None

    def feed(self, event: Any) -> None:
        """Take in one event; one that comes twice, by its number, counts once."""
        body = plain(event, "event")
        number = body.get("sequence_number") if isinstance(body, dict) else None
        if not isinstance(body, dict) or (isinstance(number, int) and number in self._seen):
            return
        self._seen.update({number} if isinstance(number, int) else ())
        kind, place, item = str(body.get("type")), body.get("output_index"), body.get("item")
        if kind in _ENDS and isinstance(body.get("response"), dict):
            self._end = body["response"]
        elif not isinstance(place, int):
            return
        elif kind == "response.output_item.added" and isinstance(item, dict):
            self._growing[place] = GrowingItem(without_parsed(item))
        elif kind == "response.output_item.done" and isinstance(item, dict):
            self._done[place] = without_parsed(item)
        elif kind.endswith(".delta"):
            self._growing.setdefault(place, GrowingItem({})).add(body)

    def reply(self) -> Reply:
        """What came so far. What the server marked as done is whole."""
        if self._end is not None:
            # Some servers leave the output out of the last event.
            told = self._end.get("output")
            whole = (dict(enumerate(told)) if isinstance(told, list) else {}) | self._done
            return self._reply({**self._end, "output": [whole[place] for place in sorted(whole)]})
        messages: list[Message] = []
        for place in sorted(self._growing.keys() | self._done.keys()):
            if place in self._done:
                messages.append(read_said(self._done[place], f"output[{place}]"))
            else:
                messages += _cut_messages(self._growing[place].so_far())
        return Reply(tuple(messages), None, "cut")


def _cut_messages(item: Item) -> Iterator[Message]:
    """An item that broke off: words stay words; a call or a thought is recorded, but never sent."""
    kind = item.get("type")
    if kind == "message":
        said = read(item, "stream")
        if said.text:
            yield said
        return
    body: Opaque = cut_call(item)
    if kind == "reasoning":
        (thought,) = read(item, "stream").parts
        body = cut_thinking(getattr(thought, "text", ""))
    yield Message("assistant", (body,))
