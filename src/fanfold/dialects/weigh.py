"""Weighing what is sent, in the form it is sent in: what no JSON text can carry is replaced first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.core.errors import BadMessage, BadSetting
from fanfold.core.ids import canonical, digest
from fanfold.core.message import Call, Message, Result, Text, Thinking, Wire
from fanfold.core.record import Frame
from fanfold.core.view import Row, Weight
from fanfold.dialects.dialect import Dialect, leaves_out, prompt_params
from fanfold.dialects.registry import dialect_named
from fanfold.dialects.tools import localize
from fanfold.text.json_text import sendable
from fanfold.tokens.meter import SEALED, Meter, hidden_tokens, is_exact, sure

_FRAMES = 16
"""So many weights of frames are kept at hand."""


class Offer(msgspec.Struct, frozen=True):
    """The frame of one request: tools may wait until they are needed."""

    sent: Frame
    counted: Frame
    """What the model reads of it, and is billed."""
    left_out: tuple[str, ...]
    """What of the recorded frame is not sent, and why."""
    loaded: tuple[str, ...]
    """Those of the waiting tools that are there."""


class Gauge(msgspec.Struct, frozen=True):
    """Weighs rows with a session's meter, in the form its dialect sends them. Each message is encoded once."""

    meter: Meter
    dialect: Dialect
    offer: Callable[[Frame, Sequence[Row]], Offer | None] | None = None
    """The frame that is sent with some rows, where tools wait."""
    frames: dict[Any, Weight] = {}
    """What was weighed before: the frame is weighed for every view."""

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its rows."""
        return self.meter.overhead

    def message(self, message: Message, was: Message | None = None) -> Weight:
        """Tokens, bytes and wire form of a message."""
        wire, data = encoded(self.dialect.wire(message, was))
        own = (was or message).came_over(self.dialect.name)
        judged = message
        if own and was is None:
            tokens, guessed = self._counted(message)
        else:
            # What is sent is counted: a message that is written here as it reads then, be it as several.
            counts = [self._counted(self.dialect.message(body)) for body in wire]
            tokens, guessed = sum(count[0] for count in counts), sum(count[1] for count in counts)
            if own and was is not None and len(wire) == 1:
                # An elided message is judged by all that is sent of it, not by its parts alone.
                pairs = zip(was.parts, message.parts, strict=True)
                parts = tuple(after for before, after in pairs if not leaves_out(before, after))
                judged = Message(message.role, parts, Wire(self.dialect.name, wire[0]))
        return Weight(
            tokens=tokens,
            size=len(data) - 2,
            wire=wire,
            digest=digest(data).encode(),
            faults=self.dialect.faults(judged),
            lost=self.dialect.lost(was or message),
            own=own,
            guessed=guessed,
            hidden=hidden_tokens(message),
        )

    @property
    def exact(self) -> bool:
        """Whether words are counted with the model's own tokenizer."""
        return is_exact(self.meter)

    def _counted(self, message: Message) -> tuple[int, int]:
        """Its parts, and what it carries besides; and how much of that an exact meter guesses."""
        besides = unread(message, lambda message: self.dialect.wire(replace(message, wire=None)))
        tokens = self.meter.message(message) + (self.meter.text(besides) if besides else 0)
        return tokens, max(0, tokens - sure(self.meter, message)) if is_exact(self.meter) else 0

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""
        return self.meter.text(text)

    def params(self, params: Mapping[str, Any]) -> Weight:
        """Tokens and bytes of the parameters of a request: the model reads schemas, the provider counts all bytes."""
        _, data = encoded((dict(params),))
        schemas = prompt_params(params)
        tokens = self.meter.text(encoded((schemas,))[1].decode()) if schemas else 0
        return Weight(tokens, len(data) - 2, guessed=tokens)

    def request(self, request: Mapping[str, Any], rows: Iterable[Row]) -> int:
        """Bytes of a whole request. What stands in it just as in a row was written before, and is not written again."""
        bodies = request.get(self.dialect.field)
        if not isinstance(bodies, list):
            return len(encoded((request,))[1]) - 2
        known = {id(row.weight.wire[0]): row.weight.size for row in rows if len(row.weight.wire) == 1}
        new = tuple(body for body in bodies if id(body) not in known)
        written = sum(known.get(id(body), 0) for body in bodies) + len(encoded(new)[1]) - 2
        commas = max(0, len(bodies) - 1) - max(0, len(new) - 1)
        return written + commas + len(encoded(({**request, self.dialect.field: []},))[1]) - 2

    def malformed(self, message: Message) -> str | None:
        """Why a message cannot be sent in the wire form that it carries: it is misread, or breaks a rule by itself."""
        reason, dialect = self.misread(message), self._reader(message)
        return reason if reason or dialect is None else next(map(str, dialect.faults(message)), None)

    def misread(self, message: Message) -> str | None:
        """Why the wire form that a message carries is none, or not its own; None if all is well.

        A dialect that nobody here speaks is never sent, and so not read.
        """
        dialect = self._reader(message)
        return None if dialect is None else misread(message, dialect)

    def _reader(self, message: Message) -> Dialect | None:
        """Who reads the wire form of a message, if anybody does."""
        if message.wire is None or message.came_over(self.dialect.name):
            return self.dialect
        try:
            return dialect_named(message.wire.dialect)
        except BadSetting:
            return None

    def frame(self, frame: Frame, rows: Sequence[Row] = ()) -> Weight:
        """Tokens and bytes of system prompt and tools, as far as these rows need them."""
        offer = self.offer(frame, rows) if self.offer is not None else None
        key = frame.id if offer is None else f"{offer.sent.id} {offer.counted.id}"
        if key not in self.frames:
            if len(self.frames) >= _FRAMES:
                self.frames.clear()
            self.frames[key] = self._weigh_frame(frame, offer)
        return self.frames[key]

    def _weigh_frame(self, frame: Frame, offer: Offer | None) -> Weight:
        sent = localize(frame, self.dialect.name)[0] if offer is None else offer.sent
        _, data = encoded((self.dialect.encode(sent, (), {}),))
        tokens = self.meter.frame(sent if offer is None else offer.counted)
        return Weight(tokens, len(data), (), sent.id.encode(), guessed=tokens)


def misread(message: Message, dialect: Dialect) -> str | None:
    """Why a message does not say what this dialect reads from its wire form; None if it does, or has none."""
    if message.wire is None:
        return None
    try:
        read = dialect.message(message.wire.body, "wire.body")
    except BadMessage as problem:
        return str(problem).rstrip(".")
    # NaN equals nothing, itself included, so parts that differ are compared as they are written, too.
    same = read.parts == message.parts or canonical(read.parts) == canonical(message.parts)
    return None if same and read.role == message.role else "its wire form says something else than its parts"


def encoded(wire: tuple[Any, ...]) -> tuple[tuple[Any, ...], bytes]:
    """The wire form and its bytes; what no JSON text can carry is replaced first."""
    try:
        data = msgspec.json.encode(wire)
        odd = b"null" in data and _is_odd(wire)  # what JSON has no word for is written as null
    except UnicodeEncodeError:
        odd = True
    except OverflowError:
        import json

        odd, data = _is_odd(wire), json.dumps(wire, ensure_ascii=False).encode()
    return encoded(tuple(sendable(body) for body in wire)) if odd else (wire, data)


def _is_odd(value: Any) -> bool:
    """Whether a value holds NaN or Infinity."""
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, dict):
        return any(map(_is_odd, value.values()))
    return isinstance(value, list | tuple) and any(map(_is_odd, value))


def sendable_frame(frame: Frame) -> Frame:
    """The frame as JSON can carry it."""
    try:
        odd = b"null" in msgspec.json.encode(frame) and _is_odd(frame.tools)
    except (UnicodeEncodeError, OverflowError):
        odd = True
    return msgspec.convert(sendable(msgspec.to_builtins(frame)), Frame) if odd else frame


_FEW = 300
"""Characters of ids, kinds and roles that a message may well have besides."""


def unread(message: Message, plainly: Callable[[Message], Sequence[Any]]) -> str:
    """What a message that came over the wire carries beside its parts; `plainly` writes these alone."""
    if message.wire is None or _only_says(message, message.wire.body):
        return ""
    same: set[int] = set()  # most texts of the body are the very ones that the parts hold
    for part in message.parts:
        for one in part.parts if type(part) is Result else (part,):
            if type(one) is Text or type(one) is Thinking:
                same.add(id(one.text))
            elif type(one) is Call:
                same.add(id(one.raw))
    strange = [text for text in _texts(message.wire.body) if id(text) not in same]
    if sum(map(len, strange)) <= _FEW:
        return ""
    read = _texts(msgspec.to_builtins(message.parts))
    told = {*read, *_texts(plainly(message)), *_texts([_parsed(text) for text in read])}
    found = "\n".join(text for text in strange if text not in told)
    return found if len(found) > _FEW else ""


def _only_says(message: Message, body: Any) -> bool:
    """Whether role and text are all that a message carries, as it is with most."""
    said = message.parts[0] if len(message.parts) == 1 else None
    if type(said) is not Text or type(body) is not dict or len(body) != 2:
        return False
    return "role" in body and body.get("content") is said.text


def _texts(value: Any) -> list[str]:
    """Every text in a value, but for what is sealed."""
    found: list[str] = []
    todo = [value]
    while todo:
        one = todo.pop()
        kind = type(one)
        if kind is str:
            found.append(one)
        elif kind is dict:
            todo += [inner for key, inner in one.items() if key not in SEALED]
        elif kind is list or kind is tuple:
            todo += one
    return found


def _parsed(text: str) -> Any:
    """What a text holds that is JSON: some dialects give a tool's output as data."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def framed(frame: Frame, dialect: Dialect) -> tuple[Frame, tuple[str, ...]]:
    """The frame as a dialect takes it, and what of it is not sent."""
    sent, left_out = localize(sendable_frame(frame), dialect.name)
    told = [(f"system[{i}]", message, _legal(message, dialect)) for i, message in enumerate(sent.system)]
    odd = [f"{where}: only its words are sent" for where, was, now in told if now is not was]
    if not odd:
        return sent, left_out
    kept = tuple(message for _, _, message in told if message is not None)
    return replace(sent, system=kept), (*left_out, *odd)


def _legal(message: Message, dialect: Dialect) -> Message | None:
    """The message as it is, its words alone where its wire form breaks a rule, or nothing if it has none."""
    body = message.wire.body if message.came_over(dialect.name) and message.wire else None
    match body:
        case {"type": "text", "text": str(text)} if not text.strip():
            return None
        case {"role": _} if dialect.faults(message):
            return Message("system", (Text(message.text),)) if message.text.strip() else None
        case _:
            return message
