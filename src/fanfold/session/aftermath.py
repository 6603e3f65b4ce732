"""What one request leaves behind for the next to know. Nothing of it is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from fanfold.core.record import Frame
from fanfold.core.view import Row, View, Weight


class Aftermath(msgspec.Struct):
    """What reductions left behind for the next one to know; `reduce.py` reads and writes it."""

    quiet_until: int = 0
    """After a reduction that brought little, the next waits until the view costs this much."""
    paid: bool = False
    """Whether the last reduction asked a model."""
    stuck: View | None = None
    """What the last reduction would have left, where even that does not fit; nothing of it was written."""
    refusals: int = 0
    """How often the provider refused since it last answered."""


class HashedRows(msgspec.Struct, frozen=True):
    """The rows that were last sent, and what is hashed of them; `request.py` reads and writes it."""

    rows: tuple[Row, ...] = ()
    hashing: Any = blake2b(digest_size=16)
    """The hash of their hashes, one behind the other. A copy of it takes in those of more rows."""
    losing: tuple[Row, ...] = ()
    """Those of which something cannot be sent."""

    def up_to(self, rows: Sequence[Row]) -> HashedRows:
        """The same for rows that begin with these."""
        new, hashing = rows[len(self.rows) :], self.hashing.copy()
        hashing.update(b"".join([row.weight.digest for row in new]))
        losing = self.losing + tuple([row for row in new if row.weight.lost])
        return HashedRows(rows=tuple(rows), hashing=hashing, losing=losing)


class Judged(msgspec.Struct):
    """What was last found to obey the provider's rules; `request.py` reads and writes it."""

    view: View | None = None
    params: Mapping[str, Any] = {}
    """The parameters with which the view obeys them."""
    frame: Frame | None = None
    choice: object = None
    """The choice among the tools of the frame."""
    hashed: HashedRows = HashedRows()
    compared: tuple[object, object, bool] = (None, None, False)
    """Which rows were last asked about, and whether the first begin with the second."""

    def begins_with(self, rows: Sequence[Row], before: Sequence[Row]) -> bool:
        """Whether rows begin with those of the last request. Several ask that of each request, about the same ones."""
        if self.compared[0] is not rows or self.compared[1] is not before:
            self.compared = (rows, before, rows[: len(before)] == before)
        return self.compared[2]


class GivenParams(msgspec.Struct, frozen=True):
    """The parameters that a caller gave with a request, read; `request.py` reads and writes it."""

    key: bytes = b""
    """What the caller gave, as bytes: most give the same with every request."""
    params: dict[str, Any] = {}
    """The parameters to send, with the model and the limit of the reply."""
    reply: int | None = None
    weight: Weight = Weight(0, 0)


class Still(msgspec.Struct, frozen=True):
    """What a client says otherwise than the frame that is sent; `still.py` reads and writes it."""

    wanted: Frame | None = None
    """The frame that is adopted with the next edit."""
    missing: frozenset[str] = frozenset()
    """Tools that are sent and cannot be run at present."""
    lines: tuple[str, ...] = ()
    """Lines of the system prompt that are told at the end of each request."""
    found: frozenset[str] = frozenset()
    """Lines that were found to change, without their figures."""


class Resent(msgspec.Struct):
    """What a client last sent, copied, to compare its next transcript with; `merge.py` reads and writes it."""

    bodies: list[Any] = []
    count: int = 0
    tip: str | None = None
    """How many entries the bodies stand for, and the last of them: its id tells all before it, too."""
    groups: list[Any] = []
    """Which bodies are which entries (`align.py`)."""
    entries: list[tuple[str, ...]] = []
    """The entries of each body."""
    frame: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
    """The system prompt and the tools."""
    accepted: tuple[Row, ...] = ()
    """The rows that may be sent as they came (`passing.py`)."""
    mark: object = None
    """Another one with each transcript, so that somebody else can tell whether this is still the same one."""
