"""Collecting garbage: blobs that nobody refers to, and outputs that are hidden everywhere. Deleted only when told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from fanfold.core.edit import Pin, Undo, covers_of
from fanfold.core.errors import Corrupt, StoreFailed
from fanfold.core.layout import show
from fanfold.core.log import Log
from fanfold.core.message import Message, text_of
from fanfold.core.record import Branched, Edited, Erased, Frame, Kept, Move, Record, Replaced, blobs_of
from fanfold.core.tree import Entry
from fanfold.core.view import Row, Weight
from fanfold.session.state import State
from fanfold.stores.erasures import note_erasure
from fanfold.stores.store import Blob, Scrub, Tenant

_REFS = re.compile(r"\b[om]\d+\b")
REASON = "gc"


class Hidden(msgspec.Struct, frozen=True):
    """An output that no branch of any session shows or names; an undo would bring it back."""

    entry: str
    size: int
    refs: tuple[str, ...] = ()
    """Its references, as `session/ref`."""
    blobs: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    """The sessions that have it on one of their branches: it is deleted only by the one that has it alone."""
    undos: tuple[str, ...] = ()
    """The edits of this session that hide it: once it is deleted, undoing them shows a stub."""


class Garbage(msgspec.Struct, frozen=True):
    """What a store could do without: blobs that no session refers to, and apart from them hidden outputs."""

    blobs: tuple[Blob, ...] = ()
    """Left by a process that died before it could record them, or by an erasure that was broken off."""
    hidden: tuple[Hidden, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.blobs or self.hidden)

    @property
    def size(self) -> int:
        """How many bytes all of it takes."""
        return sum(blob.size for blob in self.blobs) + sum(output.size for output in self.hidden)

    @property
    def undos(self) -> tuple[str, ...]:
        """The edits of this session that show a stub when they are undone, once all of it is deleted."""
        return tuple(dict.fromkeys(edit for output in self.hidden for edit in output.undos))


def gc(state: State, *, delete: bool = False, hidden: bool = False) -> Garbage:
    """Blobs that no session refers to, and outputs that every branch of every session hides; if told, what was deleted.

    `delete` deletes the blobs, from which no undo takes anything. With `hidden` it also erases, with the reason `gc`,
    the hidden outputs that this session alone has. Without `delete`, `hidden` lists what would go. What somebody needs
    anew meanwhile stays.
    """
    tenant, mine = state.terms.tenant, state.terms.name
    state.read_whole()
    sessions = tenant.store.sessions(tenant.name)
    logs = {name: state.log if name == mine else read_log(tenant, name) for name in sessions}
    known = set(blobs_of(record for log in logs.values() for record in log.records))
    blobs = tuple(blob for blob in tenant.store.blobs(tenant.name) if blob.id not in known)
    outputs = tuple(_find_hidden(logs, state.log))
    if hidden:
        outputs = tuple(output for output in outputs if output.sessions == (mine,))
    if not delete:
        return Garbage(blobs, outputs)
    return _delete(tenant, logs, blobs, outputs if hidden else ())


@contextmanager
def renew_sessions(tenant: Tenant) -> Iterator[None]:
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


@contextmanager
def scouring(tenant: Tenant) -> Iterator[None]:
    """Leave nothing in the store of what was destroyed inside, also if it was done by half."""
    try:
        yield
    finally:
        tenant.store.scour()


def read_log(tenant: Tenant, session: str) -> Log:
    """What a session of the tenant recorded, as the store has it."""
    with named_damage(session):
        return Log(tenant.tree, tenant.store.load(tenant.name, session).records)


@contextmanager
def named_damage(session: str) -> Iterator[None]:
    """Say which session holds records that contradict each other: who looks through all of them did not open it."""
    try:
        yield
    except (KeyError, IndexError, ValueError, TypeError, RecursionError) as error:
        raise Corrupt(
            f"The records of the session {session!r} contradict each other ({type(error).__name__}). "
            "Bring back a copy of it."
        ) from error


def _find_hidden(logs: dict[str, Log], mine: Log) -> Iterator[Hidden]:
    """Outputs whose entry is covered on every branch, and whose references stand nowhere."""
    kept: dict[str, list[tuple[str, Kept]]] = {}
    needed: set[str] = set()
    for session, log in logs.items():
        with named_damage(session):
            entries, refs = _find_shown(log)
        needed |= entries
        for record in log.kept.values():
            if record.is_part and record.gone is None:
                kept.setdefault(record.entry, []).append((session, record))
            if record.ref in refs:
                needed |= log.leaves((record.entry,))
    paths = {session: set(entries_ever(log)) for session, log in logs.items()}
    dead = mine.undone()
    edits = [(id, one.edit) for id, one in mine.decisions.items() if one.reduces and id not in dead]
    for entry, records in kept.items():
        if entry in needed:
            continue
        having = {session for session, entries in paths.items() if entry in entries}
        yield Hidden(
            entry=entry,
            size=max(record.size for _, record in records),
            refs=tuple(f"{session}/{record.ref}" for session, record in records),
            blobs=tuple(sorted({blob for _, record in records for blob in record.blobs})),
            sessions=tuple(sorted(having | {session for session, _ in records})),
            undos=tuple(id for id, edit in edits if entry in mine.leaves(covers_of(edit))),
        )


def entries_ever(log: Log) -> Iterator[str]:
    """The entries of every branch that a session was ever on, each once."""
    found: set[str] = set()
    for tip in _tips(log):
        id: str | None = tip
        while id is not None and id not in found:
            found.add(id)
            yield id
            id = log.tree[id].parent


def _find_shown(log: Log) -> tuple[set[str], set[str]]:
    """The entries that stand in the view of any branch, and the references named there.

    After a rewind the head ends no branch, and `forward` may lead to such a place, too: later edits hide nothing there.
    """
    entries: set[str] = set()
    refs: set[str] = set()
    for tip in _tips(log).union(log.behind, (log.head,) if log.head is not None else ()):
        view = show(log, tip, log.version, _Weightless())
        # A row shows an entry of its own, elided or not, or those that a repair shows otherwise.
        entries |= {id for row in view.rows for id in log.rows_repaired_by(row.id) if id not in log.decisions}
        texts = [text_of(message) for message in view.messages] + list(view.pinned_texts)
        refs |= {ref for text in texts for ref in _REFS.findall(text)}
    return entries, refs


def _tips(log: Log) -> set[str]:
    """The last entries of all branches the session was ever on."""
    heads = {record.head for record in log.records if isinstance(record, Move) and record.head is not None}
    tips = heads | set(log.branches)
    return tips - {parent for id in tips if (parent := log.tree[id].parent) is not None}


class _NeededAnew(Exception):
    """Somebody needs what was garbage a moment ago."""


def _delete(
    tenant: Tenant, logs: dict[str, Log], blobs: Sequence[Blob], outputs: Sequence[Hidden]
) -> Garbage:
    """Delete what nobody needs since the logs were read; returns what is gone."""
    if outputs:
        seen = {name: len(log.records) for name, log in logs.items()}
        with renew_sessions(tenant), scouring(tenant):
            outputs = [output for output in outputs if _erase(tenant, output, seen)]
    doomed = {blob.id for blob in blobs}
    held = {hold.blob for hold in tenant.store.drop_blobs(tenant.name, doomed)} if doomed else set()
    return Garbage(tuple(blob for blob in blobs if blob.id not in held), tuple(outputs))


def _erase(tenant: Tenant, output: Hidden, seen: dict[str, int]) -> bool:
    """Erase a hidden output, unless somebody needs it since the logs were read; summaries made from it stay."""

    def scrub(session: str, records: Sequence[Record]) -> list[Record | None] | None:
        if any(_needs(record, output.entry) for record in records[seen.get(session, 0) :]):
            raise _NeededAnew
        stub = tenant.tree[output.entry]
        if not any(isinstance(record, Kept | Replaced) and record.entry == stub.id for record in records):
            return None
        return [*(without_content(record, stub) for record in records), Erased(stub.id, REASON)]

    try:
        destroy(tenant, output.entry, REASON, scrub)
    except _NeededAnew:
        return False
    if output.blobs:
        tenant.store.drop_blobs(tenant.name, output.blobs)
    return True


def _needs(record: Record, entry: str) -> bool:
    """Whether a record may bring an entry back to light."""
    match record:
        case Kept() | Replaced():
            return record.entry == entry
        case Move(head=head, how=how):
            return how != "append" or head == entry
        case Edited(decisions=decisions):
            return any(isinstance(decision.edit, Undo | Pin) for decision in decisions)
        case Branched():
            return True
        case _:
            return False


def destroy(tenant: Tenant, entry: str, reason: str, scrub: Scrub, *, also: str | None = None) -> None:
    """Put a stub in an entry's place, in the store and here; here only if the store did.

    It knows the echoes of all bodies that clients had sent in that place. They are looked for where nobody else can
    write meanwhile; if there are any, it begins anew with a stub that knows them.
    """
    whole = tenant.tree[entry]
    echoes: frozenset[str] = frozenset()
    named = tenant.store.referring(tenant.name, [entry])
    note_erasure(tenant.store, tenant.name, (*named, *([] if also is None else [also])))
    try:
        while more := _put_stub(tenant, whole, tenant.tree.erase(entry, reason, echoes), scrub, also):
            echoes |= more
    except BaseException:
        # Perhaps only what follows the erasure failed: then the store has the stub already.
        stored: Entry | None = None
        with suppress(StoreFailed):
            stored = tenant.store.entry(tenant.name, entry)
        tenant.tree.put(stored or whole)
        raise


class _UnknownEchoes(Exception):
    """Bodies were sent in the place of an entry of which its stub knows nothing."""

    def __init__(self, echoes: frozenset[str]) -> None:
        self.echoes = echoes


def _put_stub(tenant: Tenant, whole: Entry, stub: Entry, scrub: Scrub, also: str | None) -> frozenset[str]:
    """Put a stub in the place of an entry, if it knows all echoes; returns those that it does not."""

    def checked(session: str, records: Sequence[Record]) -> Sequence[Record | None] | None:
        bodies = [one.message for one in records if isinstance(one, Replaced) and one.entry == stub.id]
        told = (tenant.tree.echo(stub.parent, body) for body in bodies if body != whole.message)
        unknown = frozenset(told).difference(stub.echoes)
        if unknown:
            raise _UnknownEchoes(unknown)
        return scrub(session, records)

    try:
        tenant.store.erase(tenant.name, stub, checked, also=also)
    except _UnknownEchoes as found:
        return found.echoes
    return frozenset()


def without_content(record: Record, stub: Entry) -> Record:
    """The record of an output, or of another body, whose content is destroyed; any other record as it is.

    It still says which blobs these were: they are dropped later, and whoever is killed between does so next time.
    """
    if not isinstance(record, Kept | Replaced) or record.entry != stub.id:
        return record
    if isinstance(record, Replaced):
        return Replaced(stub.id, stub.message)
    return msgspec.structs.replace(record, gone=stub.erased)


class _Weightless:
    """Weighs nothing: only what is shown counts here."""

    overhead = 0

    def message(self, message: Message, was: Message | None = None) -> Weight:
        return Weight(0, 0)

    def frame(self, frame: Frame, rows: Sequence[Row] = ()) -> Weight:
        return Weight(0, 0)

    def text(self, text: str) -> int:
        return 0
