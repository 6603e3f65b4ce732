"""What a session is made of."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from fanfold.config.events import Event
from fanfold.config.hooks import Hooks
from fanfold.core import checkpoint
from fanfold.core.budget import Budget, Learned
from fanfold.core.checkpoint import Checkpoint
from fanfold.core.edit import READ, RECALL, Author, Decision, Edit, Note
from fanfold.core.errors import Closed, Corrupt, NotFound, StoreFailed
from fanfold.core.log import Log
from fanfold.core.message import Call, Message, Result
from fanfold.core.plan import Strategy
from fanfold.core.record import Edited, Erased, Frame, Moved, Opened, Record, Taught
from fanfold.core.tree import Entry
from fanfold.core.view import View
from fanfold.dialects.dialect import Dialect
from fanfold.dialects.registry import DIALECTS
from fanfold.dialects.tools import called, localize
from fanfold.outputs.filters.filter import Filter
from fanfold.outputs.index import LineIndex
from fanfold.outputs.recall import definitions
from fanfold.outputs.references import shelved
from fanfold.session.keep import Keeping, goes_on
from fanfold.session.projection import Projection
from fanfold.session.weigh import Gauge, framed, in_window
from fanfold.stores.store import Tenant
from fanfold.tokens.learning import sound
from fanfold.tokens.meter import Meter

T = TypeVar("T")
OnMoved = Literal["raise", "reapply", "branch"]
_LOGGER = logging.getLogger("fanfold")
"""No handler is installed. Only names and numbers are logged, never contents."""


class Terms(msgspec.Struct, frozen=True):
    """What a session is opened with."""

    name: str
    tenant: Tenant
    dialect: Dialect
    meter: Meter
    budget: Budget
    sized: Callable[[str | None, int | None, str], Budget]
    """The budget for another model, window or dialect, with the same thresholds."""
    metered: Callable[[str | None], Meter]
    """The meter for another model."""
    strategies: tuple[Strategy, ...]
    fallbacks: tuple[Strategy, ...]
    model: str | None
    hooks: Hooks
    clock: Callable[[], float]
    summarizer_window: int | None
    """The window of the model that strategies ask."""
    one_model: bool = False
    """Whether that one is asked, whatever model a question names."""
    on_moved: OnMoved = "raise"
    """What to do if somebody else wrote first."""
    filters: tuple[Filter, ...] = ()
    """What shapes an output when it arrives."""
    recall: bool | None = None
    """Whether the model has tools to look things up again, and the session answers them; None: if it has others."""
    opened: Opened = Opened()
    """What of this is remembered."""


class Read(NamedTuple):
    """A session as it was read from its store: from a checkpoint on, or whole."""

    keeping: Keeping
    last: Checkpoint | None
    damage: str = ""
    """What of it could not be read."""


def begin(tenant: Tenant, name: str) -> Read:
    """Read a session from its store."""
    keeping = Keeping(tenant, name, Log(tenant.tree))
    try:
        return Read(keeping, keeping.load())
    except (Corrupt, NotFound) as error:
        keeping.look_for_opening()
        return Read(keeping, None, str(error))


class State:
    """One session at work. Everything here is changed under `lock` only."""

    def __init__(self, terms: Terms, learned: Learned | None = None, read: Read | None = None) -> None:
        self.terms = terms
        self.lock = threading.RLock()
        self.keeping, last, damage = read or begin(terms.tenant, terms.name)
        self.log = self.keeping.log
        self.opening: Opened | None = None
        """What the session was opened with, until that is recorded: with the first thing that is."""
        self.dialect = terms.dialect
        self.gauge = Gauge(terms.meter, terms.dialect)
        self.projection = Projection(self.log, self.gauge, terms.name, refs=bool(terms.recall))
        self.learned = learned or Learned(exact=self.gauge.exact)
        self.most: tuple[int | None, int | None] = (None, None)
        """The tokens and bytes that the provider takes, where it refused more."""
        self.refusals = 0
        """How often the provider refused since it last answered."""
        self.open_calls: dict[str, Call] = {}
        """Calls on the present path that have no answer yet."""
        self.quiet_until = 0
        """After a reduction that brought little, the next waits until the view costs this much."""
        self.paid = False
        """Whether the last reduction asked a model."""
        self.stuck: View | None = None
        """What the last reduction would have left, where even that does not fit; nothing of it was written."""
        self.bodies: list[Any] = []
        """The transcript a client last sent, copied, to compare the next one with."""
        self.merged: list[str] = []
        """The entries that transcript stands for."""
        self.framed: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())
        """The system prompt and tools a client last sent, copied."""
        self.legal: tuple[View, Mapping[str, Any]] | None = None
        """The view and parameters that were last found to obey the provider's rules."""
        self.offered: tuple[Frame, Any] | None = None
        """The frame, and the choice among its tools, that were last found to obey them."""
        self.indexes: dict[str, LineIndex] = {}
        """Where the lines of outputs that were read begin."""
        self.holders: list[str] = []
        """The names under which blobs are held until the unit of work ends."""
        self.warned: set[str] = set()
        """What was warned of, where once is enough."""
        self._limits: tuple[Any, Budget] | None = None
        self._frame: tuple[Frame, tuple[Frame, tuple[str, ...]]] | None = None
        """The frame last sent, as it was recorded and as it goes over the wire."""
        self._stand_by()
        self.damage = ""
        """What of the session is damaged in its store, if something is: nothing is done with it then."""
        self._try_open(last, damage)
        if learned is None and not self.damage:
            self._take_over()

    def _stand_by(self) -> None:
        """Open, and no unit of work is under way."""
        self.closed = False
        self._worker: int | None = None
        """The thread in which a unit of work is under way."""
        self._torn = False
        """Whether one was broken off, so that what is here may be neither what was before nor what came of it."""
        self._waiting: dict[str, Call] = {}
        """The open calls as they were when the unit of work began."""
        self._stale = False
        """Whether somebody erased something while this session was at work."""

    def _try_open(self, last: Checkpoint | None, damage: str) -> None:
        """Begin where the store says; a session that is damaged is open all the same, and says so when it is used."""
        try:
            if not damage:
                self._open(last)
        except (Corrupt, NotFound) as error:
            damage = str(error)
        if damage:
            self.damage = f"The session {self.terms.name!r} is damaged. {damage}"

    def _open(self, last: Checkpoint | None) -> None:
        """Begin where the store says the session ended."""
        if last is None:
            self.start_over()
            return
        self.projection.resume(last.head, checkpoint.rows(last, self.log, self.gauge), last.shadowed)
        self.open_calls = {call.id: call for call in last.calls}
        self.keeping.catch_up()
        for record in self.log.records:
            if isinstance(record, Moved) and record.head is not None:
                self.note_calls(self.log.message(record.head))

    @property
    def recall(self) -> bool:
        """Whether this session offers the tools with which a model looks things up, and answers them."""
        return self.projection.refs

    def offer_recall(self, tools: Sequence[Any]) -> None:
        """Told nothing, offer the recall tools where the model has others, from the first request on.

        Later they would change the beginning of every request; and who offers them itself answers them itself.
        """
        if self.terms.recall is not None:
            return
        given = _tool_names(self.dialect.frame((), tools), self.dialect.name)
        known = self.frame_tools()
        begun = bool(self.log.requests)
        offered = not RECALL.isdisjoint(known) if begun else bool(given or known) and self._takes_more(tools)
        self.projection.refs = offered and RECALL.isdisjoint(given)

    def _takes_more(self, tools: Sequence[Any]) -> bool:
        """Whether the provider takes the recall tools beside these: some take so many and no more."""
        given = self.dialect.frame((), (*tools, *definitions(self.dialect.name)))
        both, _ = localize(given, self.dialect.name)
        return not any(fault.rule == "few" for fault in self.dialect.check_frame(both, {}))

    def frame_tools(self) -> frozenset[str]:
        """The names of the tools that were recorded last."""
        return _tool_names(self.log.frame(), self.dialect.name)

    def has_recall_tools(self) -> bool:
        """Whether the model can look things up, by tools of this session or by those of an MCP server."""
        return self.recall or any(READ in name for name in self.frame_tools())

    def read_whole(self) -> None:
        """Have everything at hand that ever happened, for verbs that look back."""
        if self.log.resumed_at:
            self.keeping.complete()
            self.keeping.fetch_stubs()
            self.start_over()

    def view(self) -> View:
        """What the model would see now."""
        return self.projection.view()

    def frame(self) -> tuple[Frame, tuple[str, ...]]:
        """System prompt and tools as they are sent, and what of them is not."""
        frame = self.log.frame()
        if self._frame is None or self._frame[0] is not frame:
            self._frame = (frame, framed(frame, self.dialect))
        return self._frame[1]

    def shown(self) -> View:
        """The same for people: in the window's tokens, with the room beside it."""
        limits = self.limits()
        return replace(in_window(self.view(), limits), room=limits.limit)

    def limits(self, max_tokens: int | None = None) -> Budget:
        """The budget for a request, in the meter's own tokens."""
        key = (max_tokens, self.learned, self.most)
        if self._limits is None or self._limits[0] != key:
            budget = self.budget(max_tokens).learned(self.learned.scale, self.learned.offset)
            self._limits = (key, budget)
        return self._limits[1]

    def budget(self, max_tokens: int | None = None) -> Budget:
        """The budget for a request, lowered to what the provider turned out to take."""
        return self.terms.budget.reserving(max_tokens).within(*self.most)

    def teach(self, learned: Learned) -> None:
        """Keep what a bill or a refusal taught: in this session, and for the next one of the same model."""
        self.learned = learned
        self.write(Taught(self.terms.model or "", self.terms.meter.name, learned, *self.most))
        self.terms.tenant.learned[self._kind] = learned.inherited()

    @property
    def _kind(self) -> str:
        return f"{self.terms.model or ''} by {self.terms.meter.name}"

    def _take_over(self) -> None:
        """Start from what this session learned before, else from what others of the same model did."""
        taught = self.log.taught
        if taught and (taught.model, taught.meter) == (self.terms.model or "", self.terms.meter.name):
            self.learned = sound(taught.learned, exact=self.gauge.exact).voided()
            self.most = (taught.most, taught.most_bytes)
        else:
            self.learned = self._shared()

    def _shared(self) -> Learned:
        """What other sessions of the same model learned: in this process, or before it began."""
        tenant, kind = self.terms.tenant, (self.terms.model or "", self.terms.meter.name)
        if self._kind not in tenant.learned:
            others = (
                one.learned for one in tenant.store.taught(tenant.name) if (one.model, one.meter) == kind
            )
            found = sound(next(others, Learned()), exact=self.gauge.exact)
            tenant.learned[self._kind] = found.inherited()
        shared: Learned = tenant.learned[self._kind]
        return sound(shared, exact=self.gauge.exact)

    def write(self, *records: Record) -> None:
        """Record; what one unit of work records is stored together at its end.

        What changes more than the end of the view can only be shown with all that happened before at hand, and whoever
        forgets to ask for that has it here.
        """
        if self.closed:
            raise Closed(f"The session {self.terms.name!r} is closed; open it again to go on.")
        if self.log.resumed_at and not all(map(goes_on, records)):
            self.read_whole()
        self.remember()
        self.log.write(*records)

    def remember(self) -> None:
        """Record what the session was opened with, if that is still to be done."""
        if self.opening is not None and self.log.opened is not self.opening:
            self.log.write(self.opening)

    def tell(self, *events: Event) -> None:
        """Tell a user interface what happens, if one listens."""
        if self.terms.hooks.on_event:
            for event in events:
                self.terms.hooks.on_event(event)

    def warn(self, sentence: str, *values: object, once: str = "") -> None:
        """Log what went wrong without stopping anything; what is named by `once` is logged once in a session."""
        if once and once in self.warned:
            return
        self.warned.add(once)
        _LOGGER.warning(f"session %r: {sentence}", self.terms.name, *values)

    def enter(self, message: Message) -> Entry:
        """Put a message after the head."""
        return self.keeping.add(self.log.head, message)

    def unit(self, work: Callable[[], T]) -> T:
        """Do a unit of work: nobody else works on this session, and it is stored whole or not at all.

        Inside another one it is a part of that. If it is broken off where nobody can tell what was done (Ctrl-C), the
        next one begins by reading what the store has.
        """
        with self.lock:
            if self._worker is not None:
                return work()
            if self.damage:
                raise Corrupt(self.damage)
            self._freshen()
            self._waiting = dict(self.open_calls)
            self._worker, self._torn, torn = threading.get_ident(), True, True
            try:
                done = work()
                self.store()
                torn = False
                return done
            except Exception as error:
                torn = isinstance(error, RecursionError | MemoryError)
                raise
            finally:
                self._worker, self._torn = None, True
                self._end(torn)

    def _end(self, torn: bool) -> None:
        while self.holders:
            self.let_go(self.holders.pop())
        if self.keeping.pending and not torn:
            self._take_back()
        self._torn = torn

    def let_go(self, holder: str) -> None:
        """The blobs that were put under this name are recorded, or never will be."""
        if holder:
            with suppress(StoreFailed):  # it is forgotten after a while, too
                self.terms.tenant.store.let_go(self.terms.tenant.name, holder)

    def _take_back(self) -> None:
        if self.keeping.take_back() and not self.projection.ahead:
            self.open_calls = dict(self._waiting)
        elif self.log.resumed_at:
            self._open(self.keeping.load())
        else:
            self.start_over()

    def store(self) -> None:
        """Write what was recorded so far."""
        self.keeping.store()
        if self.log.opened is self.opening:
            self.opening = None
        if self.keeping.missed:
            self.keeping.missed = False
            self.reload()
        self.keeping.keep_checkpoint(self.projection, self.open_calls.values())

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
        if self._worker == threading.get_ident():
            self._renew()
        elif self.lock.acquire(blocking=False):
            try:
                self._renew()
            finally:
                self.lock.release()

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
        """Take in what others wrote to this session."""
        self.read_whole()
        records = self.keeping.catch_up()
        if not records:
            return
        said = [record.head for record in records if isinstance(record, Moved) and record.how == "append"]
        if any(isinstance(record, Erased) for record in records):
            self.reload()
        elif len(said) == len(records):
            self.learned = self.learned.voided()
            for id in filter(None, said):
                self.note_calls(self.log.message(id))
        else:
            self.start_over()

    def meet(self, stubs: Iterable[object]) -> bool:
        """Take in stubs of erased entries that the store met; False if they were known."""
        new = [stub for stub in stubs if isinstance(stub, Entry) and stub.id not in self.log.tree.erased]
        for stub in new:
            self.log.tree.put(stub)
        return bool(new)

    def start_over(self) -> None:
        """Forget everything that was made from the log, and make it anew when needed."""
        self.bodies, self.merged, self.framed, self.legal = [], [], ((), ()), None
        self.learned = self.learned.voided()
        self.quiet_until = 0
        self.projection.restart()
        self.find_open_calls()

    def find_open_calls(self) -> None:
        """Which calls of the present path have no answer yet."""
        self.open_calls.clear()
        for id in self.log.tree.path(self.log.head):
            self.note_calls(self.log.message(id))

    def note_calls(self, message: Message) -> None:
        """Keep the list of calls that wait for an answer."""
        for part in message.parts:
            if isinstance(part, Result):
                self.open_calls.pop(part.call, None)
            elif isinstance(part, Call):
                self.open_calls[part.id] = part

    def decide(self, edit: Edit, *, by: Author = "person", why: str = "") -> Decision:
        """Record one decision at the head."""
        decision = Decision(self.log.next_edit(), self.log.head, edit, by, why)
        self.commit((decision,))
        return self.log.decisions[decision.id]

    def commit(self, decisions: Sequence[Decision]) -> None:
        """Record decisions as one plan, and the references they gave out."""
        self.write(Edited(tuple(map(self._timed, decisions)), self.terms.clock()))
        self.write(*shelved(self.log, decisions))
        self.learned = self.learned.voided()

    def _timed(self, decision: Decision) -> Decision:
        """A note knows whether what stands before it was sent already."""
        if not isinstance(decision.edit, Note) or decision.at not in self.log.tips:
            return decision
        return replace(decision, edit=replace(decision.edit, late=True))


def _tool_names(frame: Frame, dialect: str) -> frozenset[str]:
    """The names of the tools in a frame; none where the dialect is a stranger's."""
    written = frame.dialect or dialect
    return frozenset(called(frame, written)) if written in DIALECTS else frozenset()
