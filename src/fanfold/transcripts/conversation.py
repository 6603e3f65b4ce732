"""What a transcript file holds: conversations in a provider's wire form, with times and bills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, structs

from fanfold.dialects.registry import DialectName

Wire = dict[str, Any]
"""One message (or Responses item, or Gemini content) as a provider's API takes it."""


class Parent(Struct, frozen=True):
    """The conversation that started this one as a side chain."""

    id: str
    call: str | None = None
    """Id of the tool call that started it, where the recording tells."""


class Compaction(Struct, frozen=True):
    """A place where the vendor's own tool replaced older history.

    `messages[at : at + count]` were put there by the tool; from then on the model saw them, the messages
    in `kept`, and what follows.
    """

    at: int
    count: int = 1
    covers: tuple[int, int] | None = None
    """Half-open range of the messages that stood in the window until then; None if they are not recorded."""
    kept: tuple[int, ...] = ()
    """Indexes of older messages that stayed visible, where the recording tells."""
    meta: dict[str, Any] = {}
    """What the tool noted about it: trigger, tokens before and after."""


class Conversation(Struct, frozen=True):
    """One recorded conversation."""

    id: str
    source: str
    """Path of the file; `-` for standard input."""
    format: str
    dialect: DialectName
    model: str | None
    """The model that answered last, if recorded."""
    frame: Wire
    """Wire fields beside the messages, as far as recorded: system, instructions, tools."""
    messages: tuple[Wire, ...]
    times: tuple[float | None, ...]
    """Unix seconds, one per message."""
    usage: tuple[Wire | None, ...]
    """One per message: the bill of the call that produced it, as `TokenUsage.of` takes it."""
    compactions: tuple[Compaction, ...] = ()
    parent: Parent | None = None
    meta: dict[str, Any] = {}
    """What else was recorded. `cut`: the last line was half written; `skipped`: broken lines left out."""


class Teller:
    """Tells a recording as a conversation, message by message. A format that has more to remember extends it."""

    def __init__(self) -> None:
        self.messages: list[Wire] = []
        self.times: list[float | None] = []
        self.usage: list[Wire | None] = []
        self.compactions: list[Compaction] = []
        self.model = ""
        self.other: Counter[str] = Counter()
        """Lines that became no message, by their kind."""

    def add(self, message: Wire, time: float | None = None, usage: Wire | None = None) -> None:
        """Append one message."""
        self.messages.append(message)
        self.times.append(time)
        self.usage.append(usage)

    def say(self, role: str, content: Any, time: float | None = None) -> None:
        """Append what somebody said."""
        self.add({"role": role, "content": content}, time)

    def compact(
        self,
        shown: Iterable[Wire],
        time: float | None = None,
        *,
        kept: Sequence[int] = (),
        meta: Wire | None = None,
    ) -> None:
        """Append what the vendor's tool put in place of everything so far."""
        at = len(self.messages)
        for message in shown:
            self.add(message, time)
        before = self.compactions[-1].at if self.compactions else 0
        covers = (before, at) if at else None
        count = len(self.messages) - at
        self.compactions.append(Compaction(at, count, covers=covers, kept=tuple(kept), meta=meta or {}))

    def summarize(self, text: str, time: float | None = None, **noted: Any) -> None:
        """Note that a summary, if there is one, took the place of all before."""
        self.compact([{"role": "user", "content": text}] if text else [], time, **noted)

    def end_compaction(self) -> None:
        """Count everything since the last compaction as put there by it."""
        mark = self.compactions[-1]
        self.compactions[-1] = structs.replace(mark, count=len(self.messages) - mark.at)

    def truncate(self, length: int) -> int:
        """Forget every message from `length` on, and say how many those were."""
        gone = max(0, len(self.messages) - length)
        for column in (self.messages, self.times, self.usage):
            del column[length:]
        self.compactions = [mark for mark in self.compactions if mark.at + mark.count <= length]
        return gone

    def finish(self, id: str, source: str, dialect: DialectName, **rest: Any) -> Conversation:
        """The conversation, with everything that was recorded; `read` adds the name of its format."""
        other = {"other_lines": dict(self.other)} if self.other else {}
        return Conversation(
            id=id,
            source=source,
            format="",
            dialect=dialect,
            model=rest.pop("model", self.model) or None,
            frame=rest.pop("frame", {}),
            messages=tuple(self.messages),
            times=tuple(self.times),
            usage=tuple(self.usage),
            compactions=tuple(self.compactions),
            meta=rest.pop("meta", {}) | other,
            **rest,
        )
