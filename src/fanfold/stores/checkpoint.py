"""Checkpoints: enough of a session to show its view and go on, without reading all that happened before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import Any

import msgspec

from fanfold.core.edit import Decision, Pin, Repair, Undo
from fanfold.core.log import Log
from fanfold.core.message import Call, Message
from fanfold.core.record import Billed, Frame, Kept, Move, Opened, Sent, Taught, Totals
from fanfold.core.view import Kind, Row, Scale, View, weigh
from fanfold.stores.summary import Summary


class SavedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row without its weight; an untouched entry without its message, which is kept elsewhere."""

    id: str
    kind: Kind
    covers: tuple[str, ...] = ()
    count: int = 1
    why: tuple[str, ...] = ()
    reason: str = ""
    messages: tuple[Message, ...] | None = None
    was: Message | None = None
    name: str = ""
    replied: bool = False
    tip: str | None = None
    late: bool = False
    replaced: int = msgspec.field(default=0, name="redressed")  # the name it has had on disk since 0.1
    """The version at which a client changed its body, if one did."""
    asked: tuple[str, ...] = ()
    told: Message | None = None
    instructs: bool = False


class Checkpoint(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A session at a version."""

    version: int
    head: str | None
    edits: int
    """How many edits were made so far."""
    requests: int
    frame: Frame
    rows: tuple[SavedRow, ...]
    decisions: tuple[tuple[int, Decision], ...] = ()
    """Pins, undos and what they undid, and repairs over such, each with the version it was made at."""
    released: tuple[str, ...] = ()
    shadowed: tuple[str, ...] = ()
    sent: Sent | None = None
    tips: tuple[str | None, ...] = ()
    """Where requests ended, the newest last: the last two such places, which cache marks are set by, and all that the
    session may come by again, at its head and on what was said after that before."""
    taught: Taught | None = None
    opened: Opened | None = None
    calls: tuple[Call, ...] = ()
    """The calls that wait for an answer."""
    kept: tuple[Kept, ...] = ()
    """The references of what is in view."""
    refs: dict[str, int] = {}
    """The highest number given out for each kind of reference."""
    replaced: tuple[tuple[str, int, Message], ...] = msgspec.field(default=(), name="redressed")
    """Requests behind the rows whose body a client changed, each with the version at which it did."""
    looked: dict[str, str] = {}
    """The last request at which each thing that is kept up to date was looked at."""
    billed: Billed | None = None
    """The bill of the last request, if it came."""
    totals: Totals | None = None
    """What requests came to so far; checkpoints of 0.1 have none."""
    summary: Summary | None = None
    """The session in a few figures."""
    ahead: tuple[str, ...] = ()
    """What the session said before right behind its head: whoever says it again comes by what was decided there."""
    said: int | None = None
    """The tokens of all messages up to the head as they were said; earlier checkpoints do not tell."""
    erased: dict[str, str] = {}
    """System prompts and notes that were erased, and why: one that is sent again stays so."""


def save(
    log: Log,
    view: View,
    passed: Collection[str | None],
    calls: Iterable[Call] = (),
) -> Checkpoint:
    """The session as it stands; `passed` are the entries before its tip."""
    held = {id: log.decisions[id] for id in (*log.undone(), *log.lasting, *_repairs(view, log))}
    last_two = [tip for tip in log.tips if tip is not None][-2:]
    hidden = [id for row in view.rows if row.kind != "entry" for id in row.asked if id in log.replaced]
    return Checkpoint(
        version=log.version,
        head=log.head,
        edits=log.edits,
        requests=log.requests,
        frame=log.frame(),
        rows=tuple([_save_row(row, log) for row in view.rows]),
        decisions=tuple([(log.born[id], decision) for id, decision in held.items()]),
        released=tuple(sorted(log.released)),
        shadowed=view.shadowed,
        sent=log.sent[-1] if log.sent else None,
        tips=tuple([tip for tip in log.tips if tip in last_two or tip not in passed]),
        taught=log.taught,
        opened=log.opened,
        calls=tuple(calls),
        kept=tuple([kept for kept in log.kept.values() if view.row(kept.entry) is not None]),
        refs=dict(log.refs),
        replaced=tuple([(id, log.replaced_at(id), log.message(id)) for id in hidden]),
        looked=dict(log.looked),
        billed=log.bills.get(log.requests - 1),
        totals=log.totals,
        ahead=tuple(sorted(_find_ahead(log, passed))),
        erased=dict(_erased_beside(log)),
    )


def _erased_beside(log: Log) -> Iterator[tuple[str, str]]:
    """System prompts and notes that were erased (`session/beside.py`): their stubs stand before no message."""
    log.tree.fetch(log.erasures)
    for id, reason in log.erasures.items():
        if id in log.tree and log.tree[id].parent is None and log.tree[id].message.role == "system":
            yield id, reason


def _find_ahead(log: Log, passed: Collection[str | None]) -> Iterator[str]:
    """The entries right behind the head that the session was at, or past, before."""
    if log.resumed_at:  # it only went on since then, so that nothing lies ahead of a new head
        yield from log.ahead
        return
    heads: dict[bool, set[str]] = {True: set(), False: set()}
    for move in log.records:
        if isinstance(move, Move) and move.head is not None:
            said = move.how == "append"
            heads[said] |= {move.head} if not said or move.was == log.head else set()
    yield from heads[True]
    for head in heads[False].difference(passed, (log.head,)):
        path = log.tree.path(head)
        if log.head is None or log.head in path:
            yield path[path.index(log.head) + 1 if log.head is not None else 0]


def _repairs(view: View, log: Log) -> Iterator[str]:
    """The repairs in view, where something is pinned or brought back: it is so under a repair, too."""
    for row in view.rows if log.lasting else ():
        if row.kind == "mend":
            known = (id for id in log.rows_repaired_by(row.id) if id in log.decisions)
            yield from (id for id in known if isinstance(log.decisions[id].edit, Repair))


_SAME = ("id", "kind", "count", "why", "reason", "was", "name", "replied", "tip", "late", "told", "instructs")
"""The fields that a saved row has just as the row has them."""
_read_same = attrgetter(*_SAME)


def _save_row(row: Row, log: Log) -> SavedRow:
    same: dict[str, Any] = dict(zip(_SAME, _read_same(row), strict=True))
    if row.kind != "entry":
        return SavedRow(**same, covers=row.covers, messages=row.messages, asked=row.asked)
    untouched = row.was is None and row.id not in log.replaced
    messages = None if untouched else row.messages
    return SavedRow(**same, messages=messages, replaced=log.replaced_at(row.id))


def resume(log: Log, checkpoint: Checkpoint) -> None:
    """Put an empty log where the checkpoint was made. What happened before is not in it."""
    log.version = log.resumed_at = checkpoint.version
    log.head = checkpoint.head
    log.edits = checkpoint.edits
    log.requests = checkpoint.requests
    log.frames = [(checkpoint.version, checkpoint.frame)]
    log.released = set(checkpoint.released)
    log.sent = [checkpoint.sent] if checkpoint.sent else []
    log.ahead = frozenset(checkpoint.ahead)
    log.erasures = dict(checkpoint.erased)
    log.tips = dict.fromkeys((*checkpoint.tips, *(sent.tip for sent in log.sent)))
    log.taught = checkpoint.taught
    log.opened = checkpoint.opened
    log.refs = dict(checkpoint.refs)
    log.looked = dict(checkpoint.looked)
    log.bills = {checkpoint.billed.sent: checkpoint.billed} if checkpoint.billed else {}
    log.totals = checkpoint.totals
    log.kept = {kept.ref: kept for kept in checkpoint.kept}
    for row in checkpoint.rows:
        if row.replaced and row.messages:
            log.replaced[row.id] = [(row.replaced, row.was or row.messages[0])]
    log.replaced |= {id: [(version, message)] for id, version, message in checkpoint.replaced}
    log.addresses = {kept.address: kept.ref for kept in checkpoint.kept if kept.entry not in log.replaced}
    for born, decision in checkpoint.decisions:
        log.decisions[decision.id] = decision
        log.born[decision.id] = born
    lasting = [decision.id for _, decision in checkpoint.decisions if isinstance(decision.edit, Pin | Undo)]
    log.lasting = sorted(lasting, key=lambda edit: int(edit[1:]))


def rows(checkpoint: Checkpoint, log: Log, scale: Scale) -> Iterator[Row]:
    """The rows of a checkpoint, weighed anew."""
    log.tree.fetch([row.id for row in checkpoint.rows if row.messages is None])
    for row in checkpoint.rows:
        same: dict[str, Any] = {name: getattr(row, name) for name in _SAME}
        messages = row.messages if row.messages is not None else (log.tree[row.id].message,)
        weight = weigh(messages, scale, row.was)
        covers, asked = row.covers, row.asked
        if row.kind == "entry":
            covers, asked = (row.id,), (row.id,) if messages[0].is_request else ()
        yield Row(**same, messages=messages, weight=weight, covers=covers, asked=asked)
