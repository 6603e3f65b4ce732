"""A streamed Anthropic message, put together again."""

from __future__ import annotations

import json
from typing import Any

from fanfold.core.message import Message, Opaque
from fanfold.dialects.anthropic.read import ASKS, kind, read, read_miss
from fanfold.dialects.dialect import CUT, Reply, cut_call, cut_thinking, plain
from fanfold.dialects.rules import Body
from fanfold.tokens.usage import billed_usage


class ContentBlock:
    """One content block on its way: how it was opened, and the deltas since."""

    def __init__(self, opened: Body) -> None:
        self.body = opened
        self.done = False
        self._json: list[str] = []

    def add(self, delta: Body) -> None:
        """Take in one delta."""
        body = self.body
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                body["text"] = _words(body.get("text")) + text
            case {"type": "thinking_delta", "thinking": str(text)}:
                body["thinking"] = _words(body.get("thinking")) + text
            case {"type": "signature_delta", "signature": str(signature)}:
                body["signature"] = signature
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._json.append(piece)
            case {"type": "citations_delta", "citation": citation}:
                before = body.get("citations")
                body["citations"] = [*(before if isinstance(before, list) else ()), citation]
            case {"type": "compaction_delta"}:
                body.update({key: value for key, value in delta.items() if key != "type"})

    def close(self) -> None:
        """The block is whole; a call whose arguments are no JSON never is."""
        self.done = True
        text = "".join(self._json)
        try:
            self.body.update({"input": json.loads(text)} if text else {})
        except ValueError:
            self.done = False

    def as_cut(self) -> Opaque:
        """What came of a block that is not whole."""
        if kind(self.body) == "thinking":
            return cut_thinking(_words(self.body.get("thinking")))
        if kind(self.body) in {"tool_use", *ASKS}:
            return cut_call({**self.body, "input": "".join(self._json)})
        return Opaque(CUT, {"block": self.body})

    @property
    def sendable(self) -> bool:
        """Whether the block can be sent as it is: text can be cut anywhere."""
        return self.done or (kind(self.body) == "text" and bool(self.body.get("text")))


class MessageEvents:
    """The events of a stream, on their way to a reply."""

    def __init__(self) -> None:
        self._restart({})

    def _restart(self, opened: Body) -> None:
        self._blocks: dict[int, ContentBlock] = {}
        self._usage: Body = dict(_object(opened.get("usage")))
        self._missed = read_miss(opened)
        self._stop: str | None = None
        self.complete = False
        """Whether the provider said that this was the end."""

    def feed(self, event: Any) -> None:
        """Take in one event; a stream that begins anew is read anew."""
        self.take(plain(event, "event"))

    def take(self, event: Any) -> None:
        """Take in one event that nobody else has, in plain dicts and lists."""
        match event:
            case {"type": "message_start", "message": dict(message)} if not self.complete:
                self._restart(message)
            case {"type": "content_block_start", "index": int(at), "content_block": dict(block)}:
                if not self.complete:
                    self._blocks[at] = ContentBlock(block)
            case {"type": "content_block_delta", "index": int(at), "delta": dict(delta)}:
                if at in self._blocks and not self.complete and not self._blocks[at].done:
                    self._blocks[at].add(delta)
            case {"type": "content_block_stop", "index": int(at)}:
                if at in self._blocks and not self._blocks[at].done:
                    self._blocks[at].close()
            case {"type": "message_delta"} as last:
                self._stop = _object(last.get("delta")).get("stop_reason") or self._stop
                self._missed = self._missed or read_miss(last) or read_miss(_object(last.get("delta")))
                told = _object(last.get("usage"))
                self._usage.update((key, value) for key, value in told.items() if value is not None)
            case {"type": "message_stop"}:
                self.complete = True

    def reply(self) -> Reply:
        """What came so far: the whole blocks as one message, and beside it what is not whole."""
        found = [self._blocks[at] for at in sorted(self._blocks)]
        whole = [block.body for block in found if block.sendable]
        broken = tuple(block.as_cut() for block in found if not block.sendable)
        said = whole or (self.complete and not broken)
        messages = [read({"role": "assistant", "content": whole}, "stream")] if said else []
        if broken:
            messages.append(Message("assistant", broken))
        stop = self._stop if self.complete else "cut"
        return Reply(tuple(messages), billed_usage(self._usage), stop, missed=self._missed)


def _words(given: Any) -> str:
    """What a block began with, if it is words."""
    return given if isinstance(given, str) else ""


def _object(given: Any) -> Body:
    return given if isinstance(given, dict) else {}
