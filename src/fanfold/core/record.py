"""Records: what a session writes, in order. Those in `Visible` change the view and count as versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Literal, get_args

import msgspec
from msgspec.structs import replace

from fanfold.core.budget import Learned
from fanfold.core.edit import Decision, Note, Pin
from fanfold.core.errors import BadInput
from fanfold.core.ids import canonical, digest
from fanfold.core.message import Message

MOST_TOKENS = 10**10
"""No request has more tokens; a larger figure is a mistake."""


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tokens of a request. Input, output, cache_write and cache_read are disjoint."""

    input: int = 0
    """Read afresh: neither from the cache nor written to it."""
    output: int = 0
    """All that was generated, reasoning included."""
    cache_write: int = 0
    cache_read: int = 0
    cache_write_1h: int = 0
    """The share of `cache_write` that is kept for an hour."""
    reasoning: int = 0
    """The share of `output` that was reasoning, where the provider says so."""

    def __post_init__(self) -> None:
        told = msgspec.structs.astuple(self)
        if set(map(type, told)) != {int} or min(told) < 0 or max(told) > MOST_TOKENS:
            list(map(checked_tokens, self.__struct_fields__, told))
        if self.cache_write_1h > self.cache_write:
            raise BadInput(f"{self.cache_write_1h} tokens written for an hour, {self.cache_write} in all.")

    @property
    def total(self) -> int:
        """Every token, once."""
        return self.prompt + self.output

    @property
    def prompt(self) -> int:
        """All that was sent, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def cache_creation(self) -> int:
        """Another name for `cache_write`."""
        return self.cache_write

    def __add__(self, other: TokenUsage) -> TokenUsage:
        fields = msgspec.structs.asdict(self).items()
        return TokenUsage(**{name: value + getattr(other, name) for name, value in fields})


def checked_tokens(name: str, value: object) -> int:
    """A number of tokens that a request can have; BadInput if it is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(f"{name} is no number of tokens: {str(value)[:60]!r}.")
    if not 0 <= value <= MOST_TOKENS:
        raise BadInput(f"{name} cannot be {str(value)[:60]} tokens.")
    return value


class Frame(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """System prompt and tool schemas: beside the chain, because changing them begins no new conversation."""

    system: tuple[Message, ...] = ()
    tools: tuple[Any, ...] = ()
    dialect: str | None = None
    """The wire format that the tools are written in."""

    @cached_property
    def id(self) -> str:
        """The hash of everything in the frame."""
        return digest(canonical((self.system, self.tools)))

    @cached_property
    def words(self) -> str:
        """The hash of the words of the system prompt; empty where there are none."""
        told = "\n".join([message.text for message in self.system])
        return digest(told.encode("utf-8", "surrogatepass")) if told else ""


How = Literal["append", "rewind", "forward", "reset", "merge", "fork"]
"""`fork` was written by earlier releases, where a fork took no edits along."""


class Move(msgspec.Struct, frozen=True, gc=False, tag="moved", omit_defaults=True):
    """The head moved: something was said, or the session went back, forward or elsewhere."""

    head: str | None
    how: How = "append"
    was: str | None = None
    time: float = 0.0


class Framed(msgspec.Struct, frozen=True, tag="framed"):
    """The system prompt or the tools are these from now on."""

    frame: Frame


class Edited(msgspec.Struct, frozen=True, tag="edited", omit_defaults=True):
    """A plan was committed: all its decisions at once, and what asked for it if not the size of the view."""

    decisions: tuple[Decision, ...]
    time: float = 0.0
    cause: str = ""


class Replaced(msgspec.Struct, frozen=True, tag="redressed"):
    """A client re-sent its history with another body in this place."""

    entry: str
    message: Message


class Inherited(msgspec.Struct, frozen=True, tag="carried"):
    """Edits made elsewhere stand on the paths through this entry too."""

    edits: tuple[str, ...]
    at: str | None


class Erased(msgspec.Struct, frozen=True, tag="erased", omit_defaults=True):
    """The content of an entry was destroyed on purpose."""

    entry: str
    reason: str
    time: float = 0.0


class Released(msgspec.Struct, frozen=True, tag="released"):
    """What a person undid may be edited automatically again."""

    edit: str


class Sent(msgspec.Struct, frozen=True, gc=False, tag="sent", omit_defaults=True):
    """A request that went out: what the model saw."""

    tip: str | None
    version: int
    frame: str
    params: Any
    tokens: int
    """By the meter itself, whatever bills taught."""
    digest: str
    context: str | None = None
    left_out: tuple[str, ...] = ()
    """What was not sent: parts that these parameters forbid or this dialect cannot say (`entry#part`), and why."""
    time: float = 0.0
    guessed: int = 0
    hidden: int = 0
    """Those of its tokens that no tokenizer of the model counted, and sealed reasoning that may come on top."""
    loaded: tuple[str, ...] = ()
    """The tools that wait until they are needed, and were needed here."""
    whole: int = 0
    over: bool = False
    """What it would have taken with all that was said, by the meter itself (0: 0.1 wrote it); if that is too long."""


class Billed(msgspec.Struct, frozen=True, tag="billed", omit_defaults=True):
    """What the provider counted for a request, and why it says that its cache missed, if it was asked for that."""

    sent: int
    usage: TokenUsage
    missed: str = ""


class Taught(msgspec.Struct, frozen=True, tag="taught", omit_defaults=True):
    """What bills and refusals taught so far about this model, as this meter counts."""

    model: str
    meter: str
    learned: Learned
    most: int | None = None
    """The longest prompt that the provider takes, in its own tokens, where a refusal told."""
    most_bytes: int | None = None


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """A model's answer, kept so that the same question is not asked twice."""

    key: str
    text: str
    sources: tuple[str, ...]
    """The rows the question was made from."""


class Looked(msgspec.Struct, frozen=True, tag="looked"):
    """What is kept up to date beside the conversation was looked at: no second look before somebody asks again."""

    about: str
    """The name of what is kept up to date."""
    request: str
    """The last request of a person at that time."""


class Spent(msgspec.Struct, frozen=True, tag="spent", omit_defaults=True):
    """What asking models for summaries was billed in one reduction; the cost is in dollars, as far as it is known."""

    usage: TokenUsage
    cost: float = 0.0


class Replied(msgspec.Struct, frozen=True, tag="replied"):
    """A reply of this id, in the provider's own words, ended here."""

    reply: str
    head: str | None


class Spawned(msgspec.Struct, frozen=True, tag="spawned"):
    """A sub-agent's session belongs to this call."""

    call: str
    session: str


class Opened(msgspec.Struct, frozen=True, tag="opened", omit_defaults=True):
    """What the session was opened with: it is opened so again, unless it is told otherwise."""

    model: str | None = None
    dialect: str | None = None
    inferred: bool = False
    """Whether the model told the dialect; then another model tells it anew."""
    window: int | None = None
    strategy: tuple[Any, ...] = ()
    """How to reduce, where that was said by names: each one a name, or a table with a name."""
    coded: str = ""
    """What a strategy is called that code gave, and that cannot be had again."""
    defer: float | None = None
    """The share of the window that tool schemas may take before they wait; below 0: they never wait."""
    labels: dict[str, str] = {}
    parent: str = ""
    """What the caller says of it: its client, the client's own id; the session that it was forked or spawned from."""


class Branched(msgspec.Struct, frozen=True, tag="branched", omit_defaults=True):
    """Somebody else wrote first: these messages are kept beside the path, up to this entry."""

    head: str
    time: float = 0.0


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What models read of an output in the place of the whole: what the caller's own filters left of it."""

    blob: str | None = None
    """Where it is kept; None where the log has it: in the edit of the filter, or in the entry that shows a blob."""
    size: int = 0
    lines: int = 0
    index: str | None = None
    """The blob that says where its lines begin."""


class Kept(msgspec.Struct, frozen=True, tag="kept", omit_defaults=True):
    """An output, or what an edit hides, has a reference by which it is found again."""

    ref: str
    address: str
    """`entry#part`, or the id of the edit that hides it."""
    blob: str | None = None
    """The whole of it, where its entry holds a clipped view only."""
    size: int = 0
    lines: int = 0
    media: str = "text/plain"
    index: str | None = None
    """The blob that says where its lines begin."""
    gone: str | None = None
    """Why the content was destroyed, if it was."""
    failed: tuple[str, ...] = ()
    """The filters that failed when it arrived, and how."""
    by: str = ""
    """The filters that made the view of a blob which its entry holds."""
    told: Told | None = None
    """What models read instead, if the caller's own filters changed it; the whole is for people."""

    @property
    def blobs(self) -> tuple[str, ...]:
        """The blobs in which it, and what models read of it, are or were kept."""
        told = (self.told.blob, self.told.index) if self.told else ()
        return tuple(blob for blob in (self.blob, self.index, *told) if blob is not None)

    @property
    def is_part(self) -> bool:
        """Whether it is a part of an entry, not what an edit hides."""
        return "#" in self.address

    @property
    def entry(self) -> str:
        """The entry whose part this is, or the edit."""
        return self.address.rpartition("#")[0] or self.address


Visible = Move | Framed | Edited | Replaced | Inherited | Erased
Beside = (
    Released | Sent | Billed | Taught | Answered | Spawned | Branched | Kept | Replied | Spent | Opened | Looked
)  # fmt: skip
Record = Visible | Beside
VISIBLE = frozenset(get_args(Visible))
"""The kinds of records that change the view: to look a type up is faster than `isinstance` with six kinds."""


class Totals(msgspec.Struct, frozen=True, omit_defaults=True):
    """What all requests of a session came to. Plain numbers: a long session has more tokens than any request."""

    sent: int = 0
    prompt: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0
    """The tokens of all requests by the meter itself; what was billed for them: tokens sent, and of these read from the
    cache and written to it; and replies."""
    asked: int = 0
    asked_cost: float = 0.0
    """What asking models for summaries took, in tokens and in dollars."""
    spared: int = 0
    whole: int = 0
    over: int = 0
    """The tokens that edits save in a request now; those of all requests with everything in them, and how many of these
    are too long."""

    def __add__(self, record: Record) -> Totals:
        match record:
            case Sent(tokens=tokens):
                whole = record.whole or tokens + max(0, self.spared)
                over = self.over + record.over
                return replace(self, sent=self.sent + tokens, whole=self.whole + whole, over=over)
            case Edited(decisions=decisions):
                made = (one for one in decisions if not isinstance(one.edit, Note | Pin))
                return replace(self, spared=self.spared + sum(one.before - one.after for one in made))
            case Billed(usage=usage):
                return replace(
                    self,
                    prompt=self.prompt + usage.prompt,
                    cached=self.cached + usage.cache_read,
                    output=self.output + usage.output,
                    written=self.written + usage.cache_write,
                )
            case Spent(usage=usage, cost=cost):
                return replace(self, asked=self.asked + usage.total, asked_cost=self.asked_cost + cost)
        return self


def entries_of(record: Record) -> Iterator[str]:
    """The entries that a record names: where it stands, and what it is about."""
    named: tuple[str | None, ...] = ()
    match record:
        case Move(head=head, was=was):
            named = (head, was)
        case Branched(head=head) | Replied(head=head):
            named = (head,)
        case Sent(tip=at) | Inherited(at=at) | Replaced(entry=at) | Erased(entry=at) | Looked(request=at):
            named = (at,)
        case Edited(decisions=decisions):
            named = tuple(decision.at for decision in decisions)
        case Kept():
            named = (record.entry,) if record.is_part else ()
    yield from (id for id in named if id is not None)


def blobs_of(records: Iterable[Record]) -> Iterator[str]:
    """The blobs that some records refer to."""
    for record in records:
        if isinstance(record, Kept) and record.gone is None:
            yield from record.blobs


def is_visible(record: object) -> bool:
    """Whether a record changes the view, and so counts as a version."""
    return type(record) in VISIBLE


def versions(records: Iterable[Record]) -> int:
    """How many of some records change the view."""
    return sum(map(VISIBLE.__contains__, map(type, records)))
