"""The view: what the model will see, row by row, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, Protocol

import msgspec

from fanfold.core.budget import Budget
from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Message, Result, Thinking
from fanfold.core.record import Frame, Kept


class Violation(msgspec.Struct, frozen=True):
    """A rule of the provider that a request breaks, and where."""

    rule: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text} ({self.rule})"


class Weight(msgspec.Struct, frozen=True, gc=False):
    """What a message costs, and its encoded form, made once."""

    tokens: int
    size: int
    """Bytes on the wire."""
    wire: tuple[Any, ...] = ()
    digest: bytes = b""
    faults: tuple[Violation, ...] = ()
    """The provider's rules that the message breaks by itself."""
    lost: tuple[str, ...] = ()
    """Parts, by number, that cannot carry over into this session's dialect; or what of a part cannot."""
    own: bool = False
    """Whether all of it came over this session's wire, and is sent in the form it came in."""
    guessed: int = 0
    """Those of its tokens that the model's own tokenizer did not count; 0 where nothing is counted by one."""
    hidden: int = 0
    """Tokens of sealed reasoning, by its length: nobody but the provider can count them, and they are not counted."""


def together(weights: Sequence[Weight]) -> Weight:
    """Several weights as one."""
    if len(weights) == 1:
        return weights[0]
    return Weight(
        sum(weight.tokens for weight in weights),
        sum(weight.size for weight in weights) + max(0, len(weights) - 1),
        tuple(block for weight in weights for block in weight.wire),
        b"".join(weight.digest for weight in weights),
        tuple(fault for weight in weights for fault in weight.faults),
        tuple(number for weight in weights for number in weight.lost),
        all(weight.own for weight in weights),
        sum(weight.guessed for weight in weights),
        sum(weight.hidden for weight in weights),
    )


class Scale(Protocol):
    """Weighs what is shown; a session's scale knows its meter and its dialect."""

    def message(self, message: Message, was: Message | None = None) -> Weight:
        """The weight of one message; `was` is the message before parts of it were elided."""

    def frame(self, frame: Frame) -> Weight:
        """The weight of system prompt and tools."""

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its rows."""


Kind = Literal["entry", "fold", "drop", "mend", "note", "frame"]


class Row(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One line of the view: an entry, or what an edit shows in its place."""

    id: str
    """The entry's id, or the id of the edit that made this row."""
    kind: Kind
    messages: tuple[Message, ...]
    weight: Weight
    covers: tuple[str, ...]
    """The rows behind this one; an entry covers itself."""
    count: int = 1
    """How many entries stand behind this row."""
    why: tuple[str, ...] = ()
    """The edits that shaped this row."""
    reason: str = ""
    """Who made the last of them: a strategy's or pass's name, or a person's reason."""
    was: Message | None = None
    """The message as it was recorded, before parts of it were elided; strategies read `whole`."""
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    name: str = ""
    """A note's name."""
    tip: str | None = None
    """The last entry of the path when this row got its present shape, if an edit gave it that."""
    late: bool = False
    """A note made after what stands before it had been sent."""
    pinned: bool = False
    replied: bool = False
    """Whether the model speaks in what stands behind this row."""
    asked: tuple[str, ...] = ()
    """The entries behind this row in which a person speaks; none behind what a person chose to hide."""
    told: Message | None = None
    """The message as the caller's own passes left it, if they changed it; no model gets more of it."""

    @property
    def whole(self) -> Message:
        """The message before it was shortened, as far as models may read it."""
        return self.told or self.was or self.messages[0]

    @property
    def tokens(self) -> int:
        """What this row costs."""
        return self.weight.tokens

    @property
    def role(self) -> str:
        """Who speaks in this row."""
        return self.messages[0].role if self.messages else "user"

    @property
    def is_request(self) -> bool:
        """Whether a person speaks here; what only repair puts in the user's mouth, nobody said."""
        if self.kind == "mend":
            return bool(self.asked)
        return self.kind == "entry" and any(message.is_request for message in self.messages)

    @property
    def is_reply(self) -> bool:
        """Whether the model speaks here."""
        return self.kind in ("entry", "mend") and self.shows_reply

    @property
    def ends_unanswered(self) -> bool:
        """Whether something follows the model's last words within this row: a call that is shown with its results."""
        return bool(self.messages) and self.messages[-1].role != "assistant" and self.shows_reply

    @property
    def shows_reply(self) -> bool:
        """Whether a message of the model is shown here."""
        return any(message.role == "assistant" for message in self.messages)

    @property
    def stays(self) -> str | None:
        """Why no edit covers this row, whatever happens, or None."""
        if self.kind == "note":
            return "it is a note"
        return "it is pinned" if self.pinned else None

    @property
    def compacts(self) -> bool:
        """Whether a provider's compaction stands here, and is sent."""
        return not self.weight.lost and any(message.is_compaction for message in self.messages)

    @property
    def is_thought(self) -> bool:
        """Whether this row ends with nothing but thinking, which then belongs to what the model said next."""
        if not self.is_reply:
            return False
        last = self.messages[-1]
        return (
            last.role == "assistant"
            and bool(last.parts)
            and all(isinstance(part, Thinking) for part in last.parts)
        )


def called(messages: Iterable[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids called and the ids answered in some messages."""
    calls: list[str] = []
    results: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Call):
                calls.append(part.id)
            elif isinstance(part, Result):
                results.append(part.call)
    return tuple(calls), tuple(results)


class Span(msgspec.Struct, frozen=True, eq=False):
    """Some rows of a view, whole blocks only."""

    rows: tuple[Row, ...] = ()

    @property
    def covers(self) -> tuple[str, ...]:
        """What an edit of these rows covers."""
        return tuple(row.id for row in self.rows)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages these rows show."""
        return tuple(message for row in self.rows for message in row.messages)

    @property
    def tokens(self) -> int:
        """What these rows cost."""
        return sum(row.tokens for row in self.rows)

    @property
    def count(self) -> int:
        """How many entries stand behind these rows."""
        return sum(row.count for row in self.rows)


class Block(Span, frozen=True, eq=False):
    """Rows that live or die together: a call with all its results and the thinking bound to it."""

    open: bool = False
    """A call in it has no answer yet."""


class View(msgspec.Struct, frozen=True, eq=False, dict=True):
    """What the model will see."""

    rows: tuple[Row, ...]
    frame: Row
    tip: str | None = None
    version: int = 0
    overhead: int = 0
    """Tokens that every request costs beside its rows."""
    pinned_texts: tuple[str, ...] = ()
    exempt: frozenset[str] = frozenset()
    """Rows a person brought back."""
    shadowed: tuple[str, ...] = ()
    """Edits that do not fit the rows of this path, and so show nothing here."""
    refused: str | None = None
    """Why the last edit of a plan was not made."""
    title: str = ""
    room: int | None = None
    refs: Mapping[str, str] | None = None
    """The references by which a model looks outputs up again, by `entry#part`; None where it has no tools for that."""
    kept: Callable[[str], Kept | None] = lambda address: None
    """The record of an output, by `entry#part`: it says how large the whole is, of which a row may show a part."""
    said: Callable[[str], Message | None] = lambda entry: None
    """What was recorded in an entry, whatever is shown of it; None where it was erased."""
    behind: Callable[[str], tuple[str, ...]] = lambda row: ()
    """The entries behind a row that is none itself, in order, but for what a person chose to hide; none where the log
    at hand does not know them."""
    looked: Callable[[str], str | None] = lambda about: None
    """The last request at which something that is kept up to date, by its name, was looked at; None if never."""
    count: Callable[[str], int] = lambda text: len(text.encode("utf-8", "replace")) // 3
    """Tokens of a piece of text, by the session's meter."""
    weigh: Callable[[Message], int] = lambda message: len(message.text.encode("utf-8", "replace")) // 3
    """Tokens of a message as it would be sent, by the session's meter."""

    @cached_property
    def tokens(self) -> int:
        """What all of it costs."""
        return self.overhead + self.frame.tokens + sum([row.weight.tokens for row in self.rows])

    @cached_property
    def guessed(self) -> int:
        """Those of its tokens that the model's own tokenizer did not count."""
        rows = sum([row.weight.guessed for row in self.rows])
        return self.overhead + self.frame.weight.guessed + rows

    @cached_property
    def hidden(self) -> int:
        """Tokens of sealed reasoning, which are not counted."""
        return sum([row.weight.hidden for row in self.rows])

    @cached_property
    def size(self) -> int:
        """Bytes on the wire."""
        return self.frame.weight.size + sum([row.weight.size + 1 for row in self.rows])

    def fits(self, budget: Budget) -> bool:
        """Whether all of it fits, in tokens and in bytes."""
        return self.tokens <= budget.room and self.fits_bytes(budget)

    def fits_bytes(self, budget: Budget) -> bool:
        """Whether it is short enough for one request, whatever its tokens."""
        return budget.max_bytes is None or self.size <= budget.max_bytes

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages shown, without the frame."""
        return tuple(message for row in self.rows for message in row.messages)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The rows in groups that live or die together."""
        return tuple(_blocks(self.rows))

    @cached_property
    def turns(self) -> tuple[Span, ...]:
        """From one real user message to the next; what comes before the first is a turn too."""
        starts = [i for i, row in enumerate(self.rows) if row.is_request]
        cuts = sorted({0, *starts, len(self.rows)})
        return tuple(Span(self.rows[a:b]) for a, b in pairwise(cuts))

    @cached_property
    def loop(self) -> Span:
        """All since the last real user message, that message not included."""
        return Span(self.rows[self._last(lambda row: row.is_request) + 1 :])

    @cached_property
    def request(self) -> Row | None:
        """The last real user message."""
        index = self._last(lambda row: row.is_request)
        return self.rows[index] if index >= 0 else None

    @cached_property
    def preamble(self) -> frozenset[str]:
        """System messages that stand among the rows before anybody asked for anything."""
        first = next((i for i, row in enumerate(self.rows) if row.is_request), len(self.rows))
        return frozenset(row.id for row in self.rows[:first] if row.kind == "entry" and row.role == "system")

    @cached_property
    def fresh(self) -> frozenset[str]:
        """The rows the model has not seen, or not to their end: no reply follows them yet."""
        last = self._last(lambda row: row.is_reply or row.replied)
        unseen = last >= 0 and self.rows[last].ends_unanswered
        return frozenset(row.id for row in self.rows[last if unseen else last + 1 :])

    def _last(self, test: Callable[[Row], bool]) -> int:
        """The index of the last row that passes a test, or -1."""
        return next((i for i in range(len(self.rows) - 1, -1, -1) if test(self.rows[i])), -1)

    def protects(self, block: Block) -> str | None:
        """Why a block is not offered to strategies, or None if it is."""
        if block.open:
            return "a call in it has no answer yet"
        for row in block.rows:
            reason = self.keeps(row)
            if reason:
                return reason
        return None

    def keeps(self, row: Row) -> str | None:
        """Why a row is not offered to strategies, or None if it is."""
        return row.stays or self._kept.get(row.id)

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The rows that are not offered for what they are in this view, and why: the weightiest reason comes last."""
        last = self._last(lambda row: row.kind != "note")
        newest = self.rows[last : last + 1] if last >= 0 and self.rows[last].is_reply else ()
        return {
            **dict.fromkeys(self.compacted, "the provider's compaction stands for it"),
            **dict.fromkeys(self.recalled, "the model has just looked it up again"),
            **({self.request.id: "it is the last request"} if self.request else {}),
            **{row.id: "it is the newest reply" for row in newest},
            **dict.fromkeys(self.fresh, "the model has not seen it yet"),
            **dict.fromkeys(self.exempt, "a person brought it back"),
        }

    @cached_property
    def compacted(self) -> frozenset[str]:
        """The row with the provider's newest item, once it is a fold, and all before it, which the provider skips."""
        last = self._last(lambda row: row.kind == "fold" and row.compacts)
        newer = last >= 0 and any(row.compacts for row in self.rows[last + 1 :])
        return frozenset(row.id for row in self.rows[: 0 if newer else last + 1])

    @cached_property
    def recalled(self) -> frozenset[str]:
        """The rows with what the model looked up again, and that fewer than three replies follow."""
        replies = [i for i, row in enumerate(self.rows) if row.is_reply]
        near = self.rows[replies[-4] if len(replies) > 3 else 0 :]
        calls = {
            call.id
            for row in near
            for message in row.messages
            for call in message.calls
            if call.name in RECALL
        }
        since = self.rows[replies[-3] if len(replies) > 2 else 0 :] if calls else ()
        return frozenset(row.id for row in since if not calls.isdisjoint(row.results))

    @cached_property
    def offered(self) -> tuple[Block, ...]:
        """The blocks a strategy may cover, oldest first."""
        return tuple(block for block in self.blocks if self.protects(block) is None)

    @cached_property
    def held(self) -> int:
        """Tokens that are left when everything on offer is gone."""
        return self.tokens - sum(block.tokens for block in self.offered)

    @cached_property
    def fixed(self) -> int:
        """Tokens that no reduction can take: the frame, notes, and what a person pinned or brought back."""
        rows = sum(row.tokens for row in self.rows if row.stays or row.id in self.exempt)
        return self.overhead + self.frame.tokens + rows

    def oldest(self, *, leaving: int, but: Sequence[Row] = ()) -> Span:
        """The oldest blocks on offer, as many as must go so that the view keeps at most `leaving` tokens."""
        spare = {row.id for row in but}
        taken: list[Row] = []
        left = self.tokens
        for block in self.offered:
            if left <= leaving:
                break
            if not any(row.id in spare for row in block.rows):
                taken.extend(block.rows)
                left -= block.tokens
        return Span(tuple(taken))

    def newest(self, tokens: int) -> Span:
        """The newest blocks that together cost at most `tokens`."""
        kept: list[Block] = []
        left = tokens
        for block in reversed(self.blocks):
            left -= block.tokens
            if left < 0:
                break
            kept.append(block)
        return Span(tuple(row for block in reversed(kept) for row in block.rows))

    def row(self, id: str) -> Row | None:
        """The row with this id, if it is visible."""
        return self._index.get(id)

    @cached_property
    def _index(self) -> dict[str, Row]:
        return {row.id: row for row in self.rows}

    @property
    def stats(self) -> dict[str, int]:
        """Rows, entries and tokens by kind."""
        tokens = {
            kind: sum(row.tokens for row in self.rows if row.kind == kind)
            for kind in ("fold", "drop", "note")
        }
        return {
            "rows": len(self.rows),
            "entries": sum(row.count for row in self.rows),
            "tokens": self.tokens,
            "bytes": self.size,
            "frame": self.frame.tokens,
            "pinned": sum(row.tokens for row in self.rows if row.pinned),
            "results": sum(row.tokens for row in self.rows if row.results),
            **tokens,
        }

    def __str__(self) -> str:
        from fanfold.core.printing import printed

        return printed(self)


def _blocks(rows: Sequence[Row]) -> Iterable[Block]:
    ends = _ends(rows)
    start = 0
    while start < len(rows):
        end = ends[start]
        at = start
        while at < end:
            at += 1
            end = max(end, ends[at])
        group = rows[start : end + 1]
        yield Block(tuple(group), open=_is_open(group))
        start = end + 1


def _ends(rows: Sequence[Row]) -> list[int]:
    """For each row, the last row that is bound to it."""
    ends = list(range(len(rows)))
    callers: dict[str, int] = {}
    thought = led = False
    for i, row in enumerate(rows):
        for id in row.results:
            if id in callers and id not in row.calls:  # a call answered in its own row is bound to no other
                ends[callers[id]] = i
        for id in row.calls:
            callers[id] = i
        led = row.is_reply and (thought or led)  # a thought leads to all that the model said right behind it
        if led:
            ends[i - 1] = max(ends[i - 1], i)
        thought = row.is_thought
    return ends


def _is_open(rows: Sequence[Row]) -> bool:
    """Whether an answer may still come; what a fold shows of a call is never answered."""
    if len(rows) == 1 and not rows[0].calls:
        return False
    called = {id for row in rows if row.kind != "fold" for id in row.calls}
    return bool(called - {id for row in rows for id in row.results})
