"""Identity: an entry's id is the hash of its parent's id and of everything recorded in it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from fanfold.core.message import Call, Document, Image, Message, Opaque, Part, Result, Text, Thinking

_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_IN_ORDER = msgspec.msgpack.Encoder()
_SURROGATES, _BIG_INTEGER, _ODD_KEYS = 1, 2, 3


def canonical(value: Any) -> bytes:
    """One byte string per value: key order does not matter, everything else does.

    Lone surrogates and integers beyond 64 bits have a form of their own, so neither is lost.
    """
    try:
        return _ENCODER.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _ENCODER.encode(_spell(msgspec.to_builtins(value, str_keys=True), _ENCODER))


def pack(value: Any) -> bytes:
    """The same with the keys of every dict in their order: for keeping, not for comparing."""
    try:
        return _IN_ORDER.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return _IN_ORDER.encode(_spell(msgspec.to_builtins(value, str_keys=True), _IN_ORDER))


def unpack(data: bytes) -> Any:
    """The value that `canonical` or `packed` was made from, as plain dicts, lists and strings."""
    return msgspec.msgpack.decode(data, ext_hook=read_extension)


def digest(*chunks: bytes) -> str:
    """A short hash of byte strings."""
    hashed = blake2b(digest_size=16)
    for chunk in chunks:
        hashed.update(len(chunk).to_bytes(8, "big"))
        hashed.update(chunk)
    return hashed.hexdigest()


def body(message: Message) -> bytes:
    """Everything recorded in a message, as bytes."""
    if message.wire is not None:
        return canonical((message.role, message.wire.dialect, message.wire.body))
    return canonical((message.role, message.parts))


def entry_id(parent: str | None, message: Message) -> str:
    """The id of this message in this place."""
    return digest((parent or "").encode(), body(message))


def former_echo(parent: str | None, message: Message) -> str:
    """The echo that 0.1 made (`core/echo.py` has the present one): stubs and exports of that time are known by it.

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


def _spell(value: Any, encoder: msgspec.msgpack.Encoder) -> Any:
    """The value with a form of its own for what msgpack cannot write: odd text, big integers, odd keys."""
    match value:
        case str():
            if _is_unicode(value):
                return value
            return msgspec.msgpack.Ext(_SURROGATES, value.encode("utf-8", "surrogatepass"))
        case bool():
            return value
        case int() if not -(2**63) <= value < 2**64:
            return msgspec.msgpack.Ext(_BIG_INTEGER, format(value, "x").encode())
        case dict() if _is_unicode("".join(value)):
            return {k: _spell(v, encoder) for k, v in value.items()}
        case dict():  # keys must be text: write the pairs instead
            pairs = value.items() if encoder is _IN_ORDER else sorted(value.items())
            spelled = [[_spell(k, encoder), _spell(v, encoder)] for k, v in pairs]
            return msgspec.msgpack.Ext(_ODD_KEYS, encoder.encode(spelled))
        case list() | tuple():
            return [_spell(item, encoder) for item in value]
        case _:
            return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_extension(code: int, data: memoryview) -> Any:
    """What `packed` spells in a form of its own: odd text, big integers, dicts with odd keys."""
    raw = bytes(data)
    if code == _SURROGATES:
        return raw.decode("utf-8", "surrogatepass")
    if code == _BIG_INTEGER:
        return int(raw, 16)
    return dict(unpack(raw))
