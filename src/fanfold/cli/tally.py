"""Where the tokens of conversations are: by kind, by tool, the biggest, what is there twice; as text and picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count

import msgspec

from fanfold.cli.saying import columns, many
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
    """What was counted so far, in tokens where nothing else is said."""

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
        self.largest.append(
            Large(conversation=name, number=number, role=message.role, tokens=total, begins=begins)
        )

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


_COLOURS = dict(
    zip(
        KINDS,
        ("#6c757d", "#2f6fde", "#3aa17e", "#7fc8a9", "#e0902f", "#9b6fd0", "#d6578a", "#b5b5b5"),
        strict=True,
    )
)
_BAR = 30
"""The longest bar, in characters."""
_TOOLS = 8
"""So many tools are named."""
_LEFT, _WIDTH, _LINE = 20, 760, 24
"""The picture's margin, the length of its bar and the height of a line of its legend."""


def as_text(tally: Tally) -> str:
    """The figures as text, with bars."""
    return "\n\n".join(_blocks(tally))


def _blocks(tally: Tally) -> Iterator[str]:
    said = (
        many(tally.conversations, "conversation"),
        many(tally.messages, "message"),
        f"{tally.tokens:,} tokens",
    )
    yield ", ".join(said)
    yield _bars(_kinds(tally), tally.tokens)
    if tally.tools:
        tools = tally.tools.most_common(_TOOLS)
        named = {f"{name} ({many(tally.calls[name], 'call')})": tokens for name, tokens in tools}
        yield "outputs by tool\n" + _bars(named, tally.tokens)
    if tally.largest:
        rows = [
            (f"{one.conversation[:24]} #{one.number}", one.role, one.tokens, one.begins)
            for one in tally.largest
        ]
        yield "biggest messages\n" + columns(
            rows, right=(2,), heads=("message", "role", "tokens", "beginnings")
        )
    yield _repeats(tally)


def _repeats(tally: Tally) -> str:
    if not tally.repeats:
        return "no output is there twice"
    return f"{many(tally.repeats, 'output')} came before, word for word: {tally.repeated:,} tokens"


def _kinds(tally: Tally) -> dict[str, int]:
    return {kind: tally.kinds[kind] for kind in KINDS if tally.kinds[kind]}


def _bars(figures: dict[str, int], total: int) -> str:
    shares = {name: tokens / max(1, total) for name, tokens in figures.items()}
    rows = [
        (name, figures[name], f"{share:.1%}", "█" * round(share * _BAR)) for name, share in shares.items()
    ]
    return columns(rows, right=(1, 2), heads=("kind", "tokens", "share", "bars"))


def as_svg(tally: Tally) -> str:
    """The figures as a picture: one bar of all tokens, and a legend."""
    kinds = _kinds(tally)
    height = 130 + _LINE * len(kinds)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="800" height="{height}" viewBox="0 0 800 {height}" '
        'font-family="sans-serif" font-size="14">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 34, f"{tally.tokens:,} tokens in {many(tally.messages, 'message')}", 18),
        *_segments(kinds),
        *_legend(kinds),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _segments(kinds: dict[str, int]) -> Iterator[str]:
    at, scale = float(_LEFT), _WIDTH / max(1, sum(kinds.values()))
    for kind, tokens in kinds.items():
        yield _box(at, 50, tokens * scale, 40, _COLOURS[kind])
        at += tokens * scale


def _legend(kinds: dict[str, int]) -> Iterator[str]:
    total = max(1, sum(kinds.values()))
    for y, (kind, tokens) in zip(count(120, _LINE), kinds.items(), strict=False):
        yield _box(_LEFT, y - 12, 14, 14, _COLOURS[kind])
        yield _text(_LEFT + 22, y, f"{kind}: {tokens:,} tokens, {tokens / total:.1%}", 14)


def _box(x: float, y: int, width: float, height: int, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" fill="{colour}"/>'


def _text(x: int, y: int, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}">{text}</text>'
