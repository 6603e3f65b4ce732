"""What a session is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fanfold.budget import Budget
from fanfold.codecs.codec import Codec
from fanfold.edit import Author, Decision, Edit
from fanfold.errors import Closed
from fanfold.hooks import Hooks
from fanfold.ids import digest
from fanfold.message import Call, Message, Result
from fanfold.meter import Learned, Meter
from fanfold.plan import Strategy
from fanfold.record import Edited, Frame, Record
from fanfold.show import Projection
from fanfold.stores.memory import Tenant
from fanfold.view import View, Weight


class Gauge(msgspec.Struct, frozen=True):
    """Weighs rows with a session's meter, in the form its dialect sends them. Each message is encoded once."""

    meter: Meter
    codec: Codec

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its rows."""
        return self.meter.overhead

    def message(self, message: Message, was: Message | None = None) -> Weight:
        """Tokens, bytes and wire form of a message."""
        wire = tuple(body for body in self.codec.wire(message, was))
        wire, data = encoded(wire)
        faults = self.codec.faults(message)
        return Weight(
            self.meter.message(message),
            len(data) - 2,
            wire,
            digest(data).encode(),
            faults,
            self.codec.lost(message),
        )

    def frame(self, frame: Frame) -> Weight:
        """Tokens and bytes of system prompt and tools."""
        request = self.codec.encode(frame, (), {})
        _, data = encoded((request,))
        return Weight(self.meter.frame(frame), len(data), (), frame.id.encode())


def encoded(wire: tuple[Any, ...]) -> tuple[tuple[Any, ...], bytes]:
    """The wire form and its bytes; what no JSON text can carry is replaced first."""
    try:
        return wire, msgspec.json.encode(wire)
    except UnicodeEncodeError:
        clean = tuple(sendable(body) for body in wire)
        return encoded(clean)
    except OverflowError:
        import json

        return wire, json.dumps(wire, ensure_ascii=False).encode()


def sendable(value: Any) -> Any:
    """A value with every lone surrogate as U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


class Terms(msgspec.Struct, frozen=True):
    """What a session is opened with."""

    name: str
    tenant: Tenant
    codec: Codec
    meter: Meter
    budget: Budget
    strategies: tuple[Strategy, ...]
    ladder: tuple[Strategy, ...]
    model: str | None
    hooks: Hooks
    clock: Callable[[], float]
    asker_room: int | None
    """The window of the model that strategies ask."""


class State:
    """One session at work. Everything here is changed under `lock` only."""

    def __init__(self, terms: Terms, learned: Learned | None = None) -> None:
        self.terms = terms
        self.lock = threading.RLock()
        self.log = terms.tenant.log(terms.name)
        self.codec = terms.codec
        self.gauge = Gauge(terms.meter, terms.codec)
        self.projection = Projection(self.log, self.gauge, terms.name)
        self.learned = learned or Learned()
        self.open_calls: dict[str, Call] = {}
        """Calls on the present path that have no answer yet."""
        self.quiet_until = 0
        """After a reduction that brought little, the next waits until the view costs this much."""
        self.bodies: list[Any] = []
        """The transcript a client last sent, copied, to compare the next one with."""
        self.merged: list[str] = []
        """The entries that transcript stands for."""
        self.framed: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
        """The system prompt and tools a client last sent, copied."""
        self.legal: tuple[View, Mapping[str, Any]] | None = None
        """The view and parameters that were last found to obey the provider's rules."""
        self.closed = False
        self._limits: tuple[Any, Budget] | None = None
        self.find_open_calls()

    def view(self) -> View:
        """What the model would see now."""
        return self.projection.view()

    def shown(self) -> View:
        """The same for people: with the room beside it."""
        return replace(self.view(), room=self.limits().room)

    def limits(self, max_tokens: int | None = None) -> Budget:
        """The budget for a request, in the meter's own tokens."""
        key = (max_tokens, self.learned)
        if self._limits is None or self._limits[0] != key:
            budget = self.terms.budget.reserving(max_tokens).learned(self.learned.scale, self.learned.offset)
            self._limits = (key, budget)
        return self._limits[1]

    def write(self, *records: Record) -> None:
        """Record."""
        if self.closed:
            raise Closed()
        self.log.write(*records)

    def find_open_calls(self) -> None:
        """Which calls of the present path have no answer yet."""
        self.open_calls.clear()
        for id in self.log.tree.path(self.log.head):
            self.note_calls(self.log.message(id))

    def note_calls(self, message: Message) -> None:
        """Keep the list of calls that wait for an answer."""
        for part in message.parts:
            if isinstance(part, Result):
                self.open_calls.pop(part.call, None)
            elif isinstance(part, Call):
                self.open_calls[part.id] = part

    def forget_copies(self) -> None:
        """Something was erased: no copy of it may stay, and everything is laid out anew."""
        self.bodies, self.merged = [], []
        self.learned = self.learned.voided()
        self.projection.restart()

    def decide(self, edit: Edit, *, by: Author = "person", why: str = "") -> Decision:
        """Record one decision at the head."""
        decision = Decision(f"e{self.log.next_edit()}", self.log.head, edit, by, why)
        self.commit((decision,))
        return decision

    def commit(self, decisions: Sequence[Decision]) -> None:
        """Record decisions as one plan."""
        self.write(Edited(tuple(decisions), self.terms.clock()))
        self.learned = self.learned.voided()
