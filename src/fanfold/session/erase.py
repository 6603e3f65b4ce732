"""Erasing: the one way in which anything is destroyed, with everything that was made from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from fanfold.core.errors import BadInput, Busy
from fanfold.core.log import Log
from fanfold.core.message import Message
from fanfold.core.record import Answered, Edited, Erased, Kept, Record, Replaced, Sent
from fanfold.session.copies import copies_of
from fanfold.session.erasure import Erasure, blank
from fanfold.session.gc import destroy, renewing, without_content
from fanfold.session.state import State
from fanfold.session.undo import entry_named
from fanfold.stores.store import Hold


def erase(state: State, name: str, reason: str) -> str:
    """Destroy the content of an entry, everywhere in the tenant, with what was made from it.

    Done once more after it failed half-way, it does the rest.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise BadInput(f"Say in words why it is erased, not {reason!r}: the reason stands in its place.")
    state.read_whole()
    id = _meant(state, name)
    tenant = state.terms.tenant
    with renewing(tenant):
        held = [hold for entry in (*copies_of(tenant, id), id) for hold in _destroy(state, entry, reason)]
    if held:
        raise _busy(tenant.name, held[-1])
    return id


def _busy(tenant: str, hold: Hold) -> Busy:
    """Who is in the way, until when, and what to do if they died."""
    since, until = (datetime.fromtimestamp(time).strftime("%H:%M:%S") for time in (hold.since, hold.until))
    return Busy(
        f"The same output is being taken in by {hold.holder} since {since}. Erase once more when that is done. "
        f"If they died, their claim ends at {until}, or at once with `store.let_go({tenant!r}, {hold.holder!r})`."
    )


def _destroy(state: State, id: str, reason: str) -> list[Hold]:
    """Destroy the content of one entry; gives back who is about to need blobs of it, which therefore stay."""
    tenant = state.terms.tenant
    records = [
        record
        for session in tenant.store.sessions(tenant.name)
        for record in tenant.store.load(tenant.name, session).records
    ]
    blobs = {blob for record in records for blob in _blobs(record, id)}
    bodies = (tenant.tree[id].message, *_bodies(records, id))
    destroy(tenant, id, reason, lambda session, records: _scrub(state, session, records, id, bodies))
    return tenant.store.drop_blobs(tenant.name, blobs) if blobs else []


def _bodies(records: Iterable[Record], entry: str) -> Iterator[Message]:
    """The bodies that clients sent in the place of an entry."""
    yield from (one.message for one in records if isinstance(one, Replaced) and one.entry == entry)


def _meant(state: State, name: str) -> str:
    """The entry that a name means: its id, the beginning of it, or the reference of an output."""
    kept = state.log.kept.get(name) if isinstance(name, str) else None
    return kept.entry if kept is not None and kept.is_part else entry_named(state, name)


def _blobs(record: Record, entry: str) -> tuple[str, ...]:
    """The blobs in which a record says that outputs of an entry are or were kept."""
    return record.blobs if isinstance(record, Kept) and record.entry == entry else ()


def _scrub(
    state: State, session: str, records: Sequence[Record], id: str, bodies: Sequence[Message]
) -> list[Record | None] | None:
    """Replace everything a session made from an entry: summaries, notes, placeholders, answers, re-dressed bodies."""
    log = Log(state.log.tree, records)
    erasure = Erasure.of(log, id, (*bodies, *_bodies(records, id)))
    scrubbed = [_scrubbed(log, record, erasure) for record in records]
    if session != state.terms.name and scrubbed == list(records) and not _has(log, id):
        return None
    return [*scrubbed, Erased(id, str(erasure.entry.erased))]


def _has(log: Log, id: str) -> bool:
    return id in log.times or id in log.replaced or id in log.tree.path(log.head)


def _scrubbed(log: Log, record: Record, erasure: Erasure) -> Record | None:
    match record:
        case Edited(decisions=decisions, time=time):
            return Edited(tuple(blank(log, decision, erasure) for decision in decisions), time)
        case Answered(sources=sources) if erasure.was_among(log, sources):
            return None
        case Sent(params=params, context=context):
            return msgspec.structs.replace(
                record, params=erasure.cleaned(params), context=erasure.unquoted(context)
            )
        case _:
            return without_content(record, erasure.entry)
