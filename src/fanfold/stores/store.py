"""What a store is: it keeps records, entries and blobs, and answers a compare-and-swap.

Everything belongs to a tenant; no call can reach another tenant's rows or blobs.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from hashlib import blake2b, sha256
from secrets import token_hex
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec

from fanfold.core.errors import Gone, Moved, NotFound, StoreFailed
from fanfold.core.record import Move, Record, Taught, blobs_of
from fanfold.core.tree import Entry
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.locks import ThreadLock
from fanfold.stores.prefix import hash_number
from fanfold.stores.search import BlockBits
from fanfold.stores.summary import Summary, summarize_records
from fanfold.stores.tenant_tree import TenantTree

READ_AT_ONCE = 1 << 20
"""This many bytes of a blob are read at a time."""
SOME = 64
"""This many records are read at a time, where all at once may be too many."""
ABANDONED = 3600.0
"""Seconds after which a blob that nobody finished or recorded belongs to nobody any more."""
TRACKS = 64
"""So many sessions are told of that came by the same prefix."""
_SPARE = 1_000
"""So many entries that nobody needs may always be at hand."""
_FORMER = 32
"""The length of names from before blobs were named after their SHA-256; such a blob keeps its name."""


class Batch(msgspec.Struct, frozen=True):
    """What one verb recorded: written as a whole or not at all."""

    records: tuple[Record, ...]
    entries: tuple[Entry, ...] = ()
    """Entries that are new to the tenant, as far as the session knows."""
    restored: tuple[Entry, ...] = ()
    """Entries to put in the place of stubs: their content was said again. A stub may get another place or role, too."""
    prefixes: tuple[int | None, ...] = ()
    """Where each record moves the head to, as the number of a prefix; None for records that do not."""
    summary: Summary | None = None
    """The session as it stands after the batch, if that is to be kept."""
    passed: tuple[str, ...] = ()
    """Entries that the session has, and that no record moves its head to step by step."""

    @property
    def stubs(self) -> tuple[Entry, ...]:
        """Those of its entries that come without their content: it was erased where they were exported."""
        return tuple(entry for entry in (*self.entries, *self.restored) if entry.erased is not None)


class Stored(msgspec.Struct, frozen=True):
    """A session as it stands in the store."""

    records: Sequence[Record]
    seq: int
    """Where the session's log ends, or where a part of it does; `load(after=seq)` returns what came later."""
    version: int
    """How many of all its records change the view."""
    was: int = 0
    """Where the log ended before an append."""
    entries: Sequence[Entry] = ()
    """Entries that were found beside the records; others may be missing."""


class Track(msgspec.Struct, frozen=True):
    """A session that came by a prefix."""

    prefix: int
    session: str
    head: bool
    """Whether it stands there now."""
    summary: Summary | None = None


class Blob(msgspec.Struct, frozen=True):
    """A stored output: its content's hash, and its size in bytes."""

    id: str
    size: int


class Hold(msgspec.Struct, frozen=True, order=True):
    """Somebody's claim to a blob that they put and are about to record."""

    blob: str
    holder: str
    since: float
    """In seconds since 1970."""

    @property
    def until(self) -> float:
        """When it is forgotten, if nobody lets go: whoever claimed it has died."""
        return self.since + ABANDONED


def holder_name() -> str:
    """A name under which to put blobs: nobody else's, and it says who it is."""
    return f"process {os.getpid()} on {platform.node()} ({token_hex(8)})"


Scrub = Callable[[str, Sequence[Record]], Sequence[Record | None] | None]
"""From a session's name and records to the records in their place (None for none there), and more at the end.

None for all leaves the session as it is.
"""


def summing(id: str = "") -> Any:
    """A sum over a blob, like the one that it is named after; a new blob is named after the one machines do fastest."""
    return blake2b(digest_size=16) if len(id) == _FORMER else sha256()


def name_of(total: Any) -> str:
    """What a blob with this sum is called."""
    return str(total.hexdigest()[:40])


def bounds(blob: Blob, start: int, stop: int | None) -> tuple[int, int]:
    """A range within a blob."""
    if start < 0 or (stop is not None and stop < 0):
        raise StoreFailed("A range of a blob is counted from its start: give numbers from 0 on.")
    return min(start, blob.size), min(blob.size if stop is None else stop, blob.size)


class Store(Protocol):
    """Keeps records, entries and blobs."""

    passing: bool
    """Whether it was opened by name for a session, and is closed with the last session."""
    remote: bool
    """Whether it waits for a network or a disk: asyncio then waits for it beside the loop, not in it."""
    resumes: bool
    """Whether sessions are opened from checkpoints."""

    def tenant(self, name: str) -> Tenant:
        """The tenant with this name, at work in this process."""

    @property
    def idle(self) -> bool:
        """Whether no session is open on this store."""

    def load(self, tenant: str, session: str, *, after: int = 0, most: int | None = None) -> Stored:
        """The records of a session that came after `after`, at most so many; none if nobody wrote to it."""

    def load_later(self, tenant: str, session: str, after: int) -> Stored:
        """All records that came after one of them, with the entries that lie beside them, if these come at no cost."""

    def alone(self) -> AbstractContextManager[object]:
        """Inside nobody else writes to the store, if it can do that; what is written inside counts at its end."""

    def append(self, tenant: str, session: str, batch: Batch, *, expect: int | None) -> Stored:
        """Write a batch if the session's version is still `expect`, else raise `Moved`; None expects nothing.

        Returns the session's new `seq` and `version`, without records. An entry that is there stays as it is;
        if its content was erased, here or where it was imported from, nothing is written, and `Gone` hands the stubs
        over.
        """

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, as one, however long it is; `Moved` if somebody wrote to it before."""

    def checkpoint(self, tenant: str, session: str) -> tuple[int, Checkpoint] | None:
        """The last checkpoint of a session and the number of records it stands for, if there is one."""

    def keep_checkpoint(self, tenant: str, session: str, seq: int, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint in the place of the one before; a store may forget it at any time."""

    def taught(self, tenant: str) -> Iterable[Taught]:
        """What bills taught a few of the tenant's sessions, the youngest first, as far as checkpoints tell."""

    def path(self, tenant: str, tip: str, *, stop: str | None = None) -> Iterator[Entry]:
        """The entries from the tip towards the first one, `stop` not included."""

    def entry(self, tenant: str, id: str) -> Entry | None:
        """One entry."""

    def read_entries(self, tenant: str, ids: Sequence[str]) -> Iterable[Entry]:
        """Those of some entries that are there, in any order; a store across a network is asked for many at once."""

    def find(self, tenant: str, beginning: str) -> list[str]:
        """The ids of entries that begin so, at most a few."""

    def tracks(self, tenant: str, prefixes: Sequence[int]) -> list[Track]:
        """The sessions that came by the first of some prefixes that any session came by: some, if they are many.

        Those that stand there come first, then the youngest.
        """

    def summaries(self, tenant: str) -> list[Summary]:
        """All sessions of a tenant in a few figures each, by their names."""

    def referring(self, tenant: str, ids: Collection[str]) -> list[str]:
        """The names of the sessions whose records name any of some entries or blobs; without an index, of more."""

    def erase(self, tenant: str, stub: Entry, scrub: Scrub, *, also: str | None = None) -> None:
        """Put a stub in an entry's place, and scrub the sessions that name it, and this one, as one.

        Their checkpoints are forgotten.
        """

    def scour(self) -> None:
        """Leave nothing of what was erased or dropped: no bytes of it are in any file of the store afterwards."""

    def sessions(self, tenant: str) -> list[str]:
        """The names of a tenant's sessions."""

    def log_ends(self, tenant: str) -> list[tuple[str, int]]:
        """The names of a tenant's sessions and the numbers of their last records, the youngest first."""

    def signatures(self, tenant: str, sessions: Sequence[str], first: int, last: int) -> list[BlockBits]:
        """The signatures of some sessions' blocks from one up to another, by which a search passes over them."""

    def keep_signature(self, tenant: str, signed: BlockBits, end: int) -> None:
        """Keep the signature of a block, if the session's log still ends there; a store may forget it at any time."""

    def put_blob(self, tenant: str, chunks: Iterable[bytes], *, holder: str = "") -> Blob:
        """Keep a blob whole; the same content is the same blob.

        Nobody drops it while somebody holds it, who is about to record it, and dies within the hour or lets go.
        """

    def let_go(self, tenant: str, holder: str) -> None:
        """Whoever put blobs under this name recorded them, or does not need them."""

    def get_blob(self, tenant: str, id: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """A blob, or a range of it, in chunks."""

    def blobs(self, tenant: str) -> list[Blob]:
        """All blobs of a tenant."""

    def drop_blobs(self, tenant: str, ids: Collection[str]) -> list[Hold]:
        """Delete blobs that no record of the tenant refers to; returns who holds those that stay.

        Nobody can refer to or hold one of them meanwhile.
        """

    def close(self) -> None:
        """Close files and connections."""


def written_first(session: str, version: int, expect: int | None) -> Moved:
    """The error for somebody who wrote second."""
    return Moved(f"The session {session!r} is at version {version}, not at {expect}: somebody wrote first.")


def no_blob(id: str) -> NotFound:
    """The error for a blob that is not listed."""
    return NotFound(f"There is no blob {id!r} here.")


def refuse_stubs(known: Iterable[Entry | None]) -> None:
    """Raise `Gone` if content was erased that is about to be written again."""
    stubs = tuple([entry for entry in known if entry is not None and entry.erased is not None])
    if stubs:
        raise Gone("This was erased before.", stubs)


def records_of(store: Store, tenant: str, session: str) -> Iterator[Record]:
    """All records of a session, some at a time."""
    after = 0
    while (some := store.load(tenant, session, after=after, most=SOME)).records:
        yield from some.records
        after = some.seq


def referred_to(store: Store, tenant: str, sessions: Iterable[str] | None = None) -> Iterator[str]:
    """The blobs that the records of a tenant refer to; those of all its sessions, if none are named."""
    for session in store.sessions(tenant) if sessions is None else sessions:
        yield from blobs_of(records_of(store, tenant, session))


class Tenant:
    """A tenant at work in this process: the entries read so far, and the sessions that are open."""

    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name
        self.tree = TenantTree(partial(store.read_entries, name))
        self.states: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self.learned: dict[str, Any] = {}
        """What bills taught, by model; taken over when a session opens."""
        self.waiting: dict[str, frozenset[str]] = {}
        """Entries of the tree that are not stored yet, and the sessions that are about to store each."""
        self.lock = ThreadLock()
        self._needed = 0
        """How many entries the open sessions needed when that was last looked at."""

    @property
    def at_work(self) -> list[Any]:
        """The sessions that are open, as they are now: others may open some meanwhile."""
        return [state for ref in self.states.valuerefs() if (state := ref()) is not None]

    def release(self) -> None:
        """Let go of entries that only closed sessions needed: of all at once, where no session is open any more.

        Which ones the others need takes looking at all of those, so it is done when a quarter may be in vain. What is
        needed again is read again.
        """
        with self.lock:
            if self.states and len(self.tree.entries) < _SPARE + self._needed * 5 // 4:
                return
            needed = set(self.waiting).union(*(state.entries_at_hand() for state in self.at_work))
            self.tree.keep_only(needed)
            self._needed = len(self.tree.entries)


class Tenants:
    """The tenants of a store; stores inherit it."""

    passing = False
    """It belongs to whoever opened it."""
    remote = False
    """It waits for no network."""
    awaits = False
    """Whether it waits in the event loop, where its caller is a fiber; else asyncio waits for it in a thread."""
    resumes = True
    """Whether sessions are opened from checkpoints, so that they are worth keeping on the way."""
    pools = 0
    """How many pools use it: they keep it open, also while no session is."""

    def __init__(self) -> None:
        self._tenants: dict[str, Tenant] = {}

    @property
    def idle(self) -> bool:
        """Whether no session is open on this store, and no pool uses it."""
        return not self.pools and not any(tenant.states for tenant in self._tenants.values())

    def load_later(self, tenant: str, session: str, after: int) -> Stored:
        """All records that came after one of them."""
        return self.load(tenant, session, after=after)  # type: ignore[attr-defined, no-any-return]

    def alone(self) -> AbstractContextManager[object]:
        """Others go on writing; whoever comes second does it again."""
        return nullcontext()

    def create(self, tenant: str, session: str, batches: Iterable[Batch]) -> Stored:
        """Write a new session, as one batch."""
        records, entries, restored = list[Record](), list[Entry](), list[Entry]()
        prefixes, passed = list[int | None](), list[str]()
        for batch in batches:
            passed += batch.passed
            records += batch.records
            entries += batch.entries
            restored += batch.restored
            prefixes += (*batch.prefixes, *[None] * (len(batch.records) - len(batch.prefixes)))
        whole = Batch(tuple(records), tuple(entries), tuple(restored), tuple(prefixes), passed=tuple(passed))
        return self.append(tenant, session, whole, expect=0)  # type: ignore[attr-defined, no-any-return]

    def read_entries(self, tenant: str, ids: Sequence[str]) -> Iterator[Entry]:
        """Those of some entries that are there, one by one."""
        found = (self.entry(tenant, id) for id in ids)  # type: ignore[attr-defined]
        return (entry for entry in found if entry is not None)

    def tracks(self, tenant: str, prefixes: Sequence[int]) -> list[Track]:
        """The sessions that came by a prefix: every session is read, for a store without an index of its own."""
        heads = dict[str, list[int]]()
        for session in self.sessions(tenant):  # type: ignore[attr-defined]
            moves = (one for one in records_of(self, tenant, session) if isinstance(one, Move))  # type: ignore[arg-type]
            tree = self.tenant(tenant).tree
            heads[session] = [hash_number(tree.prefix(move.head)) for move in moves]
        first = next((one for one in prefixes if any(one in there for there in heads.values())), None)
        found = [Track(first, name, there[-1] == first) for name, there in heads.items() if first in there]
        return sorted(found, key=lambda track: not track.head)[:TRACKS]

    def referring(self, tenant: str, ids: Collection[str]) -> list[str]:
        """All sessions: any may name them, for a store without an index of its own."""
        return self.sessions(tenant)  # type: ignore[attr-defined, no-any-return]

    def scour(self) -> None:
        """Nothing is left anyway."""

    def log_ends(self, tenant: str) -> list[tuple[str, int]]:
        """The sessions and the numbers of their last records."""
        names: list[str] = self.sessions(tenant)  # type: ignore[attr-defined]
        return [(name, self.load(tenant, name, after=1 << 31, most=1).seq) for name in names]  # type: ignore[attr-defined]

    def signatures(self, tenant: str, sessions: Sequence[str], first: int, last: int) -> list[BlockBits]:
        """None: a search reads everything."""
        return []

    def keep_signature(self, tenant: str, signed: BlockBits, end: int) -> None:
        """There is no index."""

    def summaries(self, tenant: str) -> list[Summary]:
        """All sessions of a tenant: each is read, for a store that keeps no summaries."""
        return [self.summarize(tenant, session) for session in self.sessions(tenant)]  # type: ignore[attr-defined]

    def summarize(self, tenant: str, session: str) -> Summary:
        """A session in a few figures, from its records."""
        records = list(records_of(self, tenant, session))  # type: ignore[arg-type]
        heads = [record.head for record in records if isinstance(record, Move) and record.head is not None]
        last = self.entry(tenant, heads[-1]) if heads else None  # type: ignore[attr-defined]
        summary = summarize_records(session, records)
        return msgspec.structs.replace(summary, messages=last.depth + 1) if last is not None else summary

    def taught(self, tenant: str) -> Iterable[Taught]:
        """Nothing that is not at hand anyway."""
        return ()

    def tenant(self, name: str) -> Tenant:
        """The tenant with this name."""
        return self._tenants.setdefault(name, Tenant(self, name))  # type: ignore[arg-type]
