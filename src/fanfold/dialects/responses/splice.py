"""Several streamed responses, told as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.core.record import TokenUsage
from fanfold.dialects.http.events import StreamEvent, write_event
from fanfold.dialects.http.rounds import Hidden, is_hidden
from fanfold.dialects.responses.read import CALLS, Item
from fanfold.dialects.responses.tell import set_usage

_STARTS = frozenset({"response.created", "response.in_progress", "response.queued"})
_ENDS = frozenset({"response.completed", "response.incomplete"})


class ResponsesSplice:
    """Tells the events of several responses as those of one."""

    def __init__(self, hidden: Hidden) -> None:
        self.has_hidden = False
        self.has_calls = False
        self.complete = False
        self._hidden = hidden
        self._rounds = 0
        self._id: str | None = None
        self._number: int | None = None
        self._count = 0
        self._places: dict[int, int | None] = {}
        """Under what index each item of this round is told; None for one that is not."""
        self._items: dict[int, Item] = {}
        self._end: tuple[StreamEvent, Item] | None = None

    def feed(self, event: StreamEvent) -> bytes:
        """Take in one event; what the client is told now."""
        data = event.json()
        if not isinstance(data, dict):
            return event.raw
        kind, response = str(data.get("type")), data.get("response")
        if kind in _STARTS and self._rounds:
            return b""
        if isinstance(response, dict):
            self._id = self._id or response.get("id")
            if kind in _ENDS:
                self.complete, self._end = True, (event, data)
                return b""
        item = data.get("item")
        if kind == "response.output_item.added" and isinstance(item, dict):
            self._enter(data.get("output_index"), item)
        place = data.get("output_index")
        if isinstance(place, int):
            index = self._places.get(place, place)
            if index is None:
                return b""
            data = data if index == place else {**data, "output_index": index}
            if kind == "response.output_item.done" and isinstance(item, dict):
                self._items[index] = item
        return self._write(event, self._under_first_id(data))

    def next_round(self) -> bytes:
        """Another round follows; the end of this one is not told."""
        self._rounds += 1
        self._places.clear()
        self._end = None
        self.has_hidden = self.complete = False
        return b""

    def finish(self, usage: TokenUsage | None = None) -> bytes:
        """The end as the last round told it, with all that was told before."""
        if self._end is None:
            return b""
        event, data = self._end
        if self._rounds or self.has_hidden:
            items = [self._items[index] for index in sorted(self._items)]
            response = {**data["response"], "output": items or self._visible(data["response"])}
            data = self._under_first_id({**data, "response": response})
        return self._write(event, data if usage is None else set_usage(data, usage))

    def _visible(self, response: Item) -> list[Any]:
        output = response.get("output")
        listed = output if isinstance(output, list) else []
        return [item for item in listed if not _is_hidden(item, self._hidden)]

    def _enter(self, place: Any, item: Item) -> None:
        if not isinstance(place, int):
            return
        if _is_hidden(item, self._hidden):
            self.has_hidden = True
            self._places[place] = None
            return
        self.has_calls = self.has_calls or str(item.get("type")) in CALLS
        self._places[place], self._count = self._count, self._count + 1

    def _under_first_id(self, data: Item) -> Item:
        response = data.get("response")
        if not self._rounds or not isinstance(response, dict) or "id" not in response:
            return data
        return {**data, "response": {**response, "id": self._id}}

    def _numbered(self, data: Item) -> Item:
        """The event under the next number; the first one has its own."""
        came = data.get("sequence_number")
        if not isinstance(came, int):
            return data
        number = came if self._number is None else self._number
        self._number = number + 1
        return {**data, "sequence_number": number}

    def _write(self, event: StreamEvent, data: Item) -> bytes:
        changed = self._numbered(data)
        return event.raw if changed == event.json() else write_event(changed, event.name)


def _is_hidden(item: Any, hidden: Hidden) -> bool:
    return (
        isinstance(item, dict) and item.get("type") == "function_call" and is_hidden(item.get("name"), hidden)
    )


def splice_replies(bodies: Sequence[Mapping[str, Any]], hidden: Hidden) -> Item:
    """Whole responses as one: the first one's id, all items but the hidden calls, the last one's end."""
    outputs = [body.get("output") for body in bodies]
    told = [item for output in outputs if isinstance(output, list) for item in output]
    told = [item for item in told if not _is_hidden(item, hidden)]
    ids = {key: bodies[0][key] for key in ("id", "created_at") if key in bodies[0]}
    return {**bodies[-1], **ids, "output": told}


SPLICE = ResponsesSplice
