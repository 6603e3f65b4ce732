"""A session as it went: a player that shows what was really sent, so that it is scored as policies are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from fanfold.core.message import text_of
from fanfold.core.view import Row, View
from fanfold.replay.reach import refs
from fanfold.replay.shown import Shown
from fanfold.replay.trace import Trace


class RecordedBlock(msgspec.Struct, frozen=True):
    """A row of a request; most requests repeat those of the one before."""

    key: bytes
    tokens: int
    text: str


class RecordedRequest(msgspec.Struct, frozen=True):
    """A request that went out."""

    before: int
    """How many messages of the conversation came before it."""
    blocks: tuple[int, ...]
    """Which blocks it was made of, by their numbers."""
    refs: tuple[str, ...]
    tokens: int
    """As it was billed; where it was not, as it was counted."""
    edits: int = 0
    refused: bool = False


class RecordedWork(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The requests of a session, with what was billed for them."""

    messages: int
    """How many messages its conversation has."""
    requests: tuple[RecordedRequest, ...]
    blocks: tuple[RecordedBlock, ...]
    outputs: dict[str, int]
    """In which message of the conversation the output of a reference is."""
    prompt: int = 0
    cached: int = 0
    """What was billed; 0 where nothing was."""
    counted: int = 0
    """What the billed requests took by the meter itself."""
    dollars: float | None = None
    unmanaged: float | None = None
    """What the bills come to, and what they would have without fanfold; None where no price is known."""
    replies: float = 0.0
    """What the replies have cost of that."""

    @property
    def scale(self) -> float:
        """How much a counted token was billed."""
        return self.prompt / self.counted if self.prompt and self.counted else 1.0

    @cached_property
    def last(self) -> Mapping[int, RecordedRequest]:
        """The request that was answered after so many messages."""
        return {one.before: one for one in self.requests}

    def within(self, trace: Trace) -> Trace:
        """The trace with those calls alone whose requests are known."""
        return msgspec.structs.replace(
            trace, calls=tuple(call for call in trace.calls if call.before in self.last)
        )


class RecordedPlayer:
    """Shows what was sent."""

    def __init__(self, trace: Trace, work: RecordedWork) -> None:
        self.trace, self.work = trace, work

    def show(self, count: int) -> Shown:
        """The request that was answered after so many messages."""
        request = self.work.last[count]
        blocks = [self.work.blocks[number] for number in request.blocks]
        return Shown(
            tuple(one.key for one in blocks),
            tuple(one.tokens for one in blocks),
            tuple(one.text for one in blocks),
            edits=request.edits,
            over=request.refused,
            refs=request.refs,
        )

    def near(self, text: str, shown: Shown) -> bool:
        """Whether a reference in the request names an output that holds it."""
        places = (self.work.outputs.get(ref) for ref in shown.refs)
        return any(
            text in text_of(self.trace.messages[at], unescaped=True) for at in places if at is not None
        )

    def close(self) -> None:
        """Nothing is open."""


class Recorder:
    """Collects requests; a block that several have in common is kept once."""

    def __init__(self) -> None:
        self.blocks: list[RecordedBlock] = []
        self._numbers: dict[bytes, int] = {}

    def take(self, view: View, before: int, tokens: int, *, edits: int, refused: bool) -> RecordedRequest:
        """A request as a model saw it."""
        rows = tuple(self._number(row) for row in (view.frame, *view.rows))
        return RecordedRequest(
            before=before, blocks=rows, refs=refs(view), tokens=tokens, edits=edits, refused=refused
        )

    def _number(self, row: Row) -> int:
        key = row.weight.digest
        if key not in self._numbers:
            self._numbers[key] = len(self.blocks)
            self.blocks.append(RecordedBlock(key, row.tokens, _read(row)))
        return self._numbers[key]


def _read(row: Row) -> str:
    words: Iterable[str] = (text_of(message, unescaped=True) for message in row.messages)
    return "\n".join(words)
