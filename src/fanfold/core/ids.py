"""Identity: an entry's id is the hash of its parent's id and of everything recorded in it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from fanfold.core.message import Message

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
    told = b"".join([len(chunk).to_bytes(8, "big") + chunk for chunk in chunks])
    return blake2b(told, digest_size=16).hexdigest()


def body(message: Message) -> bytes:
    """Everything recorded in a message, as bytes."""
    if message.wire is not None:
        return canonical((message.role, message.wire.dialect, message.wire.body))
    return canonical((message.role, message.parts))


def entry_id(parent: str | None, message: Message) -> str:
    """The id of this message in this place."""
    return digest((parent or "").encode(), body(message))


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
