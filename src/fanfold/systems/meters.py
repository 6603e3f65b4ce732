"""How the five documented systems count tokens: their estimates as meters."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

from fanfold.core.errors import BadArguments, BadSetting
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.core.record import Frame
from fanfold.text.cutting import bytes_of
from fanfold.text.json_text import to_json
from fanfold.tokens.meter import Meter
from fanfold.tokens.vocabulary import counter


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
                return ceil(sqrt(len(data))) if data else 300
            case Call(name=name):
                try:
                    arguments = to_json(part.args)
                except (BadArguments, TypeError, ValueError):
                    arguments = "[serialization error]"
                return self._count(f"Tool: {name}\nArguments: {arguments}")
            case Result():
                head = [f"Tool Result ({part.call})", *(["[Error]"] if part.error else [])]
                return self._count("\n".join([*head, *map(_roo_line, part.parts)]))
            case Document() | Opaque():
                return self._count(_roo_line(part))


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


METERS: dict[str, Callable[[], Meter]] = {
    "bytes/4": bytes_over_four,
    "characters/4": characters_over_four,
    "by script": by_script,
    "roo_code": RooCode,
}
"""By the names that settings use."""
