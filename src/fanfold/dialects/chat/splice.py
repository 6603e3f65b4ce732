"""Several streamed chat completions, told as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanfold.core.record import TokenUsage
from fanfold.dialects.chat.read import THOUGHTS
from fanfold.dialects.chat.tell import set_usage
from fanfold.dialects.http.events import StreamEvent, write_event
from fanfold.dialects.http.rounds import Hidden
from fanfold.dialects.rules import Body

APART = "\n\n"
"""What stands between the words of two rounds."""
_SAME = ("id", "created", "model", "system_fingerprint")


class ChatSplice:
    """Tells the chunks of several completions as those of one; of several choices only the first is told."""

    def __init__(self, hidden: Hidden) -> None:
        self.has_hidden = False
        self.has_calls = False
        self.complete = False
        self._hidden = hidden
        self._rounds = 0
        self._head: Body = {}
        self._calls: dict[int, int | None] = {}
        """Under what index each call of this round is told; None for one that is not."""
        self._count = 0
        self._spoke: set[str] = set()
        self._apart: set[str] = set()
        """Fields that have words of an earlier round: what comes next begins on a line of its own."""
        self._held: list[tuple[StreamEvent, Body | None]] = []

    def feed(self, event: StreamEvent) -> bytes:
        """Take in one chunk; what the client is told now."""
        chunk = event.json()
        if event.is_done or not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
            if not self._held:
                return event.raw
            self._held.append((event, chunk if isinstance(chunk, dict) else None))
            return b""
        self._head = self._head or {key: chunk[key] for key in _SAME if key in chunk}
        told = self._visible(chunk)
        ends = any(isinstance(choice, dict) and choice.get("finish_reason") for choice in chunk["choices"])
        if ends or self._held:
            self.complete = True
            self._held.append((event, told))
            return b""
        return self._told(event, told)

    def next_round(self) -> bytes:
        """Another round follows; the last chunk of this one may have words in it."""
        left = b""
        for event, chunk in self._held[:1]:
            if chunk is not None:
                left = self._told(event, {**chunk, "choices": [_unfinished(one) for one in chunk["choices"]]})
        self._rounds += 1
        self._held.clear()
        self._calls.clear()
        self._apart = set(self._spoke)
        self.has_hidden = self.complete = False
        return left

    def finish(self, usage: TokenUsage | None = None) -> bytes:
        """The end as the last round told it."""
        return b"".join(self._ending(event, chunk, usage) for event, chunk in self._held)

    def _ending(self, event: StreamEvent, chunk: Body | None, usage: TokenUsage | None) -> bytes:
        if chunk is None:
            return event.raw
        changed = chunk if usage is None else set_usage(chunk, usage)
        if isinstance(changed.get("choices"), list):
            changed = {**changed, "choices": [self._stopped(one) for one in changed["choices"]]}
        return event.raw if changed == event.json() else write_event(changed)

    def _stopped(self, choice: Any) -> Any:
        waits = isinstance(choice, dict) and choice.get("finish_reason") == "tool_calls"
        return {**choice, "finish_reason": "stop"} if waits and not self.has_calls else choice

    def _told(self, event: StreamEvent, told: Body) -> bytes:
        if told == event.json():
            return event.raw
        says = any(map(_says, told["choices"])) or told.get("usage")
        return write_event(told) if says else b""

    def _visible(self, chunk: Body) -> Body:
        """A chunk as the client is told it: under the first id, without the hidden calls."""
        choices = [self._choice(one) if isinstance(one, dict) else one for one in chunk["choices"]]
        head = self._head if self._rounds else {}
        return {**chunk, **head, "choices": choices}

    def _choice(self, choice: Body) -> Body:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return choice
        told = dict(delta)
        if self._rounds:
            told.pop("role", None)
        for key in ("content", *THOUGHTS):
            if self._rounds and told.get(key) == "":
                del told[key]
            elif isinstance(told.get(key), str) and told[key]:
                told[key] = f"{APART}{told[key]}" if key in self._apart else told[key]
                self._apart.discard(key)
                self._spoke.add(key)
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            told["tool_calls"] = [one for call in calls if (one := self._call(call)) is not None]
            if not told["tool_calls"]:
                del told["tool_calls"]
        return choice if told == delta else {**choice, "delta": told}

    def _call(self, call: Any) -> Any:
        """One piece of a call under the index it is told by; None for a piece of a hidden one."""
        index = call.get("index", 0) if isinstance(call, dict) else None
        if not isinstance(index, int):
            return call
        if index not in self._calls:
            name = _name(call)
            is_hidden = name in self._hidden
            self.has_hidden = self.has_hidden or is_hidden
            self.has_calls = self.has_calls or not is_hidden
            self._calls[index] = None if is_hidden else self._count
            self._count += not is_hidden
        place = self._calls[index]
        return None if place is None else call if place == index else {**call, "index": place}


def _name(call: Any) -> str | None:
    inner = (call.get("function") or call.get("custom")) if isinstance(call, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    return name if isinstance(name, str) else None


def _unfinished(choice: Any) -> Any:
    return {**choice, "finish_reason": None} if isinstance(choice, dict) else choice


def _says(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    return bool(choice.get("delta")) or bool(choice.get("finish_reason"))


def splice_replies(bodies: Sequence[Mapping[str, Any]], hidden: Hidden) -> Body:
    """Whole completions as one: the first one's id, all words and calls but the hidden ones, the last one's end."""
    messages = [_message(body) for body in bodies]
    last = _first_choice(bodies[-1])
    joined = dict(messages[-1])
    for key in ("content", *THOUGHTS):
        texts = [message[key] for message in messages if isinstance(message.get(key), str) and message[key]]
        if texts:
            joined[key] = APART.join(texts)
    listed = [message.get("tool_calls") for message in messages]
    calls = [call for some in listed if isinstance(some, list) for call in some if _name(call) not in hidden]
    joined.pop("tool_calls", None)
    joined |= {"tool_calls": calls} if calls else {}
    stop = last.get("finish_reason")
    choice = {
        **last,
        "message": joined,
        "finish_reason": "stop" if stop == "tool_calls" and not calls else stop,
    }
    usage = {"usage": bodies[-1]["usage"]} if "usage" in bodies[-1] else {}
    return {**bodies[0], "choices": [choice], **usage}


def _message(body: Mapping[str, Any]) -> Body:
    message = _first_choice(body).get("message")
    return message if isinstance(message, dict) else {}


def _first_choice(body: Mapping[str, Any]) -> Body:
    match body.get("choices"):
        case [dict(first), *_]:
            return first
    return {}


SPLICE = ChatSplice
