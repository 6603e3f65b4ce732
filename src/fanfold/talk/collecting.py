"""Collecting garbage: outputs that nothing on any branch refers to. Listed, and deleted only when told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from fanfold.edit import Pin, Undo
from fanfold.errors import StoreFailed
from fanfold.log import Log
from fanfold.message import Message, reading
from fanfold.record import Edited, Erased, Frame, Kept, Moved, Record, Redressed, blobs_of
from fanfold.show import show
from fanfold.stores.store import Scrub, Tenant
from fanfold.talk.state import State
from fanfold.tree import Entry
from fanfold.view import Row, View
from fanfold.weight import Weight

_REFS = re.compile(r"\b[om]\d+\b")
REASON = "gc"


class Garbage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that nothing refers to: an output, or a blob that no session knows."""

    size: int
    entry: str | None = None
    refs: tuple[str, ...] = ()
    """Its references, as `session/ref`."""
    blobs: tuple[str, ...] = ()


def gc(state: State, *, delete: bool = False) -> tuple[Garbage, ...]:
    """The outputs of the tenant that no branch of any session shows or names; if told, those that were deleted.

    A deletion is an erasure with the reason `gc`. What somebody needs anew meanwhile stays.
    """
    tenant = state.terms.tenant
    logs = {name: _log(state, name) for name in tenant.store.sessions(tenant.name)}
    found = (*_unnamed(logs), *_unknown(tenant, logs))
    if delete and found:
        seen = {name: len(log.records) for name, log in logs.items()}
        with renewing(tenant):
            found = tuple(garbage for garbage in found if _deleted(tenant, garbage, seen))
    return found


@contextmanager
def renewing(tenant: Tenant) -> Iterator[None]:
    """Let all sessions at work see what was destroyed inside, also if it was done by half."""
    try:
        yield
    except BaseException:
        for other in tenant.at_work:
            with suppress(StoreFailed):  # it is done when the next unit of work begins
                other.renew()
        raise
    for other in tenant.at_work:
        other.renew()


def _log(state: State, session: str) -> Log:
    tenant = state.terms.tenant
    if session == state.terms.name:
        state.read_whole()
        return state.log
    return Log(tenant.tree, tenant.store.load(tenant.name, session).records)


def _unnamed(logs: dict[str, Log]) -> Iterator[Garbage]:
    """Outputs whose entry is covered on every branch, and whose references stand nowhere."""
    kept: dict[str, list[tuple[str, Kept]]] = {}
    needed: set[str] = set()
    for session, log in logs.items():
        entries, refs = _shown(log)
        needed |= entries
        for record in log.kept.values():
            if record.is_part and record.gone is None:
                kept.setdefault(record.entry, []).append((session, record))
            if record.ref in refs:
                needed |= log.leaves((record.entry,))
    for entry, records in kept.items():
        if entry not in needed:
            yield _garbage(entry, records)


def _garbage(entry: str, records: list[tuple[str, Kept]]) -> Garbage:
    blobs = {blob for _, record in records for blob in record.blobs}
    refs = tuple(f"{session}/{record.ref}" for session, record in records)
    return Garbage(max(record.size for _, record in records), entry, refs, tuple(sorted(blobs)))


def _shown(log: Log) -> tuple[set[str], set[str]]:
    """The entries that stand in the view of any branch, and the references named there."""
    entries: set[str] = set()
    refs: set[str] = set()
    for tip in tips_of(log):
        view = show(log, tip, log.version, _Weightless())
        entries |= {id for row in view.rows for id in _standing(log, row)}
        refs |= _named(view)
    return entries, refs


def _standing(log: Log, row: Row) -> Iterator[str]:
    """The entries that stand in a row: one of its own, elided or not, or those that a mend shows otherwise."""
    yield from (id for id in log.mended(row.id) if id not in log.decisions)


def _named(view: View) -> set[str]:
    texts = [reading(message) for message in view.messages] + list(view.pinned_texts)
    return {ref for text in texts for ref in _REFS.findall(text)}


def tips_of(log: Log) -> set[str]:
    """The last entries of all branches the session was ever on."""
    heads = {record.head for record in log.records if isinstance(record, Moved) and record.head is not None}
    tips = heads | set(log.branches)
    return tips - {parent for id in tips if (parent := log.tree[id].parent) is not None}


def _unknown(tenant: Tenant, logs: dict[str, Log]) -> Iterator[Garbage]:
    """Blobs that no session knows: left by a process that died before it could record them."""
    known = set(blobs_of(record for log in logs.values() for record in log.records))
    for blob in tenant.store.blobs(tenant.name):
        if blob.id not in known:
            yield Garbage(blob.size, blobs=(blob.id,))


class _NeededAnew(Exception):
    """Somebody needs what was garbage a moment ago."""


def _deleted(tenant: Tenant, garbage: Garbage, seen: dict[str, int]) -> bool:
    """Delete something, unless somebody needs it since the logs were seen."""
    entry = garbage.entry

    def scrub(session: str, records: Sequence[Record]) -> list[Record | None] | None:
        assert entry is not None
        if any(_needs(record, entry) for record in records[seen.get(session, 0) :]):
            raise _NeededAnew
        return _scrubbed(records, tenant.tree[entry])

    try:
        if entry is not None:
            destroy(tenant, entry, REASON, scrub)
    except _NeededAnew:
        return False
    held = tenant.store.drop_blobs(tenant.name, garbage.blobs) if garbage.blobs else []
    return entry is not None or not held


def _needs(record: Record, entry: str) -> bool:
    """Whether a record may bring an entry back to light."""
    match record:
        case Kept() | Redressed():
            return record.entry == entry
        case Moved(head=head, how=how):
            return how != "append" or head == entry
        case Edited(decisions=decisions):
            return any(isinstance(decision.edit, Undo | Pin) for decision in decisions)
        case _:
            return False


def destroy(tenant: Tenant, entry: str, reason: str, scrub: Scrub) -> None:
    """Put a stub in an entry's place, in the store and here; here only if the store did.

    It knows the echoes of all bodies that clients had sent in that place. They are looked for where nobody else can
    write meanwhile; if there are any, it begins anew with a stub that knows them.
    """
    whole = tenant.tree[entry]
    echoes: frozenset[str] = frozenset()
    try:
        while more := _destroyed(tenant, whole, tenant.tree.erase(entry, reason, echoes), scrub):
            echoes |= more
    except BaseException:
        tenant.tree.put(_as_stored(tenant, whole))
        raise


class _UnknownEchoes(Exception):
    """Bodies were sent in the place of an entry of which its stub knows nothing."""

    def __init__(self, echoes: frozenset[str]) -> None:
        self.echoes = echoes


def _destroyed(tenant: Tenant, whole: Entry, stub: Entry, scrub: Scrub) -> frozenset[str]:
    """Put a stub in the place of an entry, if it knows all echoes; gives back those that it does not."""

    def checked(session: str, records: Sequence[Record]) -> Sequence[Record | None] | None:
        bodies = [one.message for one in records if isinstance(one, Redressed) and one.entry == stub.id]
        told = (tenant.tree.echo(stub.parent, body) for body in bodies if body != whole.message)
        unknown = frozenset(told).difference(stub.echoes)
        if unknown:
            raise _UnknownEchoes(unknown)
        return scrub(session, records)

    try:
        tenant.store.erase(tenant.name, stub, checked)
    except _UnknownEchoes as found:
        return found.echoes
    return frozenset()


def _as_stored(tenant: Tenant, whole: Entry) -> Entry:
    """The entry after an erasure that failed: perhaps only what follows the erasure did."""
    with suppress(StoreFailed):
        return tenant.store.entry(tenant.name, whole.id) or whole
    return whole


def _scrubbed(records: Sequence[Record], stub: Entry) -> list[Record | None] | None:
    """A session's records after an output is gone; summaries made from it stay."""
    if not any(isinstance(record, Kept | Redressed) and record.entry == stub.id for record in records):
        return None
    return [*(without_content(record, stub) for record in records), Erased(stub.id, REASON)]


def without_content(record: Record, stub: Entry) -> Record:
    """The record of an output, or of another body, whose content is destroyed; any other record as it is.

    It still says which blobs these were: they are dropped later, and whoever is killed between does so next time.
    """
    if not isinstance(record, Kept | Redressed) or record.entry != stub.id:
        return record
    if isinstance(record, Redressed):
        return Redressed(stub.id, stub.message)
    return msgspec.structs.replace(record, gone=stub.erased)


class _Weightless:
    """Weighs nothing: only what is shown counts here."""

    overhead = 0

    def message(self, message: Message, was: Message | None = None) -> Weight:
        return Weight(0, 0)

    def frame(self, frame: Frame) -> Weight:
        return Weight(0, 0)

    def text(self, text: str) -> int:
        return 0
