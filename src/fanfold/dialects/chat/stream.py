"""Chunks of a streamed chat completion, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fanfold.core.errors import BadMessage
from fanfold.core.message import Message
from fanfold.dialects.dialect import Reply, cut_call, plain
from fanfold.tokens.usage import billed_usage

_ONCE = frozenset({"role", "id", "type", "index"})
"""Fields that a stream repeats instead of continuing."""


class GrowingObject:
    """A JSON object that arrives in pieces: texts are continued, lists and objects grow, the rest is replaced."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._inner: dict[str, GrowingObject] = {}
        self._values: dict[str, Any] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take in one piece."""
        for key, value in delta.items():
            if isinstance(value, str) and key not in _ONCE:
                if key in self._texts:
                    self._texts[key].append(value)
                else:
                    self._texts[key] = [value]
            elif isinstance(value, dict):
                self._inner.setdefault(key, GrowingObject()).add(value)
            elif isinstance(value, list):
                self._values.setdefault(key, []).extend(value)
            elif value is not None or key not in self._values:
                self._values[key] = value

    def join(self) -> dict[str, Any]:
        """The object so far."""
        texts = {key: "".join(pieces) for key, pieces in self._texts.items()}
        inner = {key: pieces.join() for key, pieces in self._inner.items()}
        return {**self._values, **texts, **inner}


class ChatChunks:
    """The chunks of a streamed chat completion, on their way to a reply."""

    def __init__(self, read: Callable[[Any, str], Message]) -> None:
        self._read = read
        self._body = GrowingObject()
        self._calls: dict[int, GrowingObject] = {}
        self._usage: Any = None
        self._stop: str | None = None

    @property
    def complete(self) -> bool:
        """Whether a chunk said why the model stopped."""
        return self._stop is not None

    def feed(self, event: Any) -> None:
        """Take in one chunk; the events of the SDK's `stream` helper carry one, or nothing new."""
        self.take(plain(getattr(event, "chunk", event), "chunk"))

    def take(self, chunk: Any) -> None:
        """Take in one chunk that nobody else has, in plain dicts and lists."""
        if not isinstance(chunk, dict):
            raise BadMessage(f"A chunk is an object, not {type(chunk).__name__}.")
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            self._stop = choice.get("finish_reason") or self._stop
            delta = choice.get("delta")
            if isinstance(delta, dict):
                if "tool_calls" in delta:
                    self._add_calls(delta.pop("tool_calls"))
                self._body.add(delta)

    def _add_calls(self, calls: Any) -> None:
        for call in _objects(calls):
            index = call.get("index")
            place = index if isinstance(index, int) else len(self._calls)
            self._calls.setdefault(place, GrowingObject()).add(call)

    def reply(self) -> Reply:
        """What came so far."""
        usage = billed_usage(self._usage)
        body = {"role": "assistant", "content": None, **self._body.join()}
        calls = [self._calls[i].join() for i in sorted(self._calls)]
        for call in calls:
            call.pop("index", None)
        if self.complete:
            body |= {"tool_calls": calls} if calls else {}
            return Reply((self._read(body, "stream"),), usage, self._stop)
        said = self._read(body, "stream")
        cut = tuple(cut_call(call) for call in calls)
        return Reply((Message("assistant", (*said.parts, *cut)),), usage, "cut")


def _objects(given: Any) -> list[dict[str, Any]]:
    """The objects of a list; servers have sent null, and what is none of them says nothing."""
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
