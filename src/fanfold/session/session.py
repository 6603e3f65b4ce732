"""Sessions: what users hold. Thin: every verb is a function of a `State`, in the file that has its name."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from fanfold.asking.drive import Asker, drive
from fanfold.core.edit import Decision, Pin
from fanfold.core.errors import BadInput, DoesNotFit, FanfoldError, Gone, Moved, StoreFailed
from fanfold.core.message import Call, Message, Part
from fanfold.core.plan import Answer, Ask, Outcome
from fanfold.core.record import Answered, Branched, Kept, Record, Sent
from fanfold.core.tree import Entry
from fanfold.core.view import View
from fanfold.dialects.dialect import Reply
from fanfold.outputs.output import Output
from fanfold.session import (
    aside,
    bill,
    cache,
    erase,
    find,
    fork,
    gc,
    ledger,
    look,
    merge,
    outputs,
    past,
    preview,
    record,
    reduce,
    request,
    undo,
)
from fanfold.session.cache import CacheUse
from fanfold.session.fork import Other, SubAgent
from fanfold.session.gc import Garbage
from fanfold.session.ledger import Ledger
from fanfold.session.look import Diff, Why
from fanfold.session.merge import Merged
from fanfold.session.past import PastEdit, PastRequest, SentBody
from fanfold.session.preview import Preview
from fanfold.session.record import Listening
from fanfold.session.request import SentRequest
from fanfold.session.state import State
from fanfold.session.traces import is_told
from fanfold.stores.fibers import FiberLock
from fanfold.stores.locks import ThreadLock
from fanfold.text.plain import plain_text
from fanfold.tokens.pressure import Pressure

P = ParamSpec("P")
T = TypeVar("T")

_LOST = 3
"""After so many writers who were quicker, a unit of work is done while all others wait."""
_RECORD: frozenset[object] = frozenset((record.say, record.add, record.answer))
"""Verbs that always write and take no time: they may let other writers wait."""
UNDER_WAY: ContextVar[tuple[object, ...]] = ContextVar("fanfold_under_way", default=())
"""The requests and reductions that the present code is a part of; new tasks and `asyncio.to_thread` inherit it."""


class Verbs:
    """What both kinds of session share."""

    def __init__(self, state: State | Callable[[], State]) -> None:
        self._held = state
        self._opening = FiberLock()
        self._driver: object = None
        """The request or reduction that is under way, whatever it is."""

    @property
    def _state(self) -> State:
        """What the session is made of; it is opened when first needed, where that means to wait for a network."""
        return self._held if isinstance(self._held, State) else self._opened()

    def _opened(self) -> State:
        with self._opening:
            if not isinstance(self._held, State):
                self._held = self._held()
            return self._held

    def __repr__(self) -> str:
        kind = type(self).__name__
        if not isinstance(self._held, State):
            return f"<{kind}, not opened yet>"
        with self._held.lock:
            return f"<{kind} {look.in_short(self._held)}>"

    @property
    def name(self) -> str:
        """The session's name."""
        return self._state.terms.name

    @property
    def head(self) -> str | None:
        """The id of the last entry."""
        return self._state.log.head

    @property
    def branches(self) -> tuple[str, ...]:
        """The last entries of branches that were kept because somebody else wrote first (`on_moved="branch"`)."""
        with self._state.lock:
            self._state.read_whole()
            return tuple(self._state.log.branches)

    def _do(self, verb: Callable[Concatenate[State, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        given: Any = tuple(map(plain_text, args))
        return attempt(self._state, verb, *given, **kwargs)

    def _outside(self) -> tuple[object, ...]:
        """What this is a part of; a request in the middle of a request would wait for itself, and is refused."""
        outside = UNDER_WAY.get()
        if self._driver is not None and self._driver in outside:
            raise BadInput(
                f"A request or reduction of {self.name!r} is under way, and this is a part of it: a hook, a strategy "
                "and the model it asks may look and record, but neither request nor reduce, nor may a task of theirs."
            )
        return outside


class Session(Verbs):
    """A conversation that always fits its model's window and loses nothing."""

    def __init__(self, state: State, ask: Asker | None = None) -> None:
        super().__init__(state)
        self._ask = ask
        self._turn = ThreadLock()

    def _drive(
        self,
        flow: Callable[Concatenate[State, P], Generator[Ask, Answer, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a verb that may ask a model: again, where somebody else wrote first and the session may repeat it."""
        outside = self._outside()
        with self._turn:
            try:
                self._driver = object()
                UNDER_WAY.set((*outside, self._driver))
                while True:
                    try:
                        self._state.check_open()
                        return drive(flow(self._state, *args, **kwargs), self._ask, self._state.unit)
                    except (Moved, DoesNotFit) as error:
                        if not may_repeat(self._state, error):
                            raise
            finally:  # a function called here could be interrupted before it begins
                self._driver = None
                UNDER_WAY.set(outside)

    def say(self, *parts: str | Part, again: bool = False) -> Entry:
        """A person speaks: texts, images, documents."""
        return self._do(record.say, *parts, again=again)

    def add(self, message: Any, *, again: bool = False) -> Entry:
        """Record a message of any role: a dict, an SDK object or a `Message`."""
        return self._do(record.add, message, again=again)

    def receive(self, response: Any, *, to: object = None) -> Reply:
        """Record the model's reply and learn from its bill.

        `to` is the request that it answers, as `request` returned it: if the head moved on since, the reply is kept as
        a branch behind what was sent, and the head stays.
        """
        return self._do(record.receive, response, to=to)

    def listen(self, stream: Iterable[Any], *, to: object = None) -> Listening:
        """Pass a provider's stream on, and record the reply at its end; a broken one is recorded as cut.

        `to` is the request that it answers, as for `receive`.
        """
        return Listening(self._state, stream, lambda reply: self._do(record.hear, reply, to=to))

    def aside(self, transcript: Any, response: Any = None) -> str | None:
        """Record a conversation beside this one, a title call or a sub-agent's: the head stays; returns its last entry.

        What it begins with, as far as this conversation does too, is not recorded again.
        """
        return self._do(aside.aside, transcript, response)

    def count(self, body: Any) -> int:
        """The tokens of a request in the provider's own form, as it would bill them; nothing is recorded."""
        return self._do(aside.count, body)

    def answer(self, call: Call | str, output: Any, *, error: bool = False, again: bool = False) -> Entry:
        """Record what a tool gave back for a call: text, bytes, a file, an iterator of chunks, or parts.

        It is kept whole, whatever its size; what is large is shown by reference.
        """
        state = self._state
        waiting = state.peek(lambda: record.open_call(state, call))
        taken = outputs.take_in(state, output)
        try:
            return self._do(record.answer, outputs.shape(state, waiting, taken), error=error, again=again)
        finally:
            state.let_go(taken.holder)

    def merge(self, transcript: Any) -> Merged:
        """Adopt a history that a client re-sends; what is known stays as it is."""
        return self._do(merge.merge, transcript)

    def request(
        self, *, max_tokens: int | None = None, context: str | None = None, **params: Any
    ) -> SentRequest:
        """Keyword arguments for the provider's SDK, reduced if needed; asked twice, the same bytes."""
        return self._drive(request.request, max_tokens=max_tokens, context=context, params=params)

    def refused(self, error: object) -> bool:
        """The provider said "too long": learn from it, reduce, and say whether to try again."""
        return self._drive(bill.refused, error)

    def compact(self, *, force: bool = False, dry_run: bool = False, focus: str | None = None) -> Outcome:
        """Reduce now, if the view is above its target; `force` reduces in any case.

        A dry run changes nothing: its outcome has the edits that would be made, with their texts. The same call without
        `dry_run` right after it makes just these. What belongs to the `focus` ("the parser bug"), by its names and
        words, stays as it is, as far as half of what can be kept holds it.
        """
        return self._drive(reduce.compact, force=force, dry_run=dry_run, focus=focus)

    def settle(self) -> Outcome | None:
        """Background work after a turn, so that the next request need not do it: reduce if the trigger is reached,
        and let strategies such as `rolling` do theirs."""
        return self._drive(reduce.settle)

    def view(self) -> View:
        """What the model would see now."""
        return self._do(State.shown)

    def pressure(self, *, max_tokens: int | None = None) -> Pressure:
        """How full the window is, and with what."""
        return self._do(reduce.pressure, max_tokens)

    def stats(self) -> dict[str, Any]:
        """Figures of the session so far."""
        return self._do(look.stats)

    def ledger(self) -> Ledger:
        """What everything in this session has cost so far, thing by thing; the sums equal the bills."""
        return self._do(ledger.ledger)

    def cache(self, number: int = -1) -> CacheUse:
        """What a request read from the provider's cache, what it could have read, and what kept it from that."""
        return self._do(cache.cache, number)

    def sent(self, number: int = -1) -> tuple[Sent, View]:
        """A request as it went out, and what the model saw in it."""
        return self._do(look.sent_view, number)

    def body(self, number: int = -1) -> SentBody:
        """The body of a request, written again from the log, and whether it is the one that went out."""
        return self._do(past.body, number)

    def requests(self) -> tuple[PastRequest, ...]:
        """Every request that went out, in figures, oldest first."""
        return self._do(past.requests)

    def edits(self) -> tuple[PastEdit, ...]:
        """Every edit that was made, oldest first, and what became of it."""
        return self._do(past.edits)

    def preview(self, change: str | None = None, *args: Any, **kwargs: Any) -> Preview:
        """What a change such as `preview("undo", "e3")` would do to the view, the next request and its price.

        Nothing is changed. Without a change it tells what the next request would be as things are.
        """
        given = tuple(map(plain_text, args))
        return preview.preview(self._state, change, *given, **kwargs)

    def diff(self, a: int, b: int) -> Diff:
        """What the model saw in one request and not in the other."""
        return self._do(look.diff, a, b)

    def why(self, entry: str) -> Why:
        """What happened to an entry, or to an edit such as `e3`, and when."""
        return self._do(look.why, entry)

    def fold(self, covers: tuple[str, ...], shows: str, *, dry_run: bool = False) -> Decision:
        """Fold rows into a text of one's own. A dry run changes nothing: its decision tells what it would save."""
        return self._do(undo.fold, covers, shows, dry_run=dry_run)

    def undo(self, edit: str | None = None, *, through: bool = False) -> tuple[Decision, ...]:
        """Take an edit back, by default all of the last decision; of a message's id, bring that message back alone."""
        return self._do(undo.undo, edit, through=through)

    def redo(self, edit: str | None = None) -> tuple[Decision, ...]:
        """Make an undone edit again."""
        return self._do(undo.redo, edit)

    def release(self, edit: str) -> None:
        """Let automatic edits touch again what was undone."""
        return self._do(undo.release, edit)

    def rewind(
        self,
        to: str | int | None = None,
        *,
        turns: int | None = None,
        time: float | None = None,
        inclusive: bool = True,
    ) -> str | None:
        """Go back to an entry, an index, some turns or a time."""
        return self._do(undo.rewind, to, turns=turns, time=time, inclusive=inclusive)

    def forward(self, to: str | None = None) -> str | None:
        """Go forward again."""
        return self._do(undo.forward, to)

    def reset(self) -> None:
        """Start a new task cleanly; what was recorded stays."""
        return self._do(undo.reset)

    def pin(self, what: str) -> Decision:
        """Keep an entry or lines of text verbatim in view."""
        return self._do(undo.pin, what)

    def unpin(self, what: str) -> Decision:
        """Let go of a pin."""
        return self._do(undo.unpin, what)

    def pins(self) -> dict[str, Pin]:
        """What is pinned, by the ids of the edits: entries, and lines of text."""
        return self._do(undo.pins)

    def note(self, name: str, text: str) -> Decision:
        """Show a piece of state beside the conversation."""
        return self._do(undo.note, name, text)

    def erase(self, entry: str, reason: str) -> str:
        """Destroy the content of an entry, or of the output with this reference, everywhere in the tenant."""
        return self._do(erase.erase, entry, reason)

    def output(self, ref: str) -> Output:
        """A tool's output, or what an edit hides, by its reference."""
        return self._do(find.output, ref)

    def outputs(self) -> list[Output]:
        """Everything that has a reference, newest first; what undone edits hid comes last."""
        return self._do(find.outputs)

    def tools(self) -> tuple[dict[str, Any], ...]:
        """Tools with which the model looks up what it no longer sees, as this dialect defines them."""
        return self._do(find.definitions)

    def recall(self, call: Call) -> str:
        """What such a tool answers to a call; record it with `answer`. With `recall` on, `receive` does both."""
        return self._do(find.recall, call)

    def find_tool(self, call: Call) -> Message:
        """The message that answers a call of `find_tool`; record it with `add`. With `defer`, `receive` does both."""
        return self._do(find.find_tool, call)

    def gc(self, *, delete: bool = False, hidden: bool = False) -> Garbage:
        """Blobs that no session refers to, and apart from them outputs that every branch of every session hides.

        `delete` deletes the blobs, and nothing that an undo could need; with `hidden` also the hidden outputs that this
        session alone has. Undoing what hides those (`undos`) shows a stub from then on.
        """
        return self._do(gc.gc, delete=delete, hidden=hidden)

    def fork(self, name: str, *, edits: bool = True, **other: Unpack[Other]) -> Session:
        """A session of its own on the same entries, with the standing edits or afresh; with another model too."""
        return Session(self._do(fork.fork, name, edits, other), self._ask)

    def spawn(self, call: Call | str, *, name: str | None = None, **other: Unpack[SubAgent]) -> Session:
        """A sub-agent's session, linked to the call that started it; with a prompt, tools and model of its own."""
        return Session(self._do(fork.spawn, call, name, other), self._ask)

    def refresh(self) -> None:
        """Take in what others wrote to this session, so that the next verb sees it."""
        return self._do(State.catch_up)

    def close(self) -> None:
        """End the session; it can be opened again under its name."""
        fork.close(self._state)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def attempt(state: State, verb: Callable[Concatenate[State, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do a unit of work. If somebody else wrote first, do what the session was opened with as `on_moved`."""
    done: list[T] = []

    def once() -> T:
        state.check_open()
        done[:] = [verb(state, *args, **kwargs)]
        return done[0]

    lost = 0
    while True:
        done.clear()
        try:
            result = (state.unit_alone if lost >= _LOST and verb in _RECORD else state.unit)(once)
            state.keeping.outrun |= lost > 0
            return result
        except Gone as gone:
            if not state.meet(gone.stubs):
                raise
        except Moved:
            lost += 1
            if keep_branch(state) and done:
                return done[0]
            if not may_repeat(state):
                raise


def may_repeat(state: State, error: FanfoldError | None = None) -> bool:
    """Catch up after somebody else wrote first, and say whether to repeat. Answers that were paid for are kept.

    What does not fit writes nothing, so it is asked for: somebody else may have released what is too much.
    """
    with state.lock:
        if isinstance(error, DoesNotFit) and not _has_news(state):
            return False
        lost = [record for record in state.keeping.lost[0] if isinstance(record, Answered)]
        _catch_up(state)
        erased = list(state.log.tree.erased)
        answers = [answer for answer in lost if not is_told(state.log, answer.sources, erased)]
        if answers:
            state.unit(lambda: state.write(*answers))
    return state.terms.on_moved == "reapply"


def _catch_up(state: State) -> None:
    """Take in what others wrote first. If that is nothing, the store was restored: then all is read anew."""
    try:
        state.keeping.meet()
        state.catch_up()
    finally:
        if state.keeping.gone_back:
            state.renew()


def _has_news(state: State) -> bool:
    """Whether somebody else wrote since, as far as the store can tell."""
    with suppress(StoreFailed):
        return bool(state.keeping.ask_anew())
    return False


def keep_branch(state: State) -> bool:
    """Keep the messages that came second as a branch: under their old parent, the head elsewhere."""
    with state.lock:
        records, entered = state.keeping.lost
        if state.terms.on_moved != "branch" or not entered:
            return False
        _catch_up(state)
        state.unit(lambda: _branch(state, records, entered))
    return True


def _branch(state: State, records: Sequence[Record], entered: Sequence[Entry]) -> None:
    state.keeping.enter(*entered)
    state.write(Branched(entered[-1].id, state.terms.clock()))
    blobs = {record.address: record for record in records if isinstance(record, Kept) and record.blob}
    for entry in entered:
        outputs.register_branch(state, entry, blobs)
