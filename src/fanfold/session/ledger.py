"""The ledger: what each thing in a session has cost, over all requests that carried it.

A bill is for a whole request. Its tokens are shared out in the order in which a provider reads a prompt: tool schemas
and system prompt, then the rows of the view, then what was sent beside them. What the cache held is the beginning of
the prompt, what was written to it comes next, and the rest was read afresh. So a row far up is cheap to send again,
and a row behind a break of the cache is not. The sums equal the bills to the token.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from fanfold.core.layout import show
from fanfold.core.log import Log
from fanfold.core.message import Call, Message, Part, Result, text_of
from fanfold.core.record import Billed, Frame, Move, Sent, TokenUsage, is_visible
from fanfold.core.view import Row, View
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import function_names
from fanfold.session.cache import model_of
from fanfold.session.state import State
from fanfold.stores.store import Tenant
from fanfold.strategies.handover.tools import Tools
from fanfold.text.cutting import short
from fanfold.text.json_text import to_json
from fanfold.tokens.models import Model
from fanfold.tokens.usage import cost

Kind = Literal[
    "output",
    "call",
    "person",
    "agent",
    "summary",
    "note",
    "system",
    "schema",
    "beside",
    "sub-agent",
    "summarizer",
]
PLACEHOLDER = 60
"""Tokens of the line that stands for an elided output (56 to 62 at the median in the recorded sessions)."""
_LABEL = 60
"""Characters of a message that tell it from others."""


class Thing(msgspec.Struct, frozen=True):
    """Something that takes room in requests: an output, a message, a tool's schema, a summary."""

    kind: Kind
    id: str = ""
    """The entry, the edit, or the session of a sub-agent; empty for what belongs to the frame."""
    label: str = ""
    tool: str = ""
    file: str = ""


class CostLine(msgspec.Struct, frozen=True, kw_only=True):
    """What one thing has cost so far."""

    thing: Thing
    requests: int
    """How many of the billed requests carried it."""
    input: int
    """Tokens read afresh."""
    cache_read: int
    cache_write: int
    output: int
    """Tokens that the model generated to say it."""
    again: int
    """Prompt tokens of all requests after the first that carried it."""
    cost: float | None
    """In dollars; None where the price of a model is not known."""
    again_cost: float | None

    @property
    def tokens(self) -> int:
        """All that was billed for it."""
        return self.input + self.cache_read + self.cache_write + self.output

    @property
    def spare(self) -> int:
        """Prompt tokens that eliding it after the first request would have spared, as far as that can be said."""
        return max(0, self.again - PLACEHOLDER * (self.requests - 1))

    @property
    def spare_cost(self) -> float | None:
        """The same in dollars."""
        return None if self.again_cost is None else self.again_cost * self.spare / max(1, self.again)


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has cost, thing by thing, the most expensive first."""

    lines: tuple[CostLine, ...]
    usage: TokenUsage
    """All bills together: of requests, of summaries by a model, and of sub-agents."""
    cost: float | None
    requests: int
    """How many requests were billed; those without a bill are not in the ledger."""
    unbilled: int

    def by(self, name: Literal["kind", "tool", "file"]) -> dict[str, int]:
        """Tokens by kind, by tool (its schema, calls and outputs), or by file; the most first."""
        sums: defaultdict[str, int] = defaultdict(int)
        for line in self.lines:
            if key := getattr(line.thing, name):
                sums[key] += line.tokens
        return dict(sorted(sums.items(), key=lambda pair: -pair[1]))

    def __str__(self) -> str:
        price = "–" if self.cost is None else f"${self.cost:,.2f}"
        requests = f"{self.requests:,} request{'s' * (self.requests != 1)}"
        head = f"{self.usage.total:,} tokens in {requests}, {price}"
        return "\n".join([head, *(_line(line) for line in self.lines[:10])])


def _line(line: CostLine) -> str:
    thing, price = line.thing, "–" if line.cost is None else f"${line.cost:,.2f}"
    label = " ".join(filter(None, (thing.tool, thing.label if thing.label != thing.tool else "")))
    return f"{line.tokens:>12,}  {price:>8}  ×{line.requests:<4} {thing.kind:<10} {thing.id[:8]:<8}  {label}"


def ledger(state: State) -> Ledger:
    """What everything in this session has cost, sub-agents and summaries by a model included."""
    state.read_whole()
    log, account = state.log, Account()
    things = Things(state)
    _book_requests(account, things)
    _book_replies(account, things)
    for name in dict.fromkeys(log.spawned.values()):
        usage, price = _bills_of(state.terms.tenant, name, {state.terms.name})
        account.book(Thing("sub-agent", name, name), usage, price)
    for spent in log.spent:
        account.book(Thing("summarizer", label="summaries by a model"), spent.usage, spent.cost or None)
    return account.close(billed=len(log.bills), unbilled=len(log.sent) - len(log.bills))


class Amount(msgspec.Struct):
    """What a thing has cost so far, before it is rounded."""

    input: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    output: float = 0.0
    cost: float = 0.0
    requests: int = 0
    first: float = 0.0
    """Prompt tokens of the first request that carried it."""
    first_cost: float = 0.0

    @property
    def prompt(self) -> float:
        """All tokens that were sent of it."""
        return self.input + self.cache_read + self.cache_write


class Account:
    """The amounts of all things, in the order in which they came up."""

    def __init__(self) -> None:
        self.amounts: defaultdict[Thing, Amount] = defaultdict(Amount)
        self.usage = TokenUsage()
        self._unpriced = False

    def bill(self, usage: TokenUsage) -> None:
        """Take a bill in, whose shares are booked one by one."""
        self.usage += usage

    def book(self, thing: Thing, usage: TokenUsage, price: float | None) -> None:
        """Book a whole bill on one thing."""
        self.bill(usage)
        amount = self.amounts[thing]
        for name in ("input", "cache_read", "cache_write"):
            setattr(amount, name, getattr(amount, name) + getattr(usage, name))
        amount.requests += 1
        self.say(thing, usage.output, price if usage.total else 0.0)

    def say(self, thing: Thing, tokens: float, price: float | None) -> None:
        """Book tokens that a model generated."""
        amount = self.amounts[thing]
        amount.output += tokens
        amount.cost += price or 0.0
        self._unpriced |= price is None

    def send(self, thing: Thing, cuts: Sequence[tuple[Region, float]]) -> None:
        """Book what a request carried of a thing, in counted tokens of each region."""
        amount, sent, dollars = self.amounts[thing], 0.0, 0.0
        for region, counted in cuts:
            tokens = counted * region.rate
            setattr(amount, region.name, getattr(amount, region.name) + tokens)
            sent, dollars = sent + tokens, dollars + tokens * (region.price or 0.0)
            self._unpriced |= region.price is None
        amount.requests += 1
        amount.cost += dollars
        if amount.requests == 1:
            amount.first, amount.first_cost = sent, dollars

    def close(self, *, billed: int, unbilled: int) -> Ledger:
        """The ledger, in whole tokens."""
        amounts = list(self.amounts.values())
        names = ("input", "cache_read", "cache_write", "output")
        columns = [
            _round([getattr(one, name) for one in amounts], getattr(self.usage, name)) for name in names
        ]
        lines = [
            CostLine(
                thing=thing,
                requests=amount.requests,
                **dict(zip(names, tokens, strict=True)),
                again=round(amount.prompt - amount.first),
                cost=None if self._unpriced else amount.cost,
                again_cost=None if self._unpriced else amount.cost - amount.first_cost,
            )
            for (thing, amount), *tokens in zip(self.amounts.items(), *columns, strict=True)
        ]
        return Ledger(
            lines=tuple(sorted(lines, key=lambda line: (-(line.cost or 0.0), -line.tokens))),
            usage=self.usage,
            cost=None if self._unpriced else sum(amount.cost for amount in amounts),
            requests=billed,
            unbilled=unbilled,
        )


def _round(shares: Sequence[float], total: int) -> list[int]:
    """Whole numbers near these shares whose sum is the total: the largest remainders are rounded up."""
    whole = [int(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda at: whole[at] - shares[at])
    for at in order[: max(0, total - sum(whole))]:
        whole[at] += 1
    return whole


class Region(NamedTuple):
    """A stretch of a prompt that was billed at one price."""

    name: Literal["cache_read", "cache_write", "input"]
    start: float
    end: float
    """In tokens as they were counted."""
    rate: float
    """Billed tokens for a counted one."""
    price: float | None
    """Dollars for a billed token."""


def _regions(usage: TokenUsage, counted: int, model: Model | None) -> list[Region]:
    """A prompt as its bill divides it: what the cache held, then what was written to it, then the rest."""
    rate, regions, start = usage.prompt / max(1, counted), [], 0.0
    for name in ("cache_read", "cache_write", "input"):
        tokens = getattr(usage, name)
        if tokens:
            end = start + tokens / rate
            regions.append(
                Region(name=name, start=start, end=end, rate=rate, price=_price(usage, name, model))
            )
            start = end
    return regions


def _price(usage: TokenUsage, name: str, model: Model | None) -> float | None:
    """Dollars for one token of a kind, in a request of this size."""
    if model is None or model.prices is None:
        return None
    tier = replace(model.prices.at(usage.prompt), tiers=())
    hour = usage.cache_write_1h if name == "cache_write" else 0
    alone = TokenUsage(**{name: getattr(usage, name)}, cache_write_1h=hour)
    return cost(alone, replace(model, prices=tier)) / int(getattr(usage, name))


# What a request was made of

_BESIDE = Thing("beside", label="parameters, context, and what the provider adds")
_LOST = Thing("agent", label="replies that were not recorded")
_TABLE = Tools()


class PromptPiece(NamedTuple):
    """A piece of a prompt, and the things that share it, each with its share."""

    tokens: int
    things: tuple[tuple[Thing, float], ...]


def _book_requests(account: Account, things: Things) -> None:
    """Share out the bills of all requests."""
    state = things.state
    for requests in _stretches(state.log):
        last = requests[-1][0]
        view = show(state.log, last.tip, last.version, state.gauge)
        pieces = [things.frame(view), *map(things.row, view.rows)]
        places = {row.id: at for at, row in enumerate(view.rows, 2)}
        for sent, usage in requests:
            _book_request(account, pieces[: places.get(str(sent.tip), len(pieces))], sent, usage)


def _stretches(log: Log) -> Iterator[list[tuple[Sent, TokenUsage]]]:
    """The billed requests, in order, and apart where something was edited between: till then each of them shows the
    rows of the one before, and more, so that one view serves all."""
    breaks, version = [], 0
    for record in log.records:
        version += is_visible(record)
        if is_visible(record) and not (isinstance(record, Move) and record.how == "append"):
            breaks.append(version)
    bills = [(log.sent[number], bill.usage) for number, bill in sorted(log.bills.items())]
    for _, stretch in groupby(bills, key=lambda one: bisect_right(breaks, one[0].version)):
        yield list(stretch)


def _book_request(account: Account, pieces: Sequence[PromptPiece], sent: Sent, usage: TokenUsage) -> None:
    """Share out the bill of one prompt. What no piece has, such as parameters and a context, stands at its end."""
    account.bill(replace(usage, output=0, reasoning=0))
    counted = sum(piece.tokens for piece in pieces)
    beside = PromptPiece(max(not counted, sent.tokens - counted), ((_BESIDE, 1.0),))
    regions = _regions(usage, counted + beside.tokens, model_of(sent))
    start = 0.0
    for piece in (*pieces, beside):
        end = start + piece.tokens
        cuts = [(region, min(region.end, end) - max(region.start, start)) for region in regions]
        for thing, share in piece.things if piece.tokens else ():
            account.send(thing, [(region, share * tokens) for region, tokens in cuts if tokens > 0])
        start = end


class Things:
    """Tells what the pieces of a session's requests are."""

    def __init__(self, state: State) -> None:
        self.state = state
        log = state.log
        heads = {
            record.head for record in log.records if isinstance(record, Move) and record.head is not None
        }
        said = [log.message(id) for id in {*heads, *state.path}]
        self._calls = {call.id: call for message in said for call in message.calls}

    def frame(self, view: View) -> PromptPiece:
        """Tool schemas and system prompt: each tool is a thing of its own."""
        frame = self.state.log.frame(view.version)
        dialect = frame.dialect or self.state.dialect.name
        things = [(_schema(tool, dialect), len(to_json(tool))) for tool in frame.tools]
        words = sum(len(text_of(message)) for message in frame.system)
        if words:
            things.append((Thing("system", label="system prompt"), words))
        return _piece(view.frame.tokens + view.overhead, things or [(_BESIDE, 1)])

    def row(self, row: Row) -> PromptPiece:
        """A row: each part of a message is a thing of its own, a summary is one."""
        if row.kind in ("entry", "mend"):
            return _piece(row.tokens, self.parts(row.id, row.messages))
        words = " ".join(filter(None, map(text_of, row.messages)))
        thing = Thing("note" if row.kind == "note" else "summary", row.id, short(words, _LABEL))
        return _piece(row.tokens, [(thing, 1)])

    def parts(self, id: str, messages: Sequence[Message]) -> list[tuple[Thing, int]]:
        """The parts of some messages as things, each with what it weighs."""
        parts = [(message.role, part) for message in messages for part in message.parts]
        if len(parts) < 2:
            return [(self._part(id, role, part), 1) for role, part in parts] or [(Thing("agent", id), 1)]
        weigh = self.state.gauge.meter.message
        return [(self._part(id, role, one), max(1, weigh(Message(role, (one,))))) for role, one in parts]

    def _part(self, id: str, role: str, part: Part) -> Thing:
        match part:
            case Call():
                use = _TABLE.use(part)
                return Thing(
                    kind="call", id=id, label=short(use.subject, _LABEL), tool=part.name, file=use.path
                )
            case Result(call=asked) if asked in self._calls:
                use = _TABLE.use(self._calls[asked])
                return Thing(
                    kind="output", id=id, label=short(use.subject, _LABEL), tool=use.tool, file=use.path
                )
            case Result():
                return Thing("output", id, short(part.text, _LABEL), part.name or "")
            case _:
                return Thing("agent" if role == "assistant" else "person", id, short(text_of(part), _LABEL))


def _piece(tokens: int, weighed: Sequence[tuple[Thing, int]]) -> PromptPiece:
    whole = sum(weight for _, weight in weighed) or 1
    return PromptPiece(tokens, tuple((thing, weight / whole) for thing, weight in weighed))


def _schema(tool: object, dialect: str) -> Thing:
    names = function_names(Frame((), (tool,), dialect), dialect) if dialect in DIALECTS else ()
    return Thing("schema", label="schema", tool=next(iter(names), "a provider's tool"))


# What was said in reply, and by others


def _book_replies(account: Account, things: Things) -> None:
    """Book what the model generated on the messages that it said."""
    log = things.state.log
    said: list[tuple[str, Message]] = []
    for record in log.records:
        match record:
            case Sent():
                said = []
            case Move(head=str(head), how="append"):
                said.append((head, log.tree[head].message))
            case Billed(sent=number, usage=usage):
                spoken = [things.parts(id, (message,)) for id, message in said if message.role == "assistant"]
                weighed = [one for parts in spoken for one in parts]
                _book_reply(account, _piece(1, weighed or [(_LOST, 1)]), log.sent[number], usage)


def _book_reply(account: Account, piece: PromptPiece, sent: Sent, usage: TokenUsage) -> None:
    account.bill(TokenUsage(output=usage.output))
    price = _price(usage, "output", model_of(sent)) if usage.output else 0.0
    for thing, share in piece.things:
        tokens = usage.output * share
        account.say(thing, tokens, None if price is None else tokens * price)


def _bills_of(tenant: Tenant, name: str, above: set[str]) -> tuple[TokenUsage, float | None]:
    """What a sub-agent's session was billed, its own sub-agents included."""
    log = Log(tenant.tree, tenant.store.load(tenant.name, name).records)
    bills = [
        (bill.usage, _cost(bill.usage, model_of(log.sent[number]))) for number, bill in log.bills.items()
    ]
    bills += [(spent.usage, spent.cost or None) for spent in log.spent]
    bills += [_bills_of(tenant, one, above | {name}) for one in log.spawned.values() if one not in above]
    usage = sum((usage for usage, _ in bills), TokenUsage())
    return usage, None if any(price is None for _, price in bills) else sum(
        price or 0.0 for _, price in bills
    )


def _cost(usage: TokenUsage, model: Model | None) -> float | None:
    return cost(usage, model) if model is not None and model.prices is not None else None
