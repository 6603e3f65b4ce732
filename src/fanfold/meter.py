"""Meters: what a message costs in tokens, and what the provider's bills teach about it."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt
from typing import Any, Protocol

import msgspec

from fanfold.errors import BadSetting
from fanfold.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.record import Frame

_CACHED_CHARACTERS = 32_000_000
_CHUNK = 400_000


class Meter(Protocol):
    """Counts messages. Anything with these members is a meter."""

    @property
    def name(self) -> str:
        """How this meter is called in settings."""

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its messages."""

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""

    def message(self, message: Message) -> int:
        """Tokens of a message, its frame on the wire included."""

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""


class Bpe:
    """The exact count of a public vocabulary. Nothing is counted twice."""

    def __init__(self, family: str = "o200k", *, factor: float = 1.0) -> None:
        self.family = family
        self.name = family
        self.factor = factor
        """A prior for models whose own vocabulary is not public."""
        self.overhead = 3
        self._count = counter(family)

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""
        return ceil(self._count(text) * self.factor)

    def message(self, message: Message) -> int:
        """Tokens of a message: four for its frame, then its parts."""
        return 4 + ceil(sum(self._part(part) for part in message.parts))

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""
        return sum(self.message(message) for message in frame.system) + self._tools(frame.tools)

    def _tools(self, tools: tuple[Any, ...]) -> int:
        return ceil(self._count(written(tools)) * self.factor) + 8 if tools else 0

    def _part(self, part: Part) -> float:
        match part:
            case Text(text=text) | Thinking(text=text):
                return self._count(text) * self.factor
            case Call(name=name, raw=raw):
                return (self._count(name) + self._count(raw)) * self.factor + 8
            case Result(parts=parts):
                return 4 + sum(self._part(inner) for inner in parts)
            case Image():
                return 800
            case Document(text=text, data=data):
                return self._count(text) * self.factor if text else 1_500 + len(data or "") / 40
            case Opaque(body=body):
                return self._count(written(body)) * self.factor


class Estimate:
    """A rule of thumb for text, with a fixed price for pictures."""

    def __init__(self, name: str, text: Callable[[str], float], *, image: int) -> None:
        self.name = name
        self.overhead = 0
        self._text = text
        self._image = image

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""
        return ceil(self._text(text))

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        return ceil(sum(self._part(part) for part in message.parts))

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""
        tools = ceil(self._text(written(frame.tools))) if frame.tools else 0
        return sum(self.message(message) for message in frame.system) + tools

    def _part(self, part: Part) -> float:
        match part:
            case Text(text=text) | Thinking(text=text):
                return self._text(text)
            case Image():
                return self._image
            case Result(call=call, parts=parts) if any(isinstance(inner, Image) for inner in parts):
                return self._text(call) + sum(self._part(inner) for inner in parts)
            case Call(id=id, name=name, raw=raw):
                return self._text(written({"id": id, "name": name, "args": raw}))
            case Result(call=call):
                return self._text(written({"id": call, "output": part.text}))
            case Document(text=text, data=data):
                return self._text(text or data or "")
            case Opaque(body=body):
                return self._text(written(body))


class RooCode:
    """o200k × 1.5 over the words of each message, pictures by the root of their size (systems.md E8)."""

    def __init__(self) -> None:
        self.name = "roo_code"
        self.overhead = 0
        self._count = counter("o200k")

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""
        return ceil(self._count(text) * 1.5)

    def message(self, message: Message) -> int:
        """Tokens of a message; an empty one costs nothing."""
        return ceil(sum(self._part(part) for part in message.parts) * 1.5)

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""
        tools = self.text(written(frame.tools)) if frame.tools else 0
        return sum(self.message(message) for message in frame.system) + tools

    def _part(self, part: Part) -> int:
        match part:
            case Text(text=text) | Thinking(text=text):
                return self._count(text)
            case Image(data=data):
                return ceil(sqrt(len(data))) if data else 300
            case Call(name=name, raw=raw):
                return self._count(f"Tool: {name}\nArguments: {raw}")
            case Result(call=call, error=error):
                mark = " [Error]" if error else ""
                return self._count(f"Tool Result ({call}){mark}\n{_roo_text(part)}")
            case Document() | Opaque():
                return self._count(f"[Unsupported content block: {type(part).__name__.lower()}]")


def _roo_text(result: Result) -> str:
    def line(part: Part) -> str:
        match part:
            case Text(text=text):
                return text
            case Image():
                return "[Image content]"
            case _:
                return f"[Unsupported content block: {type(part).__name__.lower()}]"

    return "\n".join(line(part) for part in result.parts)


def bytes_over_four() -> Estimate:
    """A quarter of the bytes (A1, where there is no tokenizer)."""
    return Estimate("bytes/4", lambda text: len(text.encode("utf-8", "surrogatepass")) / 4, image=100)


def characters_over_four() -> Estimate:
    """A quarter of the characters, calls and results by their JSON, 100 for a picture (C6)."""
    return Estimate("characters/4", lambda text: len(text) / 4, image=100)


def by_script(ascii: float = 0.25, other: float = 1.3) -> Estimate:
    """A quarter token for an ASCII character, 1.3 for any other (D2)."""

    def count(text: str) -> float:
        if text.isascii():
            return len(text) * ascii
        plain = len(text.encode("ascii", "ignore"))
        return plain * ascii + (len(text) - plain) * other

    return Estimate("by script", count, image=100)


_NAMED: dict[str, Callable[[], Meter]] = {
    "bytes/4": bytes_over_four,
    "characters/4": characters_over_four,
    "by script": by_script,
    "roo_code": RooCode,
}


def named(name: str) -> Meter:
    """The meter with this name: a vocabulary or one of the documented estimates."""
    if name in _NAMED:
        return _NAMED[name]()
    if name in FAMILIES:
        return Bpe(name)
    known = ", ".join([*_NAMED, *FAMILIES])
    raise BadSetting(f"There is no meter {name!r}. Known are: {known}.")


FAMILIES = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
}

_counters: dict[str, Callable[[str], int]] = {}


def counter(family: str) -> Callable[[str], int]:
    """A function that counts tokens of one vocabulary; texts seen before are free."""
    if family not in _counters:
        if family not in FAMILIES:
            raise BadSetting(f"There is no vocabulary {family!r}. Known are: {', '.join(FAMILIES)}.")
        _counters[family] = _remembering(FAMILIES[family])
    return _counters[family]


def _remembering(vocabulary: str) -> Callable[[str], int]:
    known: dict[str, int] = {}
    room = _CACHED_CHARACTERS
    encode: Callable[[str], list[int]] | None = None

    def count(text: str) -> int:
        nonlocal encode, room
        number = known.get(text)
        if number is None:
            encode = encode or _encoder(vocabulary)
            number = _counted(encode, text)
            room -= len(text)
            if room < 0:
                known.clear()
                room = _CACHED_CHARACTERS - len(text)
            known[text] = number
        return number

    return count


def _counted(encode: Callable[[str], list[int]], text: str) -> int:
    try:
        return len(encode(text))
    except UnicodeEncodeError:  # lone surrogates are sent as U+FFFD
        return len(encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")))


def _encoder(vocabulary: str) -> Callable[[str], list[int]]:
    from splintr import Tokenizer  # imported late: it loads a vocabulary

    encode: Callable[[str], list[int]] = Tokenizer.from_pretrained(vocabulary).encode_ordinary
    return encode


def written(value: Any) -> str:
    """A value as compact JSON text."""
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):
        import json

        return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, separators=(",", ":"))


class Learned(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the bills taught: billed = scale × counted + overhead.

    The last bill is the baseline and only what is newer is estimated. An edit voids the baseline, never
    the scale and the overhead.
    """

    scale: float = 1.0
    overhead: float = 0.0
    counted: float = 0.0
    """Weighed sum of counted growth behind the scale."""
    grown: float = 0.0
    """Weighed sum of billed growth behind the scale."""
    last: tuple[int, int] | None = None
    """The baseline: what was counted and what was billed for the last request."""

    def billed(self, counted: int, billed: int, *, grew: bool) -> Learned:
        """What is known after one more bill; `grew` if the request only grew since the last one."""
        learned = self._scaled(counted, billed) if grew and self.last else self
        overhead = billed - learned.scale * counted
        if learned.counted == 0 and counted:  # the first bill: all of it is scale, as long as that is sane
            ratio = min(max(billed / counted, 0.5), 4.0)
            learned = msgspec.structs.replace(learned, scale=ratio)
            overhead = billed - ratio * counted
        return msgspec.structs.replace(learned, overhead=overhead, last=(counted, billed))

    def _scaled(self, counted: int, billed: int) -> Learned:
        assert self.last is not None
        more, cost = counted - self.last[0], billed - self.last[1]
        if more < 50 or not 0.3 < cost / more < 6:
            return self
        total, paid = self.counted * 0.9 + more, self.grown * 0.9 + cost
        scale = min(max(paid / total, 0.5), 4.0)
        return msgspec.structs.replace(self, scale=scale, counted=total, grown=paid)

    def voided(self) -> Learned:
        """The same without the baseline: an edit was made since."""
        return msgspec.structs.replace(self, last=None) if self.last else self

    @property
    def offset(self) -> float:
        """What to add to scale × counted."""
        if self.last is None:
            return max(self.overhead, 0.0)
        return self.last[1] - self.scale * self.last[0]
