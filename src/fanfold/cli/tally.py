"""Where the tokens of conversations are: by kind, by tool, the biggest messages, what is there twice."""

from __future__ import annotations

from collections import Counter

import msgspec

from fanfold.cli.sources import Source
from fanfold.config.defaults import meter_for
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Thinking, text_of
from fanfold.dialects.dialect import decode
from fanfold.dialects.registry import dialect_named
from fanfold.tokens.meter import Meter

KINDS = ("system and tools", "user", "assistant", "calls", "outputs", "thinking", "media", "other")
_LARGEST = 5


class Large(msgspec.Struct, frozen=True):
    """One of the biggest messages."""

    conversation: str
    number: int
    role: str
    tokens: int
    begins: str


class Tally(msgspec.Struct):
    """What was show_count so far, in tokens where nothing else is said."""

    conversations: int = 0
    messages: int = 0
    kinds: Counter[str] = msgspec.field(default_factory=Counter)
    tools: Counter[str] = msgspec.field(default_factory=Counter)
    """Outputs, by the tool that gave them."""
    calls: Counter[str] = msgspec.field(default_factory=Counter)
    """How often each tool was called."""
    largest: list[Large] = []
    repeats: int = 0
    """How many outputs were there before, word for word."""
    repeated: int = 0
    """What these cost."""

    @property
    def tokens(self) -> int:
        """All of them."""
        return sum(self.kinds.values())

    def take(self, source: Source, meter: str | None = None) -> None:
        """Count one conversation."""
        dialect, gauge = dialect_named(source.dialect, source.model), meter_for(meter, source.model)
        frame, messages, _ = decode(dialect, source.request)
        self.conversations += 1
        self.messages += len(messages)
        self.kinds["system and tools"] += gauge.frame(frame)
        for number, message in enumerate(messages):
            self._message(source.name, number, message, gauge)
        self._outputs(messages, gauge)
        self.largest = sorted(self.largest, key=lambda one: -one.tokens)[:_LARGEST]

    def _message(self, name: str, number: int, message: Message, gauge: Meter) -> None:
        total = gauge.message(message)
        bare = gauge.message(Message(message.role, ()))
        for part in message.parts:
            self.kinds[kind_of(part, message.role)] += gauge.message(Message(message.role, (part,))) - bare
        self.kinds[message.role if message.role in KINDS else "other"] += bare
        begins = " ".join(text_of(message)[:200].split())[:60]
        self.largest.append(Large(name, number, message.role, total, begins))

    def _outputs(self, messages: tuple[Message, ...], gauge: Meter) -> None:
        names = {call.id: call.name for message in messages for call in message.calls}
        self.calls.update(call.name for message in messages for call in message.calls)
        seen: set[str] = set()
        for result in (result for message in messages for result in message.results):
            tokens = gauge.message(Message("tool", (result,)))
            self.tools[names.get(result.call) or result.name or "unknown"] += tokens
            if result.text in seen and result.text:
                self.repeats, self.repeated = self.repeats + 1, self.repeated + tokens
            seen.add(result.text)


def kind_of(part: Part, role: str) -> str:
    """The kind of a part."""
    match part:
        case Call():
            return "calls"
        case Result():
            return "outputs"
        case Thinking():
            return "thinking"
        case Image() | Document():
            return "media"
        case Opaque():
            return "other"
        case _:
            return role if role in ("user", "assistant") else "other"
