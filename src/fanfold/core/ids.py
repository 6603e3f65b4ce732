"""Identity: an entry's id is the hash of its parent's id and of everything recorded in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any

import msgspec

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_IN_ORDER = msgspec.msgpack.Encoder()
_SURROGATES, _BIG_INTEGER, _ODD_KEYS = 1, 2, 3
Pair = tuple[str, Any]
Order = Callable[[Iterable[Pair]], list[Pair]]


def canonical(value: Any) -> bytes:
    """One byte string per value: key order does not matter, everything else does.

    Lone surrogates and integers beyond 64 bits have a form of their own, so neither is lost.
    """
    try:
        return _ENCODER.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _ENCODER.encode(_spelled(msgspec.to_builtins(value, str_keys=True)))


def packed(value: Any) -> bytes:
    """The same with the keys of every dict in their order: for keeping, not for comparing."""
    try:
        return _IN_ORDER.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _IN_ORDER.encode(_spelled(msgspec.to_builtins(value, str_keys=True), _as_they_are))


def restored(data: bytes) -> Any:
    """The value that `canonical` or `packed` was made from, as plain dicts, lists and strings."""
    return msgspec.msgpack.decode(data, ext_hook=read_extension)


def digest(*chunks: bytes) -> str:
    """A short hash of byte strings."""
    framed = [piece for chunk in chunks for piece in (len(chunk).to_bytes(8, "big"), chunk)]
    return blake2b(b"".join(framed), digest_size=16).hexdigest()


def body(message: Message) -> bytes:
    """Everything recorded in a message, as bytes."""
    if message.wire is not None:
        return canonical((message.role, message.wire.dialect, message.wire.body))
    return canonical((message.role, message.parts))


def entry_id(parent: str | None, message: Message) -> str:
    """The id of this message in this place."""
    return digest((parent or "").encode(), body(message))


def entry_echo(parent: str | None, message: Message) -> str:
    """The hash of what clients repeat, so that a re-sent history is recognised."""
    return digest((parent or "").encode(), echoed(message))


def echoed(message: Message) -> bytes:
    """What a client repeats of a message: no thinking, no cache marks, no empty or null fields.

    A whole number is the same written as 1.0 and as 1, for clients in JavaScript do not tell them apart.
    """
    forms = map(_echoed_part, message.parts)
    return canonical((message.role, *(form for form in forms if form is not None)))


def _echoed_part(part: Part) -> tuple[Any, ...] | None:
    match part:
        case Text(text=text):
            return ("text", text) if text else None
        case Call(id=id, name=name, raw=raw):
            return ("call", id, name, _arguments(raw))
        case Result(call=call, parts=parts, error=error):
            return (
                "result",
                call,
                error,
                *(form for inner in parts if (form := _echoed_part(inner)) is not None),
            )
        case Image(media=media, data=data, url=url):
            return ("image", media, data, url)
        case Document(media=media, data=data, url=url, text=text):
            return ("document", media, data, url, text)
        case Opaque(body=inner):
            return ("opaque", _without_marks(inner))
        case Thinking():
            return None


def _arguments(raw: str) -> Any:
    """Clients re-write the JSON of arguments with other spaces; that is the same call."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return raw


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_marks(v) for k, v in value.items() if v is not None and k != "cache_control"}
    if isinstance(value, list):
        return [_without_marks(item) for item in value]
    return _whole(value) if isinstance(value, float) else value


def _whole(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _read_whole(literal: str) -> float | int:
    number = float(literal)
    if number in (float("inf"), float("-inf")):
        raise ValueError("out of range")
    return _whole(number)


_DECODER = msgspec.json.Decoder(float_hook=_read_whole)


def _as_they_are(pairs: Iterable[Pair]) -> list[Pair]:
    return list(pairs)


def _spelled(value: Any, order: Order = sorted) -> Any:
    match value:
        case str():
            return value if value.isascii() else _spelled_text(value)
        case bool():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else _big(value)
        case dict():
            return _spelled_dict(value, order)
        case list() | tuple():
            return [_spelled(item, order) for item in value]
        case _:
            return value


def _big(value: int) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(_BIG_INTEGER, format(value, "x").encode())


def _spelled_text(text: str) -> Any:
    try:
        text.encode()
    except UnicodeEncodeError:
        return msgspec.msgpack.Ext(_SURROGATES, text.encode("utf-8", "surrogatepass"))
    return text


def _spelled_dict(value: dict[str, Any], order: Order) -> Any:
    try:
        "".join(value).encode()
    except UnicodeEncodeError:  # msgpack keys must be text: write the pairs instead
        pairs = [[_spelled(k, order), _spelled(v, order)] for k, v in order(value.items())]
        return msgspec.msgpack.Ext(
            _ODD_KEYS, _IN_ORDER.encode(pairs) if order is _as_they_are else canonical(pairs)
        )
    return {k: _spelled(v, order) for k, v in value.items()}


def read_extension(code: int, data: memoryview) -> Any:
    """What `packed` spells in a form of its own: odd text, big integers, dicts with odd keys."""
    raw = bytes(data)
    if code == _SURROGATES:
        return raw.decode("utf-8", "surrogatepass")
    if code == _BIG_INTEGER:
        return int(raw, 16)
    return dict(restored(raw))
