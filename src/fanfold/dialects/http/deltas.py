"""A streamed reply in steps that every dialect has, whatever its events are called.

A dialect's reader makes steps of its events, and a dialect's writer makes events of steps. So a stream of one dialect
becomes a stream of another, event by event, and a whole reply becomes a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol

import msgspec

from fanfold.core.ids import digest
from fanfold.core.message import Call, Message, Part, Text, Thinking
from fanfold.core.record import TokenUsage
from fanfold.dialects.dialect import Reply
from fanfold.dialects.http.errors import Trouble
from fanfold.dialects.media import note
from fanfold.dialects.registry import module_of
from fanfold.tokens.usage import billed_usage

Stop = Literal["end", "calls", "length", "refusal", "pause", "sequence"]
"""Why a reply ends: it is finished; its calls wait; it is too long; the provider objects; its own tools need time; a
stop sequence came."""
STOP_WORDS: dict[str, Stop] = {
    "end_turn": "end",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "compaction": "pause",
    "stop_sequence": "sequence",
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refusal",
    "completed": "end",
    "max_output_tokens": "length",
    "incomplete": "length",
    "STOP": "end",
    "MAX_TOKENS": "length",
    "refusal": "refusal",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "LANGUAGE": "refusal",
    "IMAGE_SAFETY": "refusal",
}
"""What the words of all providers mean."""


def read_stop(word: Any) -> Stop:
    """What a provider's word for the end of a reply means; an unknown one is a plain end."""
    said = word if isinstance(word, str) else ""
    return "refusal" if said.startswith("blocked") else STOP_WORDS.get(said, "end")


def known_usage(bill: Any) -> TokenUsage:
    """A usage in any provider's words; nothing where there is none."""
    return billed_usage(bill) or TokenUsage()


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """A reply begins."""

    id: str
    model: str
    created: int = 0
    """Seconds since 1970."""
    usage: TokenUsage = TokenUsage()
    """What is known of the bill by now."""


class TextDelta(msgspec.Struct, frozen=True):
    """More words. Steps of the same `place` belong to the same block."""

    place: int
    text: str


class ThoughtDelta(msgspec.Struct, frozen=True):
    """More of the model's reasoning."""

    place: int
    text: str


class Signature(msgspec.Struct, frozen=True):
    """What a provider wants back with the reasoning of this place; alone, it is reasoning that is hidden."""

    place: int
    text: str


class CallStart(msgspec.Struct, frozen=True):
    """A call begins."""

    place: int
    id: str
    name: str


class CallDelta(msgspec.Struct, frozen=True):
    """More of a call's arguments."""

    place: int
    text: str


class BlockEnd(msgspec.Struct, frozen=True):
    """Nothing more comes at this place."""

    place: int


class Closing(msgspec.Struct, frozen=True):
    """The reply is whole."""

    stop: Stop = "end"
    usage: TokenUsage = TokenUsage()


class Fault(msgspec.Struct, frozen=True):
    """The reply broke off, and the provider said why."""

    trouble: Trouble


Delta = Opening | TextDelta | ThoughtDelta | Signature | CallStart | CallDelta | BlockEnd | Closing | Fault


class StreamWriter(Protocol):
    """Writes steps as the events of a dialect."""

    def write(self, delta: Delta) -> bytes:
        """The events that tell this step; nothing where it is told later."""


class StreamReader(Protocol):
    """Reads the events of a dialect as steps."""

    def read(self, event: Any) -> list[Delta]:
        """The steps that one event tells, given as its JSON value; an unknown event tells none."""

    def close(self) -> list[Delta]:
        """The stream is over; the steps that were held back."""


class WholeReply(msgspec.Struct, frozen=True, kw_only=True):
    """A whole reply, as a client is to be told it."""

    opening: Opening
    messages: tuple[Message, ...]
    stop: Stop = "end"
    usage: TokenUsage = TokenUsage()

    @property
    def parts(self) -> tuple[Part, ...]:
        """All that is said in it."""
        return tuple(part for message in self.messages for part in message.parts)

    def came_over(self, dialect: str) -> bool:
        """Whether it came over a dialect's wire, so that its bodies can be told as they are."""
        return bool(self.messages) and all(message.came_over(dialect) for message in self.messages)


def tell(reply: Reply, opening: Opening) -> WholeReply:
    """A reply as a client is to be told it, under the id and model of its opening."""
    usage = reply.usage or opening.usage
    messages = tuple(_with_ids(message, f"{opening.id}.{at}") for at, message in enumerate(reply.messages))
    return WholeReply(opening=opening, messages=messages, stop=read_stop(reply.stop), usage=usage)


def _with_ids(message: Message, seed: str) -> Message:
    """Calls of Gemini may have no id; other dialects want one that no other call of the conversation has."""
    if not message.came_over("gemini"):
        return message
    parts = [
        msgspec.structs.replace(part, id=unique_id(part.id, part.name, f"{seed}.{at}"))
        if isinstance(part, Call)
        else part
        for at, part in enumerate(message.parts)
    ]
    return msgspec.structs.replace(message, parts=tuple(parts))


def unique_id(id: str, name: str, seed: str) -> str:
    """The id of a call; where it was made from the call's name, one that is made from the seed."""
    is_made_up = module_of("gemini", "names").made_up(id, name)
    return f"call_{digest(seed.encode('utf-8', 'surrogatepass'))[:24]}" if is_made_up else id


def deltas_of(told: WholeReply) -> Iterator[Delta]:
    """A whole reply in steps."""
    opening = msgspec.structs.replace(told.opening, usage=told.usage)
    yield opening
    for place, part in enumerate(told.parts):
        yield from _steps(place, part)
        yield BlockEnd(place)
    yield Closing(told.stop, told.usage)


def _steps(place: int, part: Part) -> Iterator[Delta]:
    match part:
        case Text(text=text):
            yield TextDelta(place, text)
        case Thinking(text=text, signature=signature):
            yield from [ThoughtDelta(place, text)] if text else []
            yield from [Signature(place, signature)] if signature else []
        case Call(id=id, name=name, raw=raw):
            yield CallStart(place, id, name)
            yield CallDelta(place, raw)
        case _:
            yield TextDelta(place, note(part))


def wanted_stop(stop: Stop, *, calls: bool) -> Stop:
    """A reply that ends with calls says so; not every provider has a word for it."""
    return "calls" if calls and stop in ("end", "calls") else "end" if stop == "calls" else stop


def write_all(writer: StreamWriter, deltas: Iterable[Delta]) -> Iterator[bytes]:
    """The events of some steps."""
    yield from filter(None, map(writer.write, deltas))
