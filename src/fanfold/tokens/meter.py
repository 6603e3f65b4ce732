"""Meters: what a message costs in tokens."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import ceil, inf
from typing import Any, Protocol

from fanfold.core.errors import BadSetting, unknown
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking
from fanfold.core.record import Frame
from fanfold.text.json_text import to_json
from fanfold.tokens import media
from fanfold.tokens.charges import Charges, charges_for, declarations, type_text
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
        return self.charges.message + ceil(sum(map(self._part, message.parts)))

    def frame(self, frame: Frame) -> int:
        """Tokens of system prompt and tools."""
        system = sum(map(self.message, frame.system))
        if not frame.tools:
            return system
        listed = list(declarations(frame.tools))
        shown = map(type_text, listed) if self.charges.typed else map(to_json, frame.tools)
        words = ceil(sum(map(self._count, shown)))
        return system + self.charges.tools + words + self.charges.tool * len(listed)

    def _part(self, part: Part) -> float:
        match part:
            case Text(text=text) | Thinking(text=text):
                return self._count(text)
            case Call(name=name, raw=raw):
                return self._count(name) + self._count(raw) + self.charges.call
            case Result(parts=parts):
                return self.charges.result + sum(map(self._part, parts))
            case Image(data=data):
                return self.charges.image(media.picture_size(data))
            case Document(text=str(text)):
                return self._count(text)
            case Document(data=data):
                return self.charges.page * media.pages_of(data)
            case Opaque(body=body):
                return self._opaque(body)

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


class Whole:
    """Somebody else's meter, held to whole tokens: what it counts is recorded, and must be read again."""

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


def is_exact(meter: Meter) -> bool:
    """Whether a meter counts words with the model's own tokenizer."""
    return getattr(meter, "exact", False) is True


def sure(meter: Meter, message: Message) -> int:
    """Tokens of the words in a message: what an exact meter knows. Thinking is not always read again."""
    words: list[str] = []
    for part in message.parts:
        for one in part.parts if isinstance(part, Result) else (part,):
            match one:
                case Text(text=text) | Document(text=str(text)):
                    words.append(text)
                case Call(name=name, raw=raw):
                    words += (name, raw)
    return sum(map(meter.text, words))


def hidden_tokens(message: Message) -> int:
    """Tokens of reasoning that only its provider can read, by its length."""
    signatures = [part.signature or "" for part in message.parts if type(part) is Thinking]
    return ceil(sum(map(len, signatures)) / _SEALED_CHARACTERS) if signatures else 0


_ELSEWHERE = dict.fromkeys(("bytes/4", "characters/4", "by script", "roo_code"), "fanfold.systems.meters")
"""Meters of other systems, and the module whose `METERS` has them: imported when one is asked for."""


def named(name: str) -> Meter:
    """The meter with this name: a vocabulary or one of the documented estimates."""
    if name in _ELSEWHERE:
        meter: Meter = import_module(_ELSEWHERE[name]).METERS[name]()
        return meter
    if name and name in FAMILIES:
        return Bpe(name)
    raise unknown("meter", name, (*_ELSEWHERE, *filter(None, FAMILIES)))


def for_model(family: str = "", provider: str = "", name: str = "") -> Meter:
    """The meter for a model, from its tokenizer's family, who bills it, and its name."""
    family = family if family in FAMILIES else ""
    return Bpe(family, charges_for(provider, family, name))
