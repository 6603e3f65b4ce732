"""What a session is made of."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from fanfold.config.events import Event
from fanfold.core.budget import Budget, Learned
from fanfold.core.edit import READ, Author, Decision, Edit, Note
from fanfold.core.errors import Closed, Corrupt, NotFound, StoreFailed
from fanfold.core.message import Call, Message, Result
from fanfold.core.record import (
    Edited,
    Erased,
    Frame,
    Framed,
    How,
    Move,
    Opened,
    Record,
    Released,
    Taught,
    is_visible,
)
from fanfold.core.tree import Entry
from fanfold.core.view import View
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import function_names
from fanfold.dialects.weigh import Gauge, Offer, framed
from fanfold.outputs.filters.clip import Clip
from fanfold.outputs.filters.filter import Filter
from fanfold.outputs.references import shelved
from fanfold.outputs.source import LineIndex
from fanfold.session.aftermath import Aftermath, GivenParams, Judged, Resent, Still
from fanfold.session.keep import LoadedSession, all_go_on, as_of_now, comes_by_again, goes_on, said_of_damage
from fanfold.session.projection import Projection
from fanfold.session.summarize import summarize
from fanfold.session.terms import Terms
from fanfold.stores import checkpoint
from fanfold.stores.checkpoint import Checkpoint
from fanfold.stores.fibers import FiberLock, worker
from fanfold.stores.locks import ThreadLock
from fanfold.stores.opening import is_awaited
from fanfold.stores.tenant_tree import TenantTree
from fanfold.tokens.learning import sound
from fanfold.tokens.units import in_window

T = TypeVar("T")
_LOGGER = logging.getLogger("fanfold")
"""No handler is installed. Only names and numbers are logged, never contents."""


class State:
    """One session at work: its log, what is shown of it, and what was learned on the way.

    Everything is changed by the verbs below, under `lock` only. What has no underscore can be read from outside.
    """

    def __init__(
        self, terms: Terms, learned: Learned | None = None, read: LoadedSession | None = None
    ) -> None:
        self.terms: Final = terms
        self.dialect: Final = terms.dialect
        self.lock: Final = FiberLock() if is_awaited(terms.tenant.store) else ThreadLock()
        self.keeping, last, damage = read or LoadedSession.from_store(terms.tenant, terms.name)
        self.log: Final = self.keeping.log
        self.keeping.describe = partial(summarize, self)
        self.deferral: Final = terms.deferral()
        self.gauge: Final = Gauge(terms.meter, terms.dialect, self.deferral.offer)
        self.aftermath = Aftermath()
        self.judged, self.resent, self.still, self.given = Judged(), Resent(), Still(), GivenParams()
        self.projection: Final = Projection(self.log, self.gauge, terms.name, refs=bool(terms.recall))
        self.indexes: Final[dict[str, LineIndex]] = {}
        """Where the lines of the outputs begin that were last read."""
        self._opening: Opened | None = None
        """What the session was opened with, until that is recorded: with the first thing that is."""
        self.learned = learned or Learned(exact=self.gauge.exact)  # what bills taught about the meter
        self._most: tuple[int | None, int | None] = (None, None)
        """The tokens and bytes that the provider takes, where it refused more."""
        self._open_calls: dict[str, Call] = {}
        self._holders: list[str] = []
        """The names under which blobs are held until the unit of work ends."""
        self._warned: set[str] = set()
        self._limits: dict[Any, Budget] = {}
        self._frame: tuple[Frame, tuple[Frame, tuple[str, ...]]] | None = None
        """The frame last sent, as it was recorded and as it goes over the wire."""
        self._tools: tuple[Frame, tuple[frozenset[str], bool]] | None = None
        self._closed = False
        self._worker: object = None
        """The thread in which a unit of work is under way."""
        self._torn = False
        """Whether one was broken off, so that what is here may be neither what was before nor what came of it."""
        self._waiting: dict[str, Call] = {}
        """The open calls as they were when the unit of work began."""
        self._stale = False
        """Whether somebody erased something while this session was at work."""
        self._damage = ""
        try:
            if not damage:
                self._start(last)
        except (Corrupt, NotFound) as error:
            damage = str(error)
        if damage:
            self._damage = said_of_damage(terms.name, damage)
        elif learned is None:
            self._take_over()

    def _start(self, last: Checkpoint | None) -> None:
        """Begin where the store says the session ended."""
        if last is None:
            self.start_over()
            return
        self.projection.resume(last, checkpoint.rows(last, self.log, self.gauge))
        self._open_calls = {call.id: call for call in last.calls}
        self.keeping.catch_up()
        for record in self.log.records:
            if isinstance(record, Move) and record.head is not None:
                self.note_calls(self.log.message(record.head))

    # What it is, and what it shows

    @property
    def damage(self) -> str:
        """What of the session is damaged in its store, if something is: nothing is done with it then."""
        return self._damage

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._closed

    @property
    def open_calls(self) -> Mapping[str, Call]:
        """Calls on the present path that have no answer yet."""
        return self._open_calls

    @property
    def tree(self) -> TenantTree:
        """The entries that the sessions of a tenant share; those of the log are in it."""
        return self.terms.tenant.tree

    @property
    def path(self) -> list[str]:
        """The ids of the entries up to the head."""
        self.projection.follow()
        return self.projection.path

    @property
    def depth(self) -> dict[str, int]:
        """Where in the path each entry stands."""
        self.projection.follow()
        return self.projection.depth

    def view(self) -> View:
        """What the model would see now."""
        if self.projection.names_refs != self.has_recall_tools():
            self.projection.names_refs = self.has_recall_tools()
            self.projection.forget()
        return self.projection.view()

    def entries_at_hand(self) -> set[str]:
        """The entries that this session works with: its path, what it shows, and what it said elsewhere.

        Others ask for it and never wait for the thread at work, which may wait for them.
        """
        return {*self.projection.at_hand, *list(self.log.times)}

    def shown(self) -> View:
        """The view for people: in the window's tokens, with the room beside it."""
        limits = self.limits()
        return replace(in_window(self.view(), limits), room=limits.limit)

    def offer(self, forced: str | None = None) -> Offer:
        """System prompt and tools as they are sent now; `forced` is the tool that the model has to call."""
        frame = self.log.frame()
        if (offer := self.deferral.offer(frame, self.view().rows, forced)) is not None:
            return offer
        sent, left_out = self._whole_frame()
        return Offer(sent, sent, left_out, ())

    @property
    def has_waiting_tools(self) -> bool:
        """Whether some tools of the frame come when they are needed."""
        return bool(self.deferral.catalog(self.log.frame()).waiting)

    def _whole_frame(self) -> tuple[Frame, tuple[str, ...]]:
        frame = self.log.frame()
        if self._frame is None or (self._frame[0] is not frame and self._frame[0] != frame):
            self._frame = (frame, framed(frame, self.dialect))
        return self._frame[1]

    # The tools to look things up again

    @property
    def recall(self) -> bool:
        """Whether this session offers the tools with which a model looks things up, and answers them."""
        return self.projection.refs

    def offer_recall(self, offered: bool) -> None:
        """Offer these tools from now on, or do not."""
        self.projection.refs = offered

    def frame_tools(self) -> frozenset[str]:
        """The names of the tools that were recorded last."""
        return self._known_tools()[0]

    def has_recall_tools(self) -> bool:
        """Whether the model can look things up, by tools of this session, of an MCP server or of a gateway."""
        return self.recall or self._known_tools()[1]

    def _known_tools(self) -> tuple[frozenset[str], bool]:
        """The names of the tools in the frame, and whether one of them looks things up."""
        frame = self.log.frame()
        if self._tools is None or self._tools[0] is not frame:
            names = tool_names(frame, self.dialect.name)
            self._tools = (frame, (names, any(READ in name for name in names)))
        return self._tools[1]

    @property
    def filters(self) -> tuple[Filter, ...]:
        """What shapes an output when it arrives; a model that has no tool to read on with is not told to."""
        return self.terms.filters if self.has_recall_tools() else self._filters_without_refs

    @cached_property
    def _filters_without_refs(self) -> tuple[Filter, ...]:
        return tuple(
            replace(one, refers=False) if isinstance(one, Clip) else one for one in self.terms.filters
        )

    # What fits, and what bills and refusals taught about it

    @property
    def most(self) -> tuple[int | None, int | None]:
        """The tokens and bytes that the provider takes, where it refused more."""
        return self._most

    def limits(self, max_tokens: int | None = None, *, edited: bool = False) -> Budget:
        """The budget for a request in the meter's own tokens, lowered to what the provider turned out to take.

        `edited`: as it is once an edit voids the last bill, which is what the count is corrected by.
        """
        learned = self.learned.voided() if edited else self.learned
        key = (repr(max_tokens), learned, self._most)  # a caller's limit may be anything, a list too
        if key not in self._limits:
            if len(self._limits) > 2:  # with the reply that is usual here, without any, and after an edit
                self._limits.clear()
            self._limits[key] = self.terms.budget.measured_by(learned, max_tokens, *self._most)
        return self._limits[key]

    def teach(self, learned: Learned, most: tuple[int | None, int | None] | None = None) -> None:
        """Keep what a bill or a refusal taught: in this session, and for the next one of the same model."""
        self.learned, self._most = learned, most or self._most
        self.write(Taught(self.terms.model or "", self.terms.meter.name, learned, *self._most))
        self.terms.tenant.learned[self._kind] = learned.inherited()

    def void_bill(self) -> None:
        """Something before the end of the view changed: the last bill says nothing about the next request."""
        self.learned = self.learned.voided()

    @property
    def _kind(self) -> str:
        return f"{self.terms.model or ''} by {self.terms.meter.name}"

    def _take_over(self) -> None:
        """Start from what this session learned before, else from what others of the same model did."""
        taught, kind = self.log.taught, (self.terms.model or "", self.terms.meter.name)
        if taught and (taught.model, taught.meter) == kind:
            self.learned = as_of_now(sound(taught.learned, exact=self.gauge.exact), self.log)
            self._most = (taught.most, taught.most_bytes)
            return
        tenant = self.terms.tenant
        if self._kind not in tenant.learned:  # then others may have learned it before this process began
            others = (
                one.learned for one in tenant.store.taught(tenant.name) if (one.model, one.meter) == kind
            )
            found = sound(next(others, Learned()), exact=self.gauge.exact)
            tenant.learned[self._kind] = found.inherited()
        shared: Learned = tenant.learned[self._kind]
        self.learned = sound(shared, exact=self.gauge.exact)

    # What is recorded

    def introduce(self) -> None:
        """Let what the session was opened with be recorded, with the first thing that is."""
        self._opening = self.terms.opened

    def write(self, *records: Record) -> None:
        """Record; what one unit of work records is stored together at its end.

        What changes more than the end of the view can only be shown with all that happened before at hand, and whoever
        forgets to ask for that has it here.
        """
        self.check_open()
        if self.log.resumed_at and any(not goes_on(one) or comes_by_again(one, self.log) for one in records):
            self.read_whole()
        if self._opening is not None:
            self.record_opening()
        self.log.write(*records)

    def record_opening(self) -> None:
        """Record what the session was opened with, if that is still to be done."""
        if self._opening is not None and self.log.opened is not self._opening:
            self.log.write(self._opening)

    def decide(self, edit: Edit, *, by: Author = "person", why: str = "") -> Decision:
        """Record one decision at the head."""
        decision = Decision(id=self.log.next_edit(), at=self.log.head, edit=edit, by=by, why=why)
        self.commit((decision,))
        return self.log.decisions[decision.id]

    def commit(self, decisions: Sequence[Decision], cause: str = "") -> None:
        """Record decisions as one plan, and the references they gave out."""
        # A note knows whether what stands before it was sent already.
        timed = [
            replace(one, edit=replace(one.edit, late=True))
            if isinstance(one.edit, Note) and one.at in self.log.tips
            else one
            for one in decisions
        ]
        self.write(Edited(tuple(timed), self.terms.clock(), cause))
        self.write(*shelved(self.log, decisions))
        self.void_bill()

    def move(self, head: str | None, how: How) -> None:
        """Move the head elsewhere on the tree."""
        self.write(Move(head, how, self.log.head, self.terms.clock()))
        self.void_bill()
        self.aftermath.quiet_until = 0
        self.find_open_calls()

    def find_open_calls(self) -> None:
        """Find the calls of the present path that have no answer yet."""
        self._open_calls.clear()
        for id in self.log.tree.path(self.log.head):
            self.note_calls(self.log.message(id))

    def note_calls(self, message: Message) -> None:
        """Keep the list of calls that wait for an answer."""
        for part in message.parts:
            if type(part) is Result:
                self._open_calls.pop(part.call, None)
            elif type(part) is Call:
                self._open_calls[part.id] = part

    # Who is told

    def tell(self, events: Iterable[Event]) -> None:
        """Tell a user interface what happens; where nobody listens, no event is made."""
        if self.terms.hooks.on_event:
            for event in events:
                self.terms.hooks.on_event(event)

    def warn(self, sentence: str, *values: object, once: str = "") -> None:
        """Log what went wrong without stopping anything; what is named by `once` is logged once in a session."""
        if once and once in self._warned:
            return
        self._warned.add(once)
        _LOGGER.warning(f"session %r: {sentence}", self.terms.name, *values)

    def warn_again(self, once: str) -> None:
        """The next time, this is news again."""
        self._warned.discard(once)

    # Units of work, and the store

    def check_open(self) -> None:
        """Refuse to work on a session that was closed."""
        if self._closed:
            raise Closed(f"The session {self.terms.name!r} is closed; open it again to go on.")

    def peek(self, look: Callable[[], T]) -> T:
        """Look at the session as the store has it; nothing is recorded."""
        with self.lock:
            self.check_open()
            if self._worker is None:
                if self._damage:
                    raise Corrupt(self._damage)
                self._freshen()
            return look()

    def unit(self, work: Callable[[], T]) -> T:
        """Do a unit of work: nobody else works on this session, and it is stored whole or not at all.

        Inside another one it is a part of that. If it is broken off where nobody can tell what was done (Ctrl-C), the
        next one begins by reading what the store has.
        """
        with self.lock:
            if self._worker is not None:
                return work()
            if self._damage:
                raise Corrupt(self._damage)
            self._freshen()
            if self.keeping.outrun and self.keeping.has_news():
                self.catch_up()
            self._waiting = dict(self._open_calls)
            self._worker, self._torn, torn = worker(), True, True
            try:
                done = work()
                self.store()
                torn = False
                return done
            except Exception as error:
                torn = self.keeping.gone_back or isinstance(error, RecursionError | MemoryError)
                raise
            finally:
                self._worker, self._torn = None, True
                while self._holders:
                    self.let_go(self._holders.pop())
                if self.keeping.pending and not torn:
                    self._take_back()
                self._torn = torn or self.keeping.unsettled  # until the transaction has ended

    def unit_alone(self, work: Callable[[], T]) -> T:
        """Do a unit of work on what others wrote, while they wait. Among many writers it might else never be first."""
        with self.lock:
            if self._worker is not None:
                return work()
            with self.keeping.alone():
                self.peek(self.catch_up)
                done = self.unit(work)
            self._torn = False
            return done

    def hold(self, holder: str) -> None:
        """Let go of the blobs that were put under this name when the unit of work ends."""
        self._holders.append(holder)

    def let_go(self, holder: str) -> None:
        """The blobs that were put under this name are recorded, or never will be."""
        if holder:
            with suppress(StoreFailed):  # it is forgotten after a while, too
                self.terms.tenant.store.let_go(self.terms.tenant.name, holder)

    def _take_back(self) -> None:
        if self.keeping.take_back() and not self.projection.ahead:
            self._open_calls = dict(self._waiting)
        elif self.log.resumed_at:
            self._start(self.keeping.load())
        else:
            self.start_over()

    def store(self) -> None:
        """Write what was recorded so far."""
        self.keeping.store()
        if self.log.opened is self._opening:
            self._opening = None
        if self.keeping.missed:
            self._take_in_missed()
        self._keep_checkpoint()

    def _take_in_missed(self) -> None:
        """Take in what others wrote just before what was stored: that alone, where it only adds to the view."""
        found = self.keeping.take_in_missed()
        if found is not None:
            self._go_on(found)
        elif self.log.resumed_at:
            self._start(self.keeping.load())
        else:
            self.reload()

    def _keep_checkpoint(self, *, now: bool = False) -> None:
        if self.keeping.is_checkpoint_due(self.projection.behind, now=now):
            view, passed = self.projection.view(), self.projection.passed
            saved = checkpoint.save(self.log, view, passed, self._open_calls.values())
            self.keeping.keep_checkpoint(replace(saved, summary=summarize(self), said=self.projection.said))

    def close(self) -> None:
        """Keep a checkpoint, and do no more with it."""
        if not self._closed and not self._damage:
            self._keep_checkpoint(now=True)
        self.projection.memory.clear()
        self.projection.forget()  # this and the next refer to what holds them: without them, all is freed at once
        self.keeping.describe = None
        self._closed = True

    def read_whole(self) -> None:
        """Have everything at hand that ever happened, for verbs that look back; what is shown stays as it is."""
        if not self.log.resumed_at:
            return
        self.projection.follow()
        shown = not self.projection.ahead
        version, learned, quiet = self.log.version, self.learned, self.aftermath.quiet_until
        older = self.keeping.complete()
        self.keeping.fetch_stubs()
        if shown and older:
            self.projection.complete()
            return
        self.start_over()
        if self.log.version == version:  # what is shown is the same, so the last bill still tells of it
            self.learned, self.aftermath.quiet_until = learned, quiet

    def reload(self) -> None:
        """Read everything anew."""
        self.keeping.load_whole()
        self.keeping.fetch_stubs()
        self.start_over()

    def renew(self) -> None:
        """Read everything anew: now, or where something is not stored yet, when the next unit of work begins.

        Never waits for the thread at work: it may wait for this one, to renew the session that this one works on.
        """
        self._stale = True
        if self._worker == worker():
            self._renew()
            return
        leave = self.lock.release  # known before the lock is taken: then Ctrl-C cannot come between
        if self.lock.take(blocking=False):
            try:
                self._renew()
            finally:
                leave()

    def _renew(self) -> None:
        if not self.keeping.pending:
            self._freshen()

    def _freshen(self) -> None:
        if self._stale or self._torn:
            torn, self._torn, self._stale = self._torn, True, False
            if torn:
                self.keeping.abandon()
            self.reload()
            self._torn = False

    def catch_up(self) -> None:
        """Take in what others wrote to this session: that alone, where it only adds to the view."""
        records = self.keeping.look_ahead()
        adds = all_go_on(records, self.log)
        if self.log.resumed_at and not adds:
            self.read_whole()
            return
        self.keeping.catch_up()
        if any(isinstance(record, Erased) for record in records):
            self.reload()
        elif adds:
            self._go_on(records)
        else:
            self.start_over()

    def _go_on(self, records: Sequence[Record]) -> None:
        """Follow what others wrote that only added to the view."""
        for record in records:
            match record:
                case Move(head=str(head)):
                    self.note_calls(self.log.message(head))
                case Framed():
                    self.resent.frame = Resent().frame
                case Taught():
                    self._take_over()
                case Released():
                    self.projection.forget()
        if any(map(is_visible, records)):
            self.void_bill()
            self.aftermath.quiet_until = 0

    def meet(self, stubs: Iterable[object]) -> bool:
        """Take in stubs of erased entries that the store met; False if they were known."""
        new = [stub for stub in stubs if isinstance(stub, Entry) and stub.id not in self.log.tree.erased]
        for stub in new:
            self.log.tree.put(stub)
        return bool(new)

    def start_over(self) -> None:
        """Forget everything that was made from the log, and make it anew when needed."""
        self.resent, self.judged = Resent(), Judged()
        self.void_bill()
        self.aftermath.quiet_until = 0
        self.projection.restart()
        self.find_open_calls()


def tool_names(frame: Frame, dialect: str) -> frozenset[str]:
    """The names of the tools in a frame; none where another package brought the dialect."""
    written = frame.dialect or dialect
    return frozenset(function_names(frame, written)) if written in DIALECTS else frozenset()
