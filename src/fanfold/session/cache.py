"""Why did the cache miss? Each request is compared with the one before it, and with its bill.

A provider's prompt cache holds the beginning of a prompt. A request that begins as the last one did is read from it up
to the first difference. So what could be read is known from the two requests, what was read from the bill, and what
broke it is the first difference; where there is none, it is time, or the provider.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from fanfold.config.events import CacheBroken
from fanfold.core.edit import RECALL, Decision, Repair, covers_of
from fanfold.core.errors import NotFound
from fanfold.core.layout import show
from fanfold.core.log import Log
from fanfold.core.message import text_of, user
from fanfold.core.record import Erased, Frame, Move, Record, Sent, TokenUsage, is_visible
from fanfold.core.view import Row, View
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import function_names
from fanfold.session.client_marks import is_marked, marks_of, unmarked, wires_of
from fanfold.session.state import State
from fanfold.text.cutting import short
from fanfold.text.json_text import to_json
from fanfold.tokens.models import Model, lookup
from fanfold.tokens.usage import cost

Cause = Literal[
    "first",
    "model",
    "tools",
    "system",
    "params",
    "edit",
    "changed",
    "path",
    "note",
    "expired",
    "short",
    "provider",
    "marks",
]
KEPT_FOR = {"anthropic": 300.0, "openai.chat": 600.0, "openai.responses": 600.0, "gemini": 300.0}
"""Seconds for which each provider keeps a prompt that nobody uses; an hour where the marks that were sent say so."""
SOONEST = min(KEPT_FOR.values())
_HOUR = 3600.0
_LIFETIMES = {"5m": 300.0, "30m": 1800.0, "1h": _HOUR, "12h": 12 * _HOUR, "24h": 24 * _HOUR}
"""How long a prompt is kept, in the words of the marks and parameters that say so."""
LEAST = 1_024
"""Tokens of the shortest prompt that is cached, where the table of models does not say."""
_STEP = 128
"""Providers cache in steps: a miss of fewer tokens is none."""
_HARMLESS = frozenset(
    {
        *(
            "model",
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "temperature",
            "top_p",
            "top_k",
            "seed",
        ),
        *("stop", "stop_sequences", "stream", "stream_options", "store", "user", "metadata", "service_tier"),
        *("diagnostics", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "timeout"),
    }
)
"""Parameters that no provider makes a part of the prompt."""


class Break(msgspec.Struct, frozen=True, omit_defaults=True):
    """What kept a provider from reading a prompt out of its cache."""

    cause: Cause
    by: str
    """client, caller, person, auto (an edit that a strategy made), mend, model, time or provider."""
    where: str = ""
    """The row, the edit, the tool or the parameter."""
    what: str = ""
    """What is different, in a few words."""

    def __str__(self) -> str:
        where = f" {self.where[:12]}" if self.where else ""
        what = f": {self.what}" if self.what not in ("", self.by) else ""
        return f"{self.cause}{where} (by {self.by}){what}"


class CacheUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one request read from the provider's cache, and what it could have read."""

    request: int
    prompt: int
    """Its tokens, as billed; as counted where there is no bill."""
    could: int
    """Tokens at its beginning that the request before had just so."""
    read: int | None
    """Tokens that were read from the cache; None where there is no bill."""
    again: int
    """Tokens that were sent before and had to be read afresh all the same."""
    broken: Break | None
    """What broke the cache; None where all that was sent before was read from it."""
    cost: float | None
    """What the miss cost, in dollars; None where no price is known."""
    told: str = ""
    """What the provider itself says about the miss, in its word, where it was asked for that."""

    def __str__(self) -> str:
        read = "–" if self.read is None else f"{self.read:,}"
        price = "" if not self.cost else f"  ${self.cost:,.4f}"
        head = f"{self.request:>4}  {self.prompt:>9,}  {self.could:>9,}  {read:>9}  {self.again:>8,}"
        return f"{head}{price}  {self.broken}" if self.broken else head


def no_request(log: Log, number: object) -> NotFound:
    """The error that a request was never sent."""
    count = len(log.sent)
    which = (
        f"{count:,} were sent, numbered from 0 to {count - 1:,}" if count > 1 else "one was sent, number 0"
    )
    return NotFound(f"There is no request {number!r}: {which if count else 'none was sent yet'}.")


def cache(state: State, number: int = -1) -> CacheUse:
    """What a request read from the provider's cache, what it could have read, and why it did not."""
    state.read_whole()
    sent, count = state.log.sent, len(state.log.sent)
    if not isinstance(number, int) or not -count <= number < count:
        raise no_request(state.log, number)
    at = number % count
    usage = _usage(state.log, at)
    if at == 0:
        return _use(at, sent[0], usage, 0, 0, Break("first", "caller", what="nothing was sent before"), None)
    last, now = sent[at - 1], sent[at]
    shared, again, broken = _compare(state, last, now)
    scale = _scale(state.log, at - 1) or _scale(state.log, at) or 1.0
    could, again, model = round(shared * scale), round(again * scale), model_of(now)
    missed = could - usage.cache_read if usage else 0
    if missed > max(_STEP, could // 50):
        broken = broken or _unbroken(state, at, could, model)
        again += missed
    if usage:
        again = min(again, usage.prompt - usage.cache_read)  # what was counted may be more than was billed
    told = state.log.bills[at].missed if at in state.log.bills else ""
    if told and broken is not None and broken.cause == "provider":
        broken = replace(broken, what=f"{broken.what}; the provider says: {told}")
    return replace(_use(at, now, usage, could, again if broken else 0, broken, model), told=told)


def tell_break(state: State) -> None:
    """Tell a user interface that the last request broke the cache, if somebody listens."""
    if not state.terms.hooks.on_event or len(state.log.sent) < 2:
        return
    use = cache(state)
    if use.broken is not None and use.again:
        broken = use.broken
        event = CacheBroken(
            request=use.request,
            cause=broken.cause,
            by=broken.by,
            where=broken.where,
            what=broken.what,
            again=use.again,
            cost=use.cost,
        )
        state.tell([event])


def _use(
    at: int,
    sent: Sent,
    usage: TokenUsage | None,
    could: int,
    again: int,
    broken: Break | None,
    model: Model | None,
) -> CacheUse:
    return CacheUse(
        request=at,
        prompt=usage.prompt if usage else sent.tokens,
        could=could,
        read=usage.cache_read if usage else None,
        again=again,
        broken=broken,
        cost=_price(again, usage, model) if again else 0.0,
    )


def _usage(log: Log, at: int) -> TokenUsage | None:
    return log.bills[at].usage if at in log.bills else None


def _scale(log: Log, at: int) -> float | None:
    """Billed tokens for a counted one, in one request."""
    usage = _usage(log, at)
    return usage.prompt / log.sent[at].tokens if usage and log.sent[at].tokens else None


def model_of(sent: Sent) -> Model | None:
    """The model that a request was made for, if the table knows it."""
    name = sent.params.get("model") if isinstance(sent.params, Mapping) else None
    return lookup(str(name)) if name else None


def _price(again: int, usage: TokenUsage | None, model: Model | None) -> float | None:
    """What it costs more to send tokens afresh than to read them from the cache."""
    if model is None or model.prices is None:
        return None
    written = usage is not None and usage.cache_write > 0
    flat = replace(model, prices=replace(model.prices.at(usage.prompt if usage else again), tiers=()))
    afresh = TokenUsage(cache_write=again) if written else TokenUsage(input=again)
    return cost(afresh, flat) - cost(TokenUsage(cache_read=again), flat)


# Where two requests differ first


def _compare(state: State, last: Sent, now: Sent) -> tuple[int, int, Break | None]:
    """Counted tokens at the beginning that two requests share, those behind it that were sent before, and the break."""
    log = state.log
    if found := next(_frame_breaks(log, last, now, state.dialect.name), None):
        shared = 0 if found.cause == "model" else _frame_tokens(state, last, now)
        return shared, min(last.tokens, now.tokens) - shared, found
    if last.loaded != now.loaded and (found := _loading_break(state, last, now)):
        return 0, min(last.tokens, now.tokens), found
    if last.params == now.params and not _changes(log, last.version, now.version):
        # Nothing but new messages: the rows of the last request are the first of this one.
        return last.tokens - _context_tokens(state, last), 0, None
    one, two = (show(log, sent.tip, sent.version, state.gauge) for sent in (last, now))
    pairs = list(zip(one.rows, two.rows, strict=False))
    erased = _erased_between(log, last.version, now.version)  # a view of the past shows the stub, too
    same = len(list(takewhile(lambda pair: _is_same(*pair) and erased.isdisjoint(pair[0].covers), pairs)))
    head = two.overhead + two.frame.tokens
    if found := _param_break(last.params, now.params):
        return head, _tokens(two.rows, {row.weight.digest for row in one.rows}), found
    if same == len(one.rows):
        return last.tokens - _context_tokens(state, last), 0, None
    before = {row.weight.digest for row in one.rows[same:]}
    shared = head + sum(row.tokens for row in two.rows[:same])
    return shared, _tokens(two.rows[same:], before), _row_break(state, last, now, one, two, same)


def _frame_tokens(state: State, last: Sent, now: Sent) -> int:
    """Tokens of tools and system prompt up to where those of two requests differ."""
    old, new = (_frame_text(state.log.frame(sent.version)) for sent in (last, now))
    same, whole = (state.gauge.message(user(text)).tokens for text in (new[: _alike(old, new)], new))
    return show(state.log, now.tip, now.version, state.gauge).frame.tokens * same // max(1, whole)


def _frame_text(frame: Frame) -> str:
    """Tools and system prompt as one text, in the order in which providers read them."""
    return "".join((*map(to_json, frame.tools), *map(text_of, frame.system)))


def _context_tokens(state: State, sent: Sent) -> int:
    """Tokens at the end of a request that went with it alone, so that no later one can begin with them."""
    return state.gauge.message(user(sent.context)).tokens if sent.context else 0


def _is_same(one: Row, two: Row) -> bool:
    return one.weight.digest == two.weight.digest


def _tokens(rows: Sequence[Row], sent: set[Any]) -> int:
    """Tokens of the rows that were sent before."""
    return sum(row.tokens for row in rows if row.weight.digest in sent)


class _Changes:
    """What changed the view of one log, but for new messages, with the version that each made.

    A time line asks between any two requests: reading the whole log for each would make it quadratic.
    """

    def __init__(self) -> None:
        self._count, self._version = 0, 0
        self._ends: tuple[Record, ...] = ()
        self._versions: list[int] = []
        self._records: list[Record] = []

    def goes_on(self, records: Sequence[Record]) -> bool:
        """Whether this was read from the beginning of these records, and nothing of that was rewritten."""
        if not self._count:
            return True
        ends = (records[0], records[self._count - 1]) if self._count <= len(records) else ()
        return len(ends) == 2 and all(one is two for one, two in zip(ends, self._ends, strict=True))

    def read_on(self, records: Sequence[Record]) -> None:
        """Read what is new."""
        new = records[self._count :]
        self._count = len(records)
        self._ends = (records[0], records[-1]) if records else ()
        for record in new:
            if not is_visible(record):
                continue
            self._version += 1
            if not (isinstance(record, Move) and record.how == "append"):
                self._versions.append(self._version)
                self._records.append(record)

    def between(self, first: int, last: int) -> Sequence[Record]:
        """What came after one version, up to another."""
        return self._records[bisect_right(self._versions, first) : bisect_right(self._versions, last)]


_KNOWN: WeakKeyDictionary[Log, _Changes] = WeakKeyDictionary()


def _changes(log: Log, first: int, last: int) -> Sequence[Record]:
    """What changed the view between two versions, but for new messages."""
    known = _KNOWN.get(log)
    if known is None or not known.goes_on(log.records):
        known = _KNOWN[log] = _Changes()
    known.read_on(log.records)
    return known.between(first, last)


def _erased_between(log: Log, first: int, last: int) -> set[str]:
    return {record.entry for record in _changes(log, first, last) if isinstance(record, Erased)}


def _frame_breaks(log: Log, last: Sent, now: Sent, dialect: str) -> Iterator[Break]:
    """How two requests differ before their first message."""
    old, new = log.frame(last.version), log.frame(now.version)
    models = [str(sent.params.get("model", "")) for sent in (last, now)]
    if models[0] != models[1]:
        yield Break("model", "caller", models[1], f"{models[0]} before")
    if unmarked(old.tools) != unmarked(new.tools):
        yield _tool_break(old, new, dialect, _edits_between(log, last.version, now.version))
    if [text_of(one) for one in old.system] != [text_of(one) for one in new.system]:
        one, two = ("\n".join(map(text_of, frame.system)) for frame in (old, new))
        yield Break("system", "client", what=_difference(one, two))


def _loading_break(state: State, last: Sent, now: Sent) -> Break | None:
    """The tool that waited and came, or was let go, where that changed the beginning of the prompt."""
    offers = [
        state.deferral.offer(log.frame(sent.version), show(log, sent.tip, sent.version, state.gauge).rows)
        for log, sent in ((state.log, last), (state.log, now))
    ]
    there = [[tool for tool in offer.sent.tools if not _waits(tool)] if offer else [] for offer in offers]
    if there[0] == there[1]:
        return None
    came = [name for name in now.loaded if name not in last.loaded]
    if came:
        return Break("tools", "model", came[0], f"{_many(came)} came, because it was needed")
    gone = [name for name in last.loaded if name not in now.loaded]
    return Break("tools", "auto", gone[0], f"{_many(gone)} left, because nothing needs it") if gone else None


def _waits(tool: Any) -> bool:
    return isinstance(tool, Mapping) and tool.get("defer_loading") is True


def _moved_marks(log: Log, last: Sent, now: Sent) -> Break | None:
    """A cache mark of the caller's that stands elsewhere, lasts for another time, or is gone."""
    for name in ("cache_control", "prompt_cache_options", "prompt_cache_retention"):
        one, two = (_without_comparison(sent.params.get(name)) for sent in (last, now))
        if one != two:
            return Break("marks", "caller", name, f"{to_json(one)} became {to_json(two)}")
    old, new = log.frame(last.version), log.frame(now.version)
    for where, one, two in (("tools", old.tools, new.tools), ("system", wires_of(old), wires_of(new))):
        if one != two and unmarked(one) == unmarked(two):
            return Break("marks", "client", where, "its cache marks stand elsewhere")
    return None


def _without_comparison(options: Any) -> Any:
    """What was said about the cache, without the response that OpenAI is to compare with."""
    if not isinstance(options, Mapping):
        return options
    return {name: value for name, value in options.items() if name != "comparison_response_id"} or None


def _tool_break(old: Frame, new: Frame, dialect: str, edits: Sequence[Decision]) -> Break:
    one, two = (_by_name(frame, frame.dialect or dialect) for frame in (old, new))
    gone, came = [name for name in one if name not in two], [name for name in two if name not in one]
    changed = [name for name in two if name in one and one[name] != two[name]]
    words = [set(" ".join(names).split()) for names in (one, two)]  # Gemini has several tools in one group
    if edits and words[0] != words[1] and RECALL.issuperset((words[0] ^ words[1]).union(changed)):
        # A gateway adds these with the first edit, and takes them away where none is left.
        listed = _many(sorted(words[0] ^ words[1]))
        came_too = "with it came the tools to look up what it hides"
        what = (
            came_too if words[1] - words[0] else "no edit is left, so the tools to look things up left, too"
        )
        what = f"{what}: {listed}"
        return Break("edit", edits[-1].by, edits[-1].id, what)
    if gone:
        return Break("tools", "client", gone[0], f"{_many(gone)} vanished")
    if came:
        return Break("tools", "client", came[0], f"{_many(came)} came")
    if changed:
        return Break("tools", "client", changed[0], _difference(one[changed[0]], two[changed[0]]))
    return Break("tools", "client", next(iter(two), ""), "the same tools in another order")


def _many(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _by_name(frame: Frame, dialect: str) -> dict[str, str]:
    """The schemas of a frame by the names of their tools, as text; a provider's own tools by their text."""
    found = {}
    for tool in frame.tools:
        names = function_names(Frame((), (tool,), dialect), dialect) if dialect in DIALECTS else ()
        text = to_json(tool)
        found[" ".join(names) or text[:40]] = text
    return found


def _difference(one: str, two: str) -> str:
    """Where two texts differ first: what is left of each without their common beginning and end."""
    start = _alike(one, two)
    end = _alike(one[start:][::-1], two[start:][::-1])
    gone, came = (text[start : len(text) - end] for text in (one, two))
    return f"character {start:,}: {short(gone, 40)!r} became {short(came, 40)!r}"


def _alike(one: str, two: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(two)))


def _param_break(last: Mapping[str, Any], now: Mapping[str, Any]) -> Break | None:
    """A parameter that providers make a part of the prompt, and that has another value."""
    skipped = _HARMLESS | {"cache_control"}
    names = [name for name in {**last, **now} if name not in skipped and last.get(name) != now.get(name)]
    if not names:
        return None
    gone, came = (to_json(params.get(names[0])) for params in (last, now))
    return Break("params", "caller", names[0], f"{short(gone, 40)} became {short(came, 40)}")


def _row_break(state: State, last: Sent, now: Sent, one: View, two: View, at: int) -> Break:
    """Why the row at which two requests part is another one, or gone."""
    log, old = state.log, one.rows[at]
    new = two.rows[at] if at < len(two.rows) else None
    made = [d for d in log.decisions.values() if last.version < log.born[d.id] <= now.version]
    for decision in made:
        touched = {*covers_of(decision.edit), getattr(decision.edit, "entry", None), log.meant(decision.id)}
        if (
            old.id in touched
            or not touched.isdisjoint(old.why)
            or (new and decision.id in (new.id, *new.why))
        ):
            cause: Cause = "note" if new and new.kind == "note" else "edit"
            return Break(cause, decision.by, decision.id, _among(decision, made))
    if last.version < log.replaced_at(old.id, now.version):
        texts = (" ".join(map(text_of, row.messages)) for row in (old, new or old))
        return Break("changed", "client", old.id, _difference(*texts))
    if not _erased_between(log, last.version, now.version).isdisjoint(old.covers):
        return Break("edit", "person", old.id, "it was erased")
    return Break("path", "client", old.id, "the conversation goes on from an earlier message")


def _among(edit: Decision, made: Sequence[Decision]) -> str:
    """Why an edit was made, and which others were made before the same request."""
    others = [one.id for one in made if one.id != edit.id and not isinstance(one.edit, Repair)]
    if not others:
        return edit.why
    why = f"{edit.why}; " if edit.why not in ("", edit.by) else ""
    return f"{why}together with {_many(others)}"


# Where nothing differs


def _unbroken(state: State, at: int, could: int, model: Model | None) -> Break:
    """Why a provider read less than it could: the prompt was too short, too old, or nobody knows."""
    last, now = state.log.sent[at - 1], state.log.sent[at]
    least = (model.min_cacheable if model else None) or LEAST
    if could < least:
        return Break("short", "provider", what=f"no prompt below {least:,} tokens is cached")
    if moved := _moved_marks(state.log, last, now):
        return moved
    if _sent_no_mark(state, at - 1):
        return Break("marks", "client", what="no cache mark was sent; Claude caches only what is marked")
    silence, kept = now.time - last.time, kept_for(state, last)
    if last.time and silence >= kept:
        return Break("expired", "time", what=f"{silence:,.0f} s of silence; it is kept for {kept:,.0f}")
    return Break("provider", "provider", what="the prompt was the same, and in time")


def _sent_no_mark(state: State, at: int) -> bool:
    """Whether a client's own request to Claude went through a gateway as it came, and had no cache mark.

    What a session writes itself has marks. A record does not say who wrote a request, so this is said only of a
    client's session, before its first edit, and where the bill has nothing that was read from the cache or written.
    """
    log, sent, usage = state.log, state.log.sent[at], _usage(state.log, at)
    if state.dialect.name != "anthropic" or usage is None or usage.cache_read or usage.cache_write:
        return False
    if log.opened is None or "client" not in log.opened.labels or _edits_between(log, 0, sent.version):
        return False
    return not is_marked(state, sent)


def _edits_between(log: Log, first: int, last: int) -> list[Decision]:
    """The edits between two versions, without repairs."""
    made = log.decisions.values()
    return [d for d in made if first < log.born[d.id] <= last and not isinstance(d.edit, Repair)]


def kept_for(state: State, sent: Sent | None = None) -> float:
    """Seconds for which this session's provider keeps a prompt that nobody uses: the last one, or that of a request."""
    if sent is None:
        sent = state.log.sent[-1] if state.log.sent else None
    if sent is not None and (kept := _asked_for(sent.params) or _marked_for(state.view().rows)):
        return kept
    bills = state.log.bills
    newest = bills[max(bills)].usage if bills else TokenUsage()
    if newest.cache_write_1h or (
        newest.cache_read and any(bill.usage.cache_write_1h for bill in bills.values())
    ):
        return _HOUR
    return KEPT_FOR.get(state.dialect.name, _HOUR)


def _marked_for(rows: Sequence[Row]) -> float | None:
    """Seconds for which the last mark of the caller's own asks that all before it be kept."""
    control = next(marks_of(rows), None)
    return None if control is None else _LIFETIMES.get(str(control.get("ttl") or "5m"))


def _asked_for(params: Mapping[str, Any]) -> float | None:
    """Seconds for which a request asks that its prompt be kept, if it says so."""
    places = (params.get("cache_control"), params.get("prompt_cache_options"))
    told = [place.get("ttl") for place in places if isinstance(place, Mapping)]
    found = (_LIFETIMES.get(str(text)) for text in (*told, params.get("prompt_cache_retention")))
    return next(filter(None, found), None)
