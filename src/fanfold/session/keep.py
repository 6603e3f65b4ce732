"""Keeping a session in its store: what one unit of work recorded is written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from shlex import quote
from typing import NamedTuple

import msgspec

from fanfold.core.budget import Learned
from fanfold.core.edit import Pin, Undo
from fanfold.core.errors import Corrupt, NotFound, StoreFailed
from fanfold.core.log import Log
from fanfold.core.message import Message
from fanfold.core.record import VISIBLE, Answered, Beside, Edited, Framed, Kept, Move, Opened, Record
from fanfold.core.tree import Entry, missing
from fanfold.stores import checkpoint
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.prefix import hash_number
from fanfold.stores.store import Batch, Stored, Tenant, written_first
from fanfold.stores.summary import Summary

_OFTEN = 500
"""A checkpoint is kept after so many records."""
_SHARE = 4
"""A checkpoint tells of all rows, so where these are many, it waits until a quarter as many records came."""
_FEW = 64
"""So many records are laid out for a checkpoint, though nobody looked at them."""
_MANY = 64
"""How a session stands is kept after so many records, though there was no request."""
_SAID = frozenset({Move, Kept})
"""What is recorded for a message alone."""
_RARELY = 4_000
"""The same where most records are others': for a checkpoint, every process lays out what all of them wrote."""
_BEYOND = 1 << 31
"""More records than any session has."""
_NOBODY: frozenset[str] = frozenset()
_ORDERED = VISIBLE | {Answered}
"""What is stored only where nobody else wrote first: what is shown; answers, whose sources may be erased by now."""


class Keeping:
    """The bond between a log and the store that keeps it."""

    def __init__(self, tenant: Tenant, session: str, log: Log) -> None:
        self.tenant = tenant
        self.session = session
        self.log = log
        self.entered: list[Entry] = []
        """Entries that are not stored yet."""
        self.restored: list[tuple[Entry, Entry]] = []
        """Stubs whose content was said again, and what they became."""
        self.lost: tuple[tuple[Record, ...], tuple[Entry, ...]] = ((), ())
        """The records and entries that were last taken back."""
        self.opened: Opened | None = None
        """What the session was last opened with, as of the last time it was read."""
        self._tentative = False
        """Whether what is stored counts only when a transaction has ended that is under way."""
        self.unsettled = False
        """Whether something was stored in it."""
        self._unsettled: list[tuple[Entry, Entry]] = []
        """What was restored in it."""
        self.missed: tuple[int, int] | None = None
        """The numbers between which others wrote, just before what was last stored here."""
        self.outrun = False
        """Whether others were quicker the last time; then a look comes first, which costs less than to come second."""
        self.gone_back = False
        """Whether the store was brought back from a copy, and what is here is not what it has."""
        self._read_anew = False
        """Whether all was read from the store since somebody else was met there: nothing of theirs is left to read."""
        self.describe: Callable[[], Summary] | None = None
        """Says how the session stands, to be kept for lists of sessions."""
        self._untold = _MANY
        """How many records were stored since that was last kept."""
        self._later: Stored | None = None
        """What was read together with a checkpoint, and is still to be taken in."""
        self._seq = self._version = 0
        """How many records the store has, and how many of them are versions."""
        self._written = 0
        """How many records of the log are stored."""
        self._wrote = 0
        """How many of them were stored last."""
        self._checked = 0
        """The number of records that the last checkpoint stands for."""
        self._unchecked = 0
        """How many records were stored here since, or read when the session was opened: not those of other writers."""
        self._rows = 0
        """How many rows the last checkpoint has."""
        self._looked_back = False
        """Whether the answers are at hand that were kept before the log was resumed."""

    @property
    def begun(self) -> bool:
        """Whether the store has something of this session."""
        return self._seq > 0

    @property
    def pending(self) -> bool:
        """Whether something is not stored yet."""
        return self._written < len(self.log.records) or bool(self.entered or self.restored)

    def add(self, parent: str | None, message: Message) -> Entry:
        """Put a message after its parent, to be stored; by this session too, if another one is about to.

        What was erased here comes back as its stub. What an export says was erased was not erased here: these words
        take the place of such a stub, and so do they where a stub stands at another place than its id proves.
        """
        tree = self.log.tree
        with self.tenant.lock:
            entry = tree.place(parent, message)
            if entry.erased is not None and (entry.imported or entry.parent != parent):
                if entry.id in tree.path(parent):
                    raise Corrupt("An imported message stands before itself. Import that session again.")
                return self.exchange(entry, tree.make(parent, message))
            if entry.id not in tree or entry.id in self.tenant.waiting:
                self._await(entry)
                tree.put(entry)
        return entry

    def enter(self, *entries: Entry) -> None:
        """Take in entries that are new to the tenant."""
        with self.tenant.lock:
            for entry in entries:
                self._await(entry)
                self.log.tree.put(entry)

    def _await(self, entry: Entry) -> None:
        """Say that an entry is to be stored, before anybody can find it in the tree and take it for stored."""
        waiting = self.tenant.waiting
        waiting[entry.id] = waiting.get(entry.id, _NOBODY) | {self.session}
        self.entered.append(entry)

    def _let_go(self, ids: Iterable[str], *, stored: bool) -> None:
        """Nothing waits any more; what was not stored leaves the tree, unless another session is about to store it."""
        waiting = self.tenant.waiting
        for id in ids:
            others = waiting.get(id, _NOBODY) - {self.session}
            if others:
                waiting[id] = others
                continue
            if not stored:
                self.log.tree.entries.pop(id, None)
            waiting.pop(id, None)
        self.entered.clear()
        self.restored.clear()

    def abandon(self) -> None:
        """Let go of what a unit of work left that was broken off anywhere; the store knows what of it is kept."""
        with self.tenant.lock:
            for stub, _ in (*self.restored, *self._unsettled):
                self.log.tree.put(self.tenant.store.entry(self.tenant.name, stub.id) or stub)
            self._let_all_go(stored=False)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes to the store meanwhile, if it can do that. What is stored inside counts at the end."""
        try:
            with self.tenant.store.alone():
                self._tentative = True
                yield
        finally:
            self._tentative = False
        with self.tenant.lock:
            self._let_all_go(stored=True)

    def _let_all_go(self, *, stored: bool) -> None:
        waiting = self.tenant.waiting.items()
        self._let_go([id for id, sessions in waiting if self.session in sessions], stored=stored)
        self.unsettled = False
        self._unsettled.clear()

    def restore(self, stub: Entry, message: Message) -> Entry:
        """Put content back that was erased; only for a caller who says so."""
        return self.exchange(stub, msgspec.structs.replace(stub, message=message, erased=None))

    def exchange(self, stub: Entry, entry: Entry) -> Entry:
        """Put an entry in the place of a stub, to be stored there."""
        self.restored.append((stub, entry))
        self.log.tree.put(entry)
        return entry

    def store(self) -> None:
        """Write what was recorded since the last time; `Moved` if somebody else wrote first."""
        records = tuple(self.log.records[self._written :])
        if not (records or self.entered or self.restored):
            return
        self._wrote = len(records)
        seen = not _ORDERED.isdisjoint(map(type, records))
        batch = Batch(
            records,
            entries=tuple(self.entered),
            restored=tuple([entry for _, entry in self.restored]),
            prefixes=tuple([self._prefix(one.head) if type(one) is Move else None for one in records]),
            summary=self._summary(records),
        )
        expect = self._version if seen else None
        stored = self.tenant.store.append(self.tenant.name, self.session, batch, expect=expect)
        if stored.seq < self._seq + len(records):
            raise self.other_past()
        self.missed = (self._seq, stored.was) if stored.was != self._seq else None
        self._seq, self._written = stored.seq, len(self.log.records)
        self._read_anew = False
        self._unchecked += len(records)
        self._version = self.log.version if seen else self._version
        with self.tenant.lock:
            if self._tentative:
                self.unsettled = True
                self._unsettled += self.restored
            self._let_go([] if self._tentative else [entry.id for entry in self.entered], stored=True)

    def _prefix(self, head: str | None) -> int:
        """By what the conversation up to an entry is found."""
        return hash_number(self.tenant.tree.prefix(head))

    def _summary(self, records: Sequence[Record]) -> Summary | None:
        """How the session stands now: after requests, and after many messages without one."""
        self._untold += len(records)
        if self.describe is None or (self._untold < _MANY and _SAID.issuperset(map(type, records))):
            return None
        self._untold = 0
        return self.describe()

    def take_back(self) -> bool:
        """Forget everything that was not stored. False: more than the newest messages went, so start over."""
        self.lost = (tuple(self.log.records[self._written :]), tuple(self.entered))
        with self.tenant.lock:
            for stub, _ in self.restored:
                self.log.tree.put(stub)
            self._let_go([entry.id for entry in self.entered], stored=False)
        if self.log.unsay(len(self.log.records) - self._written):
            return True
        if not self.log.resumed_at:
            self.log.rewrite(self.log.records[: self._written])
        return False

    def load(self) -> Checkpoint | None:
        """Read the session from its store: from its last checkpoint on, or from the start if that does not do."""
        self._start()
        kept = self.tenant.store.checkpoint(self.tenant.name, self.session)
        if kept is None:
            self._unchecked = len(self.catch_up())
            return None
        seq, last = kept
        self.opened = last.opened
        later = self.tenant.store.load(self.tenant.name, self.session, after=seq)
        self._unchecked = len(later.records)
        if not all_go_on(later.records, last):
            self.catch_up()
            return None
        self._seq = self._checked = seq
        self._rows = len(last.rows)
        self._later = later
        self._version = last.version
        checkpoint.resume(self.log, last)
        opened = (record for record in reversed(later.records) if isinstance(record, Opened))
        self.opened = next(opened, last.opened)
        return last

    def look_for_opening(self) -> None:
        """Where not all can be read, see what the session was last opened with, as far as that can be."""
        with suppress(Corrupt):
            end = self.tenant.store.load(self.tenant.name, self.session, after=_BEYOND, most=1).seq
            found = (record for record in self._readable(0, end) if isinstance(record, Opened))
            self.opened = next(found, self.opened)

    def _readable(self, after: int, end: int) -> Iterator[Record]:
        """The stored records between two numbers that can be read, the newest first."""
        try:
            stored = self.tenant.store.load(self.tenant.name, self.session, after=after, most=end - after)
            yield from reversed(stored.records)
        except Corrupt:
            middle = (after + end) // 2
            if middle > after:
                yield from self._readable(middle, end)
                yield from self._readable(after, middle)

    def load_whole(self) -> None:
        """Read everything that happened; where that cannot be, all stays as it was."""
        stored = self.tenant.store.load(self.tenant.name, self.session)
        self._fetch_path(stored.records, stop=None)
        self._start()
        self._take_in(stored)

    def complete(self) -> bool:
        """Have everything that happened in front of what is not stored yet; `Moved` if somebody else wrote first.

        Returns whether all of it is older than what was at hand.
        """
        pending = self.log.records[self._written :]
        stored = self.tenant.store.load(self.tenant.name, self.session)
        if pending and stored.version != self._version:
            raise written_first(self.session, stored.version, self._version)
        self._fetch_path(stored.records, stop=None)
        self._later = None
        self.log.rewrite((*stored.records, *pending))
        older = stored.seq == self._seq
        self._seq, self._version, self._written = stored.seq, stored.version, len(stored.records)
        return older

    def answer(self, key: str) -> Answered | None:
        """What a model answered to a question, also before this log begins: reading costs less than asking again."""
        if self.log.resumed_at and key not in self.log.answers and not self._looked_back:
            with suppress(StoreFailed):  # then it is asked again
                stored = self.tenant.store.load(self.tenant.name, self.session)
                before = {record.key: record for record in stored.records if isinstance(record, Answered)}
                self.log.answers = before | self.log.answers
                self._looked_back = True
        return self.log.answers.get(key)

    def _start(self) -> None:
        self._read_anew = True
        self.log.rewrite(())
        self._looked_back = self.gone_back = False
        self._later = None
        self._seq = self._version = self._written = 0

    def look_ahead(self) -> Sequence[Record]:
        """What was written to the store since; it is taken in by `catch_up`."""
        if self._later is None:
            store, place = self.tenant.store, (self.tenant.name, self.session)
            found = store.load_later(*place, self._seq) if self.begun else store.load(*place)
            if found.seq < self._seq:
                raise self.other_past()
            self._later = found
        return self._later.records

    def meet(self) -> None:
        """Look what somebody wrote who was quicker. If there is nothing, the store was brought back from a copy."""
        if not self.look_ahead() and not self._read_anew:
            raise self.other_past()
        self._read_anew = False

    def has_news(self) -> bool:
        """Whether others, who were quicker the last time, wrote again; `catch_up` takes it in."""
        self.outrun = bool(self.look_ahead())
        if not self.outrun:
            self._later = None
        return self.outrun

    def other_past(self) -> StoreFailed:
        """The error where the store's past is another one than was seen here; what is here is read anew then."""
        self.gone_back = True
        return StoreFailed(
            f"What the store had of the session {self.session!r} is not there any more: it was brought back from a "
            "copy. The session is now as the store has it. Look at it, and repeat what is missing."
        )

    def ask_anew(self) -> Sequence[Record]:
        """What somebody else wrote since: whoever writes nothing has to ask."""
        self._later = None
        records = self.look_ahead() if self.begun else ()
        self._later = None  # by the time it is taken in, there may be more
        return records

    def catch_up(self) -> Sequence[Record]:
        """Take in what was written to the store since, and give it back."""
        records = self.look_ahead()
        assert self._later is not None
        stored, self._later = self._later, None
        for entry in stored.entries:
            if entry.id not in self.log.tree:
                self.log.tree.put(entry)
        self._fetch_path(records, stop=self.log.head)
        self._take_in(stored)
        return records

    def take_in_missed(self) -> Sequence[Record] | None:
        """Take in what others wrote just before what was last stored here, and give it back.

        Here it comes after what it came before in the store. None where that makes a difference: then nothing is done.
        """
        assert self.missed is not None
        (first, last), self.missed = self.missed, None
        ours = self.log.records[self._written - self._wrote :]
        found = self.tenant.store.load(self.tenant.name, self.session, after=first, most=last - first).records
        if not {*map(type, found)}.isdisjoint(map(type, ours)) or not all_go_on(found, self.log):
            return None
        self._fetch_path(found, stop=self.log.head)
        self.log.write(*found)
        self._version, self._written = self.log.version, len(self.log.records)
        return found

    def _take_in(self, stored: Stored) -> None:
        self.log.write(*stored.records)
        self.opened = self.log.opened
        self._seq, self._version, self._written = stored.seq, stored.version, len(self.log.records)

    def fetch_stubs(self) -> None:
        """Have the stubs of what was erased elsewhere, instead of its content."""
        for id in self.log.erasures:
            if id in self.log.tree and id not in self.log.tree.erased:
                stub = self.tenant.store.entry(self.tenant.name, id)
                if stub is not None:
                    self.log.tree.put(stub)

    def _fetch_path(self, records: Sequence[Record], stop: str | None) -> None:
        """Fetch what is not at hand of the newest path, all at once."""
        heads = [record.head for record in records if isinstance(record, Move) and record.head is not None]
        tree, absent = self.log.tree, heads[-1] if heads else None
        while absent is not None and absent != stop and absent in tree:
            absent = tree[absent].parent
        if absent is None or absent == stop:
            return
        path = list(self.tenant.store.path(self.tenant.name, absent, stop=stop))
        if not path:
            raise missing(absent)
        for entry in path:
            if entry.id not in tree:  # what is at hand may be restored here, and not be stored yet
                tree.put(entry)

    def is_checkpoint_due(self, behind: int, *, now: bool = False) -> bool:
        """Whether much happened since the last checkpoint; `now`, whether anything did.

        `behind`: so many records are not laid out yet. Where nobody looks at the view, to lay it out for a checkpoint
        alone would take longer than to write the messages, so it waits until somebody looks, or closes the session.
        """
        soon = self._unchecked >= _OFTEN and behind <= _FEW and self.tenant.store.resumes
        if not (now or soon) or self.pending:
            return False
        if now:
            return self._seq > self._checked
        others = self._seq - self._checked - self._unchecked
        often = max(_OFTEN, self._rows // _SHARE)
        return self._unchecked >= (max(often, _RARELY) if others > 2 * self._unchecked else often)

    def keep_checkpoint(self, kept: Checkpoint) -> None:
        """Keep a checkpoint of what is stored."""
        self._checked, self._unchecked, self._rows = self._seq, 0, len(kept.rows)
        with suppress(StoreFailed):  # a session opens without one, too
            self.tenant.store.keep_checkpoint(self.tenant.name, self.session, self._seq, kept)


def said_of_damage(session: str, damage: str) -> str:
    """What a damaged session says to whoever wants something of it, with the next steps."""
    named = "" if f"session {session!r} is damaged" in damage else f"The session {session!r} is damaged. "
    return (
        f"{named}{damage} `fanfold doctor` says what else is, and "
        f"`fanfold export {quote(session)} --readable` saves what can be read."
    )


class LoadedSession(NamedTuple):
    """A session as it was read from its store: from a checkpoint on, or whole."""

    keeping: Keeping
    last: Checkpoint | None
    damage: str = ""
    """What of it could not be read."""

    @classmethod
    def from_store(cls, tenant: Tenant, name: str) -> LoadedSession:
        """Read a session from its store."""
        keeping = Keeping(tenant, name, Log(tenant.tree))
        try:
            return cls(keeping, keeping.load())
        except (Corrupt, NotFound) as error:
            keeping.look_for_opening()
            return cls(keeping, None, str(error))


def all_go_on(records: Iterable[Record], log: Log | Checkpoint) -> bool:
    """Whether some records only add to the view that ends at a log's head, each to what those before it left."""
    head = log.head
    for record in records:
        if not goes_on(record) or comes_by_again(record, log):
            return False
        if isinstance(record, Edited) and any(decision.at != head for decision in record.decisions):
            return False
        head = record.head if isinstance(record, Move) else head
    return True


def comes_by_again(record: Record, log: Log | Checkpoint) -> bool:
    """Whether a log that was resumed comes to where the session was before: what was decided there is not at hand."""
    return isinstance(record, Move) and record.head in log.ahead


def goes_on(record: Record) -> bool:
    """Whether a record only adds to a view, so that it can be taken in without what happened before."""
    match record:
        case Move(how=how):
            return how == "append"
        case Edited(decisions=decisions):
            return not any(isinstance(decision.edit, Pin | Undo) for decision in decisions)
        case _:
            return isinstance(record, Framed | Beside)


def as_of_now(learned: Learned, log: Log) -> Learned:
    """What bills taught before the session was opened; the last one holds if only messages came since its request."""
    billed = log.sent[-1] if log.sent and log.requests - 1 in log.bills else None
    if billed is None or log.head is None:
        return learned.voided()
    depth = log.tree[billed.tip].depth if billed.tip is not None else -1
    more = log.tree[log.head].depth - depth
    return learned if log.version - billed.version == more >= 0 else learned.voided()
