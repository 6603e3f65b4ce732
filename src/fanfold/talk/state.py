"""What a session is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from fanfold.budget import Budget
from fanfold.codecs.codec import Codec
from fanfold.edit import Author, Decision, Edit
from fanfold.errors import Closed
from fanfold.hooks import Hooks
from fanfold.ids import digest
from fanfold.log import Log
from fanfold.message import Call, Message
from fanfold.meter import Learned, Meter
from fanfold.plan import Strategy
from fanfold.record import Edited, Frame, Record
from fanfold.show import Projection
from fanfold.talk.tenant import Tenant
from fanfold.view import View, Weight


@dataclass(frozen=True)
class Gauge:
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
        return Weight(self.meter.message(message), len(data) - 2, wire, digest(data).encode())

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


@dataclass
class State:
    """One session: its log, its limits and its ways. Everything here is changed under `lock` only."""

    name: str
    tenant: Tenant
    codec: Codec
    meter: Meter
    budget: Budget
    strategies: Sequence[Strategy]
    ladder: Sequence[Strategy]
    model: str | None = None
    hooks: Hooks = field(default_factory=Hooks)
    clock: Callable[[], float] = lambda: 0.0
    asker_room: int | None = None
    """The window of the model that strategies ask."""
    log: Log = field(init=False)
    learned: Learned = field(default_factory=Learned)
    open_calls: dict[str, Call] = field(default_factory=dict)
    """Calls on the present path that have no answer yet."""
    quiet_until: int = 0
    """After a reduction that brought little, the next waits until the view costs this much."""
    bodies: list[Any] = field(default_factory=list)
    """The transcript a client last sent, copied, to compare the next one with."""
    merged: list[str] = field(default_factory=list)
    """The entries that transcript stands for."""
    framed: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
    """The system prompt and tools a client last sent, copied."""
    closed: bool = False

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self.log = Log(self.tenant.tree)
        self.gauge = Gauge(self.meter, self.codec)
        self.projection = Projection(self.log, self.gauge, self.name)

    def view(self) -> View:
        """What the model would see now."""
        return self.projection.view()

    def shown(self) -> View:
        """The same for people: with the room beside it."""
        return replace(self.view(), room=self.limits().room)

    def limits(self, max_tokens: int | None = None) -> Budget:
        """The budget for a request, in the meter's own tokens."""
        budget = self.budget.reserving(max_tokens)
        return budget.learned(self.learned.scale, self.learned.offset)

    def write(self, *records: Record) -> None:
        """Record; what was billed is no baseline any more if the view was changed other than at its end."""
        if self.closed:
            raise Closed()
        self.log.write(*records)

    def decide(self, edit: Edit, *, by: Author = "person", why: str = "") -> Decision:
        """Record one decision at the head."""
        decision = Decision(f"e{self.log.next_edit()}", self.log.head, edit, by, why)
        self.commit((decision,))
        return decision

    def commit(self, decisions: Sequence[Decision]) -> None:
        """Record decisions as one plan."""
        self.write(Edited(tuple(decisions), self.clock()))
        self.learned = self.learned.voided()
