"""Checkpoints: enough of a session to show its view and go on, without reading all that happened before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec

from fanfold.core.edit import Decision, Pin, Repair, Undo
from fanfold.core.layout import Projection
from fanfold.core.log import Log
from fanfold.core.message import Call, Message
from fanfold.core.record import Frame, Kept, Opened, Sent, Taught
from fanfold.core.view import Kind, Row, Scale, View, called, together


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


def saved(log: Log, projection: Projection, calls: Iterable[Call] = ()) -> Checkpoint:
    """The session as it stands."""
    undone = [log.decisions[id] for id in log.undone()]
    view = projection.view()
    held = (*undone, *(log.decisions[id] for id in log.lasting), *_repairs(view, log))
    kept = {decision.id: decision for decision in held}
    return Checkpoint(
        version=log.version,
        head=log.head,
        edits=log.edits,
        requests=log.requests,
        frame=log.frame(),
        rows=tuple(_saved(row, log) for row in view.rows),
        decisions=tuple((log.born[id], decision) for id, decision in kept.items()),
        released=tuple(sorted(log.released)),
        shadowed=view.shadowed,
        sent=log.sent[-1] if log.sent else None,
        tips=tuple(_tips(log, projection.passed)),
        taught=log.taught,
        opened=log.opened,
        calls=tuple(calls),
        kept=tuple(kept for kept in log.kept.values() if view.row(kept.entry) is not None),
        refs=dict(log.refs),
        replaced=tuple(_replaced(view.rows, log)),
        looked=dict(log.looked),
    )


def _tips(log: Log, passed: Collection[str | None]) -> Iterator[str | None]:
    last = [tip for tip in log.tips if tip is not None][-2:]
    return (tip for tip in log.tips if tip in last or tip not in passed)


def _repairs(view: View, log: Log) -> Iterator[Decision]:
    """The repairs in view, where something is pinned or brought back: it is so under a repair, too."""
    for row in view.rows if log.lasting else ():
        if row.kind == "mend":
            found = (log.decisions.get(id) for id in log.repaired(row.id))
            yield from (one for one in found if one is not None and isinstance(one.edit, Repair))


def _replaced(rows: Iterable[Row], log: Log) -> Iterator[tuple[str, int, Message]]:
    hidden = (id for row in rows if row.kind != "entry" for id in row.asked)
    return ((id, log.replaced_at(id), log.message(id)) for id in hidden if id in log.replaced)


def _saved(row: Row, log: Log) -> SavedRow:
    untouched = row.kind == "entry" and row.was is None and row.id not in log.replaced
    messages = None if untouched else row.messages
    covers = () if row.kind == "entry" else row.covers
    return SavedRow(
        row.id,
        row.kind,
        covers,
        row.count,
        row.why,
        row.reason,
        messages,
        row.was,
        row.name,
        row.replied,
        row.tip,
        row.late,
        log.replaced_at(row.id) if row.kind == "entry" else 0,
        row.asked if row.kind != "entry" else (),
        row.told,
    )


def resume(log: Log, checkpoint: Checkpoint) -> None:
    """Put an empty log where the checkpoint was made. What happened before is not in it."""
    log.version = log.resumed_at = checkpoint.version
    log.head = checkpoint.head
    log.edits = checkpoint.edits
    log.requests = checkpoint.requests
    log.frames = [(checkpoint.version, checkpoint.frame)]
    log.released = set(checkpoint.released)
    log.sent = [checkpoint.sent] if checkpoint.sent else []
    log.tips = dict.fromkeys((*checkpoint.tips, *(sent.tip for sent in log.sent)))
    log.taught = checkpoint.taught
    log.opened = checkpoint.opened
    log.refs = dict(checkpoint.refs)
    log.looked = dict(checkpoint.looked)
    log.kept = {kept.ref: kept for kept in checkpoint.kept}
    for row in checkpoint.rows:
        if row.replaced and row.messages:
            log.replaced[row.id] = [(row.replaced, row.was or row.messages[0])]
    log.replaced |= {id: [(version, message)] for id, version, message in checkpoint.replaced}
    log.addresses = {kept.address: kept.ref for kept in checkpoint.kept if kept.entry not in log.replaced}
    for born, decision in checkpoint.decisions:
        log.decisions[decision.id] = decision
        log.born[decision.id] = born
    lasting = [decision for _, decision in checkpoint.decisions if isinstance(decision.edit, Pin | Undo)]
    log.lasting = [decision.id for decision in sorted(lasting, key=_number)]


def _number(decision: Decision) -> int:
    return int(decision.id[1:])


def rows(checkpoint: Checkpoint, log: Log, scale: Scale) -> list[Row]:
    """The rows of a checkpoint, weighed anew."""
    return [_row(row, log, scale) for row in checkpoint.rows]


def _row(row: SavedRow, log: Log, scale: Scale) -> Row:
    messages = row.messages if row.messages is not None else (log.tree[row.id].message,)
    weights = [scale.message(message, row.was) for message in messages]
    calls, results = called(messages)
    return Row(
        row.id,
        row.kind,
        messages,
        together(weights),
        row.covers or ((row.id,) if row.kind == "entry" else ()),
        row.count,
        row.why,
        row.reason,
        row.was,
        calls,
        results,
        row.name,
        tip=row.tip,
        late=row.late,
        replied=row.replied,
        asked=(row.id,) if row.kind == "entry" and messages[0].is_request else row.asked,
        told=row.told,
    )
