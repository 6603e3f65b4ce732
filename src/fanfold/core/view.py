"""The view: what the model will see, row by row, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any, Literal, Protocol

import msgspec
from msgspec.structs import force_setattr

from fanfold.core.budget import Budget
from fanfold.core.edit import RECALL
from fanfold.core.message import Call, Message, Result, Text, Thinking, text_of
from fanfold.core.record import Frame, Kept
from fanfold.text.lines import RowLine, excerpt_of, fill_of, many, view_line
from fanfold.text.notebook import rows_table


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
    """Tokens of sealed reasoning, by its length: only the provider can count them, so they are not counted."""

    def __add__(self, other: Weight) -> Weight:
        """What both weigh, without the form of either."""
        return Weight(
            self.tokens + other.tokens,
            self.size + other.size,
            guessed=self.guessed + other.guessed,
            hidden=self.hidden + other.hidden,
        )


class Scale(Protocol):
    """Weighs what is shown; a session's scale knows its meter and its dialect."""

    def message(self, message: Message, was: Message | None = None) -> Weight:
        """The weight of one message; `was` is the message before parts of it were elided."""

    def frame(self, frame: Frame, rows: Sequence[Row] = ()) -> Weight:
        """The weight of system prompt and tools."""

    def text(self, text: str) -> int:
        """Tokens of a piece of text."""

    @property
    def overhead(self) -> int:
        """Tokens that every request costs beside its rows."""


def weigh(messages: Sequence[Message], scale: Scale, was: Message | None = None) -> Weight:
    """The weight of some messages together."""
    if len(messages) == 1:
        return scale.message(messages[0], was)
    weights = [scale.message(message, was) for message in messages]
    return Weight(
        tokens=sum(map(attrgetter("tokens"), weights)),
        size=sum(map(attrgetter("size"), weights)) + max(0, len(weights) - 1),
        wire=tuple(block for weight in weights for block in weight.wire),
        digest=b"".join(map(attrgetter("digest"), weights)),
        faults=tuple(fault for weight in weights for fault in weight.faults),
        lost=tuple(number for weight in weights for number in weight.lost),
        own=all(map(attrgetter("own"), weights)),
        guessed=sum(map(attrgetter("guessed"), weights)),
        hidden=sum(map(attrgetter("hidden"), weights)),
    )


_id_of: Callable[[Row], str] = attrgetter("id")
_tokens_of: Callable[[Row | Span], int] = attrgetter("tokens")
_size_of: Callable[[Row], int] = attrgetter("weight.size")
Kind = Literal["entry", "fold", "drop", "mend", "note", "frame"]
_SIGNS = {"fold": "≡", "drop": "≡", "mend": "+", "note": "*", "frame": "·", "entry": "·"}


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
    """Who made the last of them: a strategy's or filter's name, or a person's reason."""
    was: Message | None = None
    """The message as it was recorded, before parts of it were elided; strategies read `whole`."""
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
    """The message as the caller's own filters left it, if they changed it; no model gets more of it."""
    instructs: bool = False
    """Whether the client says here what holds: before the model first spoke, or by a setting such as more tools."""
    tokens: int = 0
    """What this row costs."""
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    """The ids called and the ids answered in its messages."""
    shows_reply: bool = False
    """Whether a message of the model is shown here."""
    is_request: bool = False
    """Whether a person speaks here; what only repair puts in the user's mouth, nobody said."""
    is_reply: bool = False
    """Whether the model speaks here."""

    def __post_init__(self) -> None:
        # Strategies and guards ask these of every row, many times over: they are read from the messages once.
        calls, results = call_ids(self.messages)
        shows_reply = "assistant" in [message.role for message in self.messages]
        said = self.kind == "entry" and any(message.is_request for message in self.messages)
        force_setattr(self, "tokens", self.weight.tokens)
        force_setattr(self, "calls", calls)
        force_setattr(self, "results", results)
        force_setattr(self, "shows_reply", shows_reply)
        force_setattr(self, "is_request", bool(self.asked) if self.kind == "mend" else said)
        force_setattr(self, "is_reply", shows_reply and self.kind in ("entry", "mend"))

    @property
    def line(self) -> RowLine:
        """The row in a few words."""
        sign = "▸" if self.pinned else "⋯" if self.was is not None else _SIGNS[self.kind]
        parts = [part for message in self.messages for part in message.parts if not isinstance(part, Call)]
        readable = (Text, Result, Thinking)
        words = [text_of(p) if isinstance(p, readable) else f"[{type(p).__name__.lower()}]" for p in parts]
        calls = [f"{call.name}({call.id[:12]})" for message in self.messages for call in message.calls]
        reason = " ".join(filter(None, ("pinned" * self.pinned, *self.why, self.reason)))
        return RowLine(sign, self.role, self.tokens, excerpt=excerpt_of(words, calls), reason=reason)

    def __str__(self) -> str:
        return str(self.line)

    @property
    def whole(self) -> Message:
        """The message before it was shortened, as far as models may read it."""
        return self.told or self.was or self.messages[0]

    @property
    def role(self) -> str:
        """Who speaks in this row."""
        return self.messages[0].role if self.messages else "user"

    @property
    def stays(self) -> str | None:
        """Why no edit covers this row, whatever happens, or None."""
        if self.kind == "note":
            return "it is a note"
        return "it is pinned" if self.pinned else "it is an instruction" if self.instructs else None

    @property
    def compacts(self) -> bool:
        """Whether a provider's compaction stands here, and is sent."""
        return not self.weight.lost and any(map(attrgetter("is_compaction"), self.messages))

    @property
    def is_thought(self) -> bool:
        """Whether this row ends with nothing but thinking, which then belongs to what the model said next."""
        if not self.is_reply or self.messages[-1].role != "assistant":
            return False
        return set(map(type, self.messages[-1].parts)) == {Thinking}


def call_ids(messages: Iterable[Message]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids called and the ids answered in some messages."""
    calls: list[str] = []
    results: list[str] = []
    for message in messages:
        for part in message.parts:
            if type(part) is Call:  # `isinstance` is slow to say no
                calls.append(part.id)
            elif type(part) is Result:
                results.append(part.call)
    return tuple(calls), tuple(results)


def sum_up(rows: Iterable[Row]) -> Weight:
    """What some rows weigh together."""
    return sum([row.weight for row in rows], Weight(0, 0))


class Span(msgspec.Struct, frozen=True, eq=False):
    """Some rows of a view, whole blocks only."""

    rows: tuple[Row, ...] = ()

    @property
    def covers(self) -> tuple[str, ...]:
        """What an edit of these rows covers."""
        return tuple(map(_id_of, self.rows))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages these rows show."""
        return tuple([message for row in self.rows for message in row.messages])

    @property
    def tokens(self) -> int:
        """What these rows cost."""
        return sum(map(_tokens_of, self.rows))

    @property
    def count(self) -> int:
        """How many entries stand behind these rows."""
        return sum(map(attrgetter("count"), self.rows))


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
    at hand does not know them. As long as nothing that they say has changed, it is the very same tuple."""
    looked: Callable[[str], str | None] = lambda about: None
    """The last request at which something that is kept up to date, by its name, was looked at; None if never."""
    count: Callable[[str], int] = lambda text: len(text.encode("utf-8", "replace")) // 3
    """Tokens of a piece of text, by the session's meter."""
    weigh: Callable[[Message], int] = lambda message: len(message.text.encode("utf-8", "replace")) // 3
    """Tokens of a message as it would be sent, by the session's meter."""
    memory: dict[Any, Any] = msgspec.field(default_factory=dict)
    """What strategies keep for their next plan. It goes with the session, and whenever something was erased."""
    total: Weight | None = None
    """What the rows weigh together, where that was summed up as they came: a long view is not summed up again."""

    @cached_property
    def tokens(self) -> int:
        """What all of it costs."""
        rows = self.total.tokens if self.total is not None else sum(map(_tokens_of, self.rows))
        return self.overhead + self.frame.tokens + rows

    @property
    def guessed(self) -> int:
        """Those of its tokens that the model's own tokenizer did not count."""
        return self.overhead + self.frame.weight.guessed + (self.total or sum_up(self.rows)).guessed

    @property
    def hidden(self) -> int:
        """Tokens of sealed reasoning, which are not counted."""
        return (self.total or sum_up(self.rows)).hidden

    @cached_property
    def size(self) -> int:
        """Bytes on the wire."""
        rows: int = self.total.size if self.total is not None else sum(map(_size_of, self.rows))
        return self.frame.weight.size + rows + len(self.rows)

    def fits(self, budget: Budget) -> bool:
        """Whether all of it fits, in tokens and in bytes."""
        return self.tokens <= budget.room and self.fits_bytes(budget)

    def fits_bytes(self, budget: Budget) -> bool:
        """Whether it is short enough for one request, whatever its tokens."""
        return budget.max_bytes is None or self.size <= budget.max_bytes

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages shown, without the frame."""
        return Span(self.rows).messages

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
        return Span(self.rows[self.rows.index(self.request) + 1 if self.request else 0 :])

    @cached_property
    def request(self) -> Row | None:
        """The last real user message."""
        return next((row for row in reversed(self.rows) if row.is_request), None)

    @cached_property
    def fresh(self) -> frozenset[str]:
        """The rows the model has not seen, or not to their end: no reply follows them yet."""
        unseen: list[str] = []
        for row in reversed(self.rows):
            if row.is_reply or row.replied:
                # A call that is shown with its results in one row: the model has not seen these yet.
                if row.shows_reply and row.messages[-1].role != "assistant":
                    unseen.append(row.id)
                break
            unseen.append(row.id)
        return frozenset(unseen)

    def with_rows(self, rows: Iterable[Row], *, alike: bool) -> View:
        """This view with other rows. Where only parts of them got shorter, they are `alike`: the same may go."""
        after = msgspec.structs.replace(self, rows=tuple(rows), refused=None, total=None)
        if alike:  # a plan elides hundreds of parts, one by one
            after.__dict__["_kept"] = self._kept
        return after

    def sparing(self, rows: Iterable[Row]) -> View:
        """The same view, with these rows no longer on offer: a strategy leaves them to another one."""
        after = msgspec.structs.replace(self)
        after.__dict__["_kept"] = {
            **dict.fromkeys(map(_id_of, rows), "another step will take it"),
            **self._kept,
        }
        return after

    def protects(self, block: Block) -> str | None:
        """Why a block is not offered to strategies, or None if it is."""
        if block.open:
            return "a call in it has no answer yet"
        return next(filter(None, map(self.keeps, block.rows)), None)

    def keeps(self, row: Row) -> str | None:
        """Why a row is not offered to strategies, or None if it is."""
        return self._kept.get(row.id)

    @cached_property
    def _kept(self) -> dict[str, str]:
        """The rows that are not offered, and why: the weightiest reason comes last."""
        newest = {}
        for row in reversed(self.rows):
            if row.kind != "note":
                newest = {row.id: "it is the newest reply"} if row.is_reply else {}
                break
        return {
            **dict.fromkeys(self.compacted, "the provider's compaction stands for it"),
            **dict.fromkeys(self.recalled, "the model has just looked it up again"),
            **({self.request.id: "it is the last request"} if self.request else {}),
            **newest,
            **dict.fromkeys(self.fresh, "the model has not seen it yet"),
            **dict.fromkeys(self.exempt, "a person brought it back"),
            **{row.id: row.stays for row in self.rows if row.stays is not None},
        }

    @cached_property
    def compacted(self) -> frozenset[str]:
        """The row with the provider's newest item, once it is a fold, and all before it, which the provider skips."""
        folds = [i for i, row in enumerate(self.rows) if row.kind == "fold" and row.compacts]
        if not folds or any(map(attrgetter("compacts"), self.rows[folds[-1] + 1 :])):
            return frozenset()
        return frozenset(map(_id_of, self.rows[: folds[-1] + 1]))

    @cached_property
    def recalled(self) -> frozenset[str]:
        """The rows with what the model looked up again, and that fewer than three replies follow."""
        replies = [i for i, row in enumerate(self.rows) if row.is_reply]
        near = self.rows[replies[-4] if len(replies) > 3 else 0 :]
        made = [call for row in near if row.calls for message in row.messages for call in message.calls]
        calls = {call.id for call in made if call.name in RECALL}
        since = self.rows[replies[-3] if len(replies) > 2 else 0 :] if calls else ()
        return frozenset([row.id for row in since if not calls.isdisjoint(row.results)])

    @cached_property
    def offered(self) -> tuple[Block, ...]:
        """The blocks a strategy may cover, oldest first."""
        kept = self._kept.keys()
        return tuple([block for block in self.blocks if not block.open and kept.isdisjoint(block.covers)])

    @cached_property
    def held(self) -> int:
        """Tokens that are left when everything on offer is gone."""
        return self.tokens - sum(map(_tokens_of, self.offered))

    @cached_property
    def fixed(self) -> int:
        """Tokens that no reduction can take: the frame, notes, and what a person pinned or brought back."""
        rows = [row.tokens for row in self.rows if row.pinned or row.kind == "note" or row.id in self.exempt]
        return self.overhead + self.frame.tokens + sum(rows)

    def oldest(self, *, leaving: int, but: Sequence[Row] = ()) -> Span:
        """The oldest blocks on offer, as many as must go so that the view keeps at most `leaving` tokens."""
        spare = set(map(_id_of, but))
        taken: list[Row] = []
        left = self.tokens
        for block in self.offered:
            if left <= leaving:
                break
            if spare.isdisjoint(block.covers):
                taken.extend(block.rows)
                left -= block.tokens
        return Span(tuple(taken))

    def newest(self, tokens: int) -> Span:
        """The newest blocks that together cost at most `tokens`."""
        at = len(self.rows)
        for block in reversed(self.blocks):
            tokens -= block.tokens
            if tokens < 0:
                break
            at -= len(block.rows)
        return Span(self.rows[at:])

    def row(self, id: str) -> Row | None:
        """The row with this id, if it is visible."""
        return self._by_id.get(id)

    @cached_property
    def _by_id(self) -> dict[str, Row]:
        return dict(zip(map(_id_of, self.rows), self.rows, strict=True))

    @property
    def stats(self) -> dict[str, int]:
        """Rows, entries and tokens by kind."""
        kinds = ("fold", "drop", "note")
        return {
            "rows": len(self.rows),
            "entries": sum(row.count for row in self.rows),
            "tokens": self.tokens,
            "bytes": self.size,
            "frame": self.frame.tokens,
            "pinned": round(sum(row.tokens * self.pinned_share(row) for row in self.rows)),
            "results": sum(row.tokens for row in self.rows if row.results),
            **{kind: sum(row.tokens for row in self.rows if row.kind == kind) for kind in kinds},
        }

    def __str__(self) -> str:
        return "\n".join([self._head, *map(str, self._lines)])

    def __repr__(self) -> str:
        return f"<View of {many(len(self.rows), 'row')}, {fill_of(self.tokens, self.room)}>"

    def _repr_html_(self) -> str:
        return rows_table(self._head, self._lines)

    @property
    def _head(self) -> str:
        edits = {why for row in self.rows for why in row.why}
        return view_line(self.title, self.tip, fill_of(self.tokens, self.room), len(edits))

    @property
    def _lines(self) -> list[RowLine]:
        rows = (self.frame, *self.rows) if self.frame.messages else self.rows
        return [row.line.marked(self.pinned_share(row) > 0 and not row.pinned) for row in rows]

    def pinned_share(self, row: Row) -> float:
        """How much of a row is pinned: all of it, or the pinned lines that stand in it, by characters."""
        if row.pinned or not self.pinned_texts:
            return float(row.pinned)
        shown = "\n".join([text_of(message, unescaped=True) for message in row.messages])
        lines = {line for text in self.pinned_texts for line in text.splitlines() if line.strip()}
        return sum(len(line) for line in lines if line in shown) / max(1, len(shown))


def _blocks(rows: Sequence[Row]) -> list[Block]:
    """The rows in groups: a call goes with all its results, a thought with what the model said right behind it."""
    ends = list(range(len(rows)))  # for each row, the last row that is bound to it
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
        thought = row.is_reply and row.is_thought
    blocks = []
    start = end = 0
    called: set[str] = set()
    answered: set[str] = set()
    for i, row in enumerate(rows):
        end = ends[i] if ends[i] > end else end
        if row.calls and row.kind != "fold":  # what a fold shows of a call is never answered
            called.update(row.calls)
        if row.results:
            answered.update(row.results)
        if i == end:
            blocks.append(Block(tuple(rows[start : i + 1]), open=not called <= answered))
            start = end = i + 1
            called, answered = set(), set()
    return blocks
