"""Meters: what a message costs in tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil, inf
from typing import Any, Protocol

from fanfold.core.errors import BadArguments, BadSetting, unknown
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.core.record import Frame
from fanfold.text.cutting import bytes_of
from fanfold.text.json_text import to_json
from fanfold.tokens import media
from fanfold.tokens.charges import Charges, charges_for, declared, typed
from fanfold.tokens.vocabulary import FAMILIES, counter, exact

SEALED = ("encrypted_content", "signature", "thoughtSignature", "thought_signature", "data")
"""Fields of a provider's block that are written for machines: not read by the model letter by letter."""

_SEALED_CHARACTERS = 5.5
"""Characters of encrypted base64 to one token of the reasoning in it."""


class Meter(Protocol):
    """Counts messages. Anything with these members is a meter.

    One that also has `exact = True` counts words with the model's own tokenizer: bills hardly change what it says.
    """

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
    """The count of a vocabulary, with what the provider charges beside the words. Nothing is counted twice."""

    def __init__(self, family: str = "o200k", charges: Charges | None = None) -> None:
        self.family = family
        self.name = family or "unknown"
        self.charges = charges or charges_for("", family)
        self.overhead = self.charges.request
        self.exact = exact(family)
        """Whether the words are counted as the provider counts them."""
        self._count = counter(family)

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""
        return ceil(self._count(text))

    def message(self, message: Message) -> int:
        """Tokens of a message: its frame, then its parts."""
        return self.charges.message + ceil(sum(self._part(part) for part in message.parts))

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""
        return sum(self.message(message) for message in frame.system) + self._tools(frame.tools)

    def _tools(self, tools: tuple[Any, ...]) -> int:
        if not tools:
            return 0
        listed = list(declared(tools))
        shown = (typed(tool) for tool in listed) if self.charges.typed else (to_json(tool) for tool in tools)
        words = sum(self._count(text) for text in shown)
        return self.charges.tools + ceil(words) + self.charges.tool * len(listed)

    def _part(self, part: Part) -> float:
        match part:
            case Text(text=text) | Thinking(text=text):
                return self._count(text)
            case Call(name=name, raw=raw):
                return self._count(name) + self._count(raw) + self.charges.call
            case Result(parts=parts):
                return self.charges.result + sum(self._part(inner) for inner in parts)
            case Image(data=data):
                return self.charges.image(media.size_of(data))
            case Document():
                return self._document(part)
            case Opaque(body=body):
                return self._opaque(body)

    def _document(self, document: Document) -> float:
        if document.text is not None:
            return self._count(document.text)
        return self.charges.page * media.pages_of(document.data)

    def _opaque(self, body: Any) -> float:
        """A block of the provider's own: sounds by their length, sealed reasoning by its size, the rest as JSON."""
        sound = _sound(body)
        if sound is not None:
            return self.charges.second * media.seconds_of(*sound)
        if not isinstance(body, Mapping):
            return self._count(to_json(body))
        sealed = {key: value for key in SEALED if isinstance(value := body.get(key), str)}
        rest = {key: value for key, value in body.items() if key not in sealed}
        hidden = sum(map(len, sealed.values())) / _SEALED_CHARACTERS
        return self._count(to_json(rest)) + hidden


def _sound(body: Any) -> tuple[str, str] | None:
    """The base64 and kind of a sound or film in a provider's block."""
    for key in ("input_audio", "inlineData", "inline_data"):
        held = body.get(key) if isinstance(body, Mapping) else None
        if isinstance(held, Mapping) and isinstance(held.get("data"), str):
            return held["data"], str(
                held.get("mimeType") or held.get("mime_type") or held.get("format") or ""
            )
    return None


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
        tools = ceil(self._text(to_json(frame.tools))) if frame.tools else 0
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
                return self._text(to_json({"id": id, "name": name, "args": raw}))
            case Result(call=call):
                return self._text(to_json({"id": call, "output": part.text}))
            case Document(text=text, data=data):
                return self._text(text or data or "")
            case Opaque(body=body):
                return self._text(to_json(body))


class Whole:
    """A stranger's meter, held to whole tokens: what it counts is recorded, and must be read again."""

    def __init__(self, meter: Meter) -> None:
        self.name = str(meter.name)
        self.exact = is_exact(meter)
        self._meter = meter

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its messages."""
        return self._whole(self._meter.overhead)

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""
        return self._whole(self._meter.text(text))

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        return self._whole(self._meter.message(message))

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""
        return self._whole(self._meter.frame(frame))

    def _whole(self, count: float) -> int:
        if isinstance(count, int | float) and not isinstance(count, bool) and 0 <= count < inf:
            return ceil(count)
        raise BadSetting(f"The meter {self.name} counts tokens, 0 or more, not {count!r}.")


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
        tools = self.text(to_json(frame.tools)) if frame.tools else 0
        return sum(self.message(message) for message in frame.system) + tools

    def _part(self, part: Part) -> float:
        match part:
            case Text(text=text) | Thinking(text=text):
                return self._count(text)
            case Image(data=data):
                return media.root(data) if data else 300
            case Call(name=name):
                return self._count(f"Tool: {name}\nArguments: {_roo_arguments(part)}")
            case Result():
                return self._count(_roo_result(part))
            case Document() | Opaque():
                return self._count(_roo_line(part))


def _roo_arguments(call: Call) -> str:
    try:
        return to_json(call.args)
    except (BadArguments, TypeError, ValueError):
        return "[serialization error]"


def _roo_result(result: Result) -> str:
    head = [f"Tool Result ({result.call})", *(["[Error]"] if result.error else [])]
    return "\n".join([*head, *map(_roo_line, result.parts)])


def _roo_line(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case Image():
            return "[Image content]"
        case Opaque(body={"type": str(kind)}):
            return f"[Unsupported content block: {kind}]"
        case _:
            return f"[Unsupported content block: {type(part).__name__.lower()}]"


def is_exact(meter: Meter) -> bool:
    """Whether a meter counts words with the model's own tokenizer."""
    return getattr(meter, "exact", False) is True


def sure(meter: Meter, message: Message) -> int:
    """Tokens of the words in a message: what an exact meter knows. Thinking is not always read again."""
    return sum(meter.text(text) for part in message.parts for text in _words(part))


def hidden(message: Message) -> int:
    """Tokens of reasoning that only its provider can read, by its length."""
    sealed = sum(len(part.signature or "") for part in message.parts if isinstance(part, Thinking))
    return ceil(sealed / _SEALED_CHARACTERS)


def _words(part: Part) -> Iterator[str]:
    match part:
        case Text(text=text):
            yield text
        case Call(name=name, raw=raw):
            yield from (name, raw)
        case Result(parts=parts):
            for inner in parts:
                yield from _words(inner)
        case Document(text=str(text)):
            yield text


def bytes_over_four() -> Estimate:
    """A quarter of the bytes (A1, where there is no tokenizer)."""
    return Estimate("bytes/4", lambda text: bytes_of(text) / 4, image=100)


def characters_over_four() -> Estimate:
    """A quarter of the characters, calls and results by their JSON, 100 for a picture (C6)."""
    return Estimate("characters/4", lambda text: len(text) / 4, image=100)


def by_script(ascii: float = 0.25, other: float = 1.3) -> Estimate:
    """A quarter token for an ASCII character, 1.3 for any other (D2)."""
    if not (ascii > 0 and other > 0):
        raise BadSetting(f"A character weighs above 0 tokens, not {ascii} in ASCII and {other} beyond.")
    return Estimate("by script", lambda text: weighed_by_script(text, ascii, other), image=100)


def weighed_by_script(text: str, ascii: float = 0.25, other: float = 1.3) -> float:
    """What a text weighs if its characters weigh so much each, in ASCII and beyond."""
    if text.isascii():
        return len(text) * ascii
    plain = len(text.encode("ascii", "ignore"))
    return plain * ascii + (len(text) - plain) * other


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
    if name and name in FAMILIES:
        return Bpe(name)
    raise unknown("meter", name, (*_NAMED, *filter(None, FAMILIES)))


def for_model(family: str = "", provider: str = "", name: str = "") -> Meter:
    """The meter for a model, from its tokenizer's family, who bills it, and its name."""
    family = family if family in FAMILIES else ""
    return Bpe(family, charges_for(provider, family, name))
