"""What happened to a session, as lists: its edits and what became of each, its requests and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from fanfold.core.edit import Decision, Drop, Elide, Fold, Note, Pin, Repair, Undo, covers_of
from fanfold.core.ids import canonical, digest
from fanfold.core.layout import show
from fanfold.core.record import (
    Billed,
    Edited,
    Erased,
    Move,
    Record,
    Replied,
    Sent,
    Taught,
    TokenUsage,
)
from fanfold.dialects.dialect import Marks
from fanfold.dialects.weigh import framed
from fanfold.session.aftermath import HashedRows
from fanfold.session.cache import model_of, no_request
from fanfold.session.cause import as_decided, made_again
from fanfold.session.look import summary_of
from fanfold.session.state import State
from fanfold.session.undo import standing_edits
from fanfold.text.json_text import sendable
from fanfold.tokens.usage import cost

EditKind = Literal["fold", "drop", "elide", "repair", "pin", "note"]
Fate = Literal["stands", "undone", "covered", "elsewhere"]
_KINDS: dict[type, EditKind] = {
    Fold: "fold",
    Drop: "drop",
    Elide: "elide",
    Repair: "repair",
    Pin: "pin",
    Note: "note",
}


class PastEdit(msgspec.Struct, frozen=True, kw_only=True):
    """An edit, and what became of it."""

    decision: Decision
    kind: EditKind
    says: str
    """What it did, in a few words."""
    time: float
    """When it was made; 0 where the session did not record it itself."""
    fate: Fate
    """Whether it stands, was undone, lies under a later edit, or was made on another path."""
    under: str | None
    """The edit that covers it."""
    undone_by: str | None
    """The undo that took it away."""
    free: bool
    """Whether automatic edits may touch what was brought back: it was released, or nothing was."""
    entries: int
    """How many messages it covers."""
    again: str | None = None
    """The edit in whose words it was made again, because a person brought some of what that hid back."""

    def __repr__(self) -> str:
        return f"<PastEdit {self.decision.id} {self.says} by {self.decision.why or self.decision.by}, {self.fate}>"


class SentBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request, written again from the log."""

    number: int
    body: Any
    exact: bool
    """Whether it is the one that went out: the digest that was recorded then is the same."""


Happening = Literal["compacted", "history", "rewind", "forward", "reset", "erased"]
"""`compacted`: the client asked to have its history compacted. `history`: it came with another history than before."""


class PastRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that went out, in figures."""

    number: int
    time: float
    model: str
    tokens: int
    """As counted when it was sent, by the meter itself."""
    usage: TokenUsage | None
    """What was billed; None where there is no bill."""
    cost: float | None
    """The bill in dollars; None where no price or no bill is known."""
    edits: tuple[str, ...]
    """The edits that were made since the request before."""
    left_out: tuple[str, ...]
    """What could not be sent in it."""
    refused: bool = False
    """Whether the provider said that it is too long."""
    seconds: float | None = None
    """How long it took until its reply was recorded; None where there is none."""
    events: tuple[Happening, ...] = ()
    """What else happened since the request before."""


def edits(state: State) -> tuple[PastEdit, ...]:
    """Every edit that was made, oldest first; undos are told by what they took away."""
    state.read_whole()
    return tuple(_past_edits(state))


def _past_edits(state: State) -> Iterator[PastEdit]:
    log, again = state.log, made_again(state.log)
    told = {one.id: one for one in as_decided(state, log.decisions.values())}
    made = {one.id: rec.time for rec in log.records if isinstance(rec, Edited) for one in rec.decisions}
    undone, stand = log.undone(), {decision.id for decision in standing_edits(state)}
    stand.update(id for id, _ in log.pins())
    folded = [row.id for row in state.view().rows if row.kind in ("fold", "drop")]
    over = {id: row for row in folded for id in (*log.under(row), *log.leaves((row,))) if id != row}
    elides = [(id, one.edit) for id, one in log.decisions.items() if id in stand]
    top = {
        edit.address: id for id, edit in elides if isinstance(edit, Elide)
    }  # of one part, the last is seen
    undos = {
        one.edit.edit: id
        for id, one in log.decisions.items()
        if isinstance(one.edit, Undo) and id not in undone
    }
    for id, decision in log.decisions.items():
        kind = _KINDS.get(type(decision.edit))
        if kind is None:
            continue
        place = decision.edit.entry if isinstance(decision.edit, Elide) else id
        covered = over.get(place) if id in stand else None
        if isinstance(decision.edit, Elide) and id in stand and top[decision.edit.address] != id:
            covered = covered or top[decision.edit.address]
        fate: Fate = "undone" if id in undone else "covered" if covered else "elsewhere"
        yield PastEdit(
            decision=told[id],
            kind=kind,
            says=summary_of(decision.edit),
            time=made.get(id, 0.0),
            fate="stands" if id in stand and not covered else fate,
            under=covered,
            undone_by=undos.get(id) if id in undone else None,
            free=id not in undone or id in log.released,
            entries=len(log.leaves(covers_of(decision.edit))),
            again=again[id].edit if id in again else None,
        )


def requests(state: State) -> tuple[PastRequest, ...]:
    """Every request that went out, oldest first."""
    state.read_whole()
    log, born, found = state.log, state.log.born, list[PastRequest]()
    every, at = sorted(born, key=born.__getitem__), 0
    past = _Happenings(log.records)
    for number, sent in enumerate(log.sent):
        since = at
        while at < len(every) and born[every[at]] <= sent.version:
            at += 1
        usage = log.bills[number].usage if number in log.bills else None
        model = model_of(sent)
        found.append(
            PastRequest(
                number=number,
                time=sent.time,
                model=str(sent.params.get("model") or "") if isinstance(sent.params, dict) else "",
                tokens=sent.tokens,
                usage=usage,
                cost=cost(usage, model) if usage and model and model.prices else None,
                edits=tuple(every[since:at]),
                left_out=sent.left_out,
                refused=number in past.refused,
                seconds=past.answered[number] - sent.time if number in past.answered else None,
                events=tuple(past.events.get(number, ())),
            )
        )
    return tuple(found)


class _Happenings:
    """What happened to which request, and before which: read from the records in their order."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.refused = set[int]()
        self.answered = dict[int, float]()
        self.events = dict[int, list[Happening]]()
        self._number, self._billed, self._replied = -1, False, False
        for record in records:
            told = self._take(record)
            if told is not None:
                self.events.setdefault(self._number + 1, []).append(told)

    def _take(self, record: Record) -> Happening | None:
        match record:
            case Sent():
                self._number, self._billed, self._replied = self._number + 1, False, False
            case Billed():
                self._billed = True
            case Taught() if self._number >= 0 and not (self._billed or self._replied):
                self.refused.add(self._number)  # nothing was answered, and something was learned
            case Replied():
                again, self._replied = self._replied, True
                return "compacted" if again else None  # a second reply to one request is a reference
            case Move(how="append", time=time) if self._number >= 0:
                self.answered.setdefault(self._number, time)
            case Move(how="merge", was=str()):
                return "history"
            case Move(how="rewind" | "forward" | "reset" as how):
                return how
            case Erased():
                return "erased"
        return None


def body(state: State, number: int = -1) -> SentBody:
    """The body of a request, written again from the log as it was then."""
    state.read_whole()
    log = state.log
    if not isinstance(number, int) or not -len(log.sent) <= number < len(log.sent):
        raise no_request(log, number)
    at = number % len(log.sent)
    sent = log.sent[at]
    view = show(log, sent.tip, sent.version, state.gauge)
    allowed = state.dialect.allow(view.rows, sent.params)
    marks = Marks(state.terms.cache_key, _previous_end(log.sent[:at], sent, {row.id for row in view.rows}))
    recorded = log.frame(sent.version)
    written = state.dialect.encode(
        framed(recorded, state.dialect)[0],
        allowed.rows,
        sendable(allowed.params),
        context=sent.context,
        marks=marks,
    )
    beside = (recorded.id.encode(), canonical(allowed.params), (sent.context or "").encode())
    # Until November 2026 the hashes of the rows stood in what is hashed, and not the hash of them.
    rows = (
        HashedRows().up_to(allowed.rows).hashing.digest(),
        b"".join([r.weight.digest for r in allowed.rows]),
    )
    return SentBody(number=at, body=written, exact=sent.digest in [digest(told, *beside) for told in rows])


def _previous_end(before: list[Sent], sent: Sent, shown: set[str]) -> str | None:
    """The row at which the last request ended that ended elsewhere, as `request.py` chose it."""
    tip = next((one.tip for one in reversed(before) if one.tip not in (None, sent.tip)), None)
    return tip if tip in shown else None
