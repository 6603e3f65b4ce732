"""The echo: what a client repeats of a message when it re-sends its history, and what is the same to it.

Thinking, cache marks, empty and null fields do not count; arguments count by value; texts that stand side by side are
one text, and a result that is sent twice is one. An echo is 40 digits long; one of 0.1 had 32 (`former_echo`), and
what was erased under that one is still known by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from fanfold.core.ids import canonical, digest
from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking

Atom = tuple[Any, ...]
"""A piece of a message that is compared as one: its kind, and what is in it. Values are bytes, for True is not 1."""
Order = Literal["same", "first is shorter", "second is shorter", "other"]
_VERSION = "02"
_LENGTH = 40
_NOTHING = Text("")
_IDLE = frozenset({"id", "status"})
"""Fields of a provider's own block that clients leave out."""


def entry_echo(parent: str | None, message: Message) -> str:
    """The hash of what clients repeat, so that a re-sent history is recognised."""
    above, told = (parent or "").encode(), echo_bytes(message)
    return _VERSION + blake2b(len(above).to_bytes(8, "big") + above + told, digest_size=19).hexdigest()


def is_former(echo: str) -> bool:
    """Whether an echo was made by 0.1."""
    return len(echo) != _LENGTH


def echo_bytes(message: Message) -> bytes:
    """What a client repeats of a message."""
    return canonical((message.role, *atoms(message)))


def atoms(message: Message) -> list[Atom]:
    """What a client repeats of a message, piece by piece; none where it only thinks."""
    return _pieces(message.parts, message.role)


def _pieces(parts: Sequence[Part], role: str) -> list[Atom]:
    told = [atom for part in parts if (atom := _atom(part, role)) is not None]
    return join((), told) if len(told) > 1 else told


def is_told(part: Part) -> bool:
    """Whether clients repeat anything of a part."""
    return not isinstance(part, Thinking) and part != _NOTHING


def join(before: Iterable[Atom], after: Iterable[Atom]) -> list[Atom]:
    """The pieces of messages in a row: texts of one role become one, and a result counts once."""
    joined, answered = list(before), list[Atom]()
    for atom in after:
        last = joined[-1] if joined else ("",)
        if atom[0] == "text" == last[0] and atom[1] == last[1]:
            joined[-1] = ("text", atom[1], last[2] + atom[2])
            continue
        if atom[0] == "result":
            answered = answered or _last_results(joined)
            if atom in answered:
                continue
            answered.append(atom)
        else:
            answered = []
        joined.append(atom)
    return joined


def _last_results(joined: Sequence[Atom]) -> list[Atom]:
    start = len(joined)
    while start and joined[start - 1][0] == "result":
        start -= 1
    return list(joined[start:])


def compare(first: Sequence[Atom], second: Sequence[Atom]) -> Order:
    """Whether two rows of pieces are the same, or one is the beginning of the other."""
    for at, (one, other) in enumerate(zip(first, second, strict=False)):
        if one == other:
            continue
        if one[0] != "text" or other[:2] != one[:2]:
            return "other"
        if at == len(first) - 1 and other[2].startswith(one[2]):
            return "first is shorter"
        if at == len(second) - 1 and one[2].startswith(other[2]):
            return "second is shorter"
        return "other"
    if len(first) == len(second):
        return "same"
    return "first is shorter" if len(first) < len(second) else "second is shorter"


def _atom(part: Part, role: str) -> Atom | None:
    match part:
        case Text(text=text):
            return ("text", role, text) if text else None
        case Call(id=id, name=name, raw=raw):
            return ("call", given_id(id, name), name, canonical(read_arguments(raw)))
        case Result(call=call, parts=parts, error=error, name=name):
            return ("result", given_id(call, name) or name, error, *_pieces(parts, ""))
        case Opaque(body=dict(body)):
            known = {key: value for key, value in body.items() if key not in _IDLE}
            return ("opaque", canonical(echo_part(Opaque(part.dialect, known))))
        case Opaque():
            return ("opaque", canonical(echo_part(part)))
    return echo_part(part)


def given_id(id: str, name: str | None) -> str:
    """The id of a call, unless it was made from the name: then it only counts the calls of its message."""
    return "" if name and (id == name or id.startswith(f"{name}#")) else id


def former_echo(parent: str | None, message: Message) -> str:
    """The echo that 0.1 made: stubs and exports of that time are known by it.

    A whole number is the same written as 1.0 and as 1, for clients in JavaScript do not tell them apart.
    """
    told = canonical((message.role, *filter(None, map(echo_part, message.parts))))
    return digest((parent or "").encode(), told)


def echo_part(part: Part) -> tuple[Any, ...] | None:
    """What a client repeats of a part: no thinking, no cache marks, no empty or null fields."""
    match part:
        case Text(text=text):
            return ("text", text) if text else None
        case Call(id=id, name=name, raw=raw):
            return ("call", id, name, read_arguments(raw))
        case Result(call=call, parts=parts, error=error):
            return ("result", call, error, *filter(None, map(echo_part, parts)))
        case Image(media=media, data=data, url=url):
            return ("image", media, data, url)
        case Document(media=media, data=data, url=url, text=text):
            return ("document", media, data, url, text)
        case Opaque(body=inner):
            return ("opaque", _without_marks(inner))
        case Thinking():
            return None


def read_arguments(raw: str) -> Any:
    """The arguments of a call by value: clients write their JSON with other spaces, and that is the same call."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return raw


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_marks(v) for k, v in value.items() if v is not None and k != "cache_control"}
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _read_number(literal: str) -> float | int:
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        raise ValueError("out of range")
    return int(number) if number.is_integer() else number


_DECODER = msgspec.json.Decoder(float_hook=_read_number)
