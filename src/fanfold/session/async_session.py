"""The session for asyncio. Nothing is done differently: only where the store is across a network, a verb waits for it
without holding the event loop, verb after verb in the order they were called: in a fiber where the store can do that
(`stores/fibers.py`), else in a thread. Searches are done in a thread with every store.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from fanfold.asking.drive import AsyncAsker, adrive
from fanfold.core.errors import DoesNotFit, Moved
from fanfold.core.message import Call
from fanfold.core.plan import Answer, Ask, Outcome
from fanfold.core.tree import Entry
from fanfold.dialects.dialect import Reply
from fanfold.outputs.recall import is_search
from fanfold.session import bill, find, fork, outputs, record, reduce, request
from fanfold.session.fork import Other, SubAgent
from fanfold.session.record import AsyncListening
from fanfold.session.request import SentRequest
from fanfold.session.session import UNDER_WAY, Session, Verbs, may_repeat
from fanfold.session.state import State
from fanfold.session.threads import SEARCHES, STORE, TaskTurn, start_fiber

if TYPE_CHECKING:
    from asyncio import Future

P = ParamSpec("P")
T = TypeVar("T")


def awaitable(verb: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The same verb, awaitable."""

    @wraps(verb)
    async def awaited(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._at_once:
            return verb(self, *args, **kwargs)
        done: T = await self._work(verb, self, *args, **kwargs)
        return done

    return awaited


class AsyncSession(Verbs):
    """The same session for asyncio: every verb is awaitable."""

    def __init__(
        self,
        state: State | Callable[[], State],
        ask: AsyncAsker | None = None,
        *,
        remote: bool = False,
        awaited: bool = False,
    ) -> None:
        super().__init__(state)
        self._awaited = awaited
        self._ask = ask
        self._turn = TaskTurn()
        self._order = TaskTurn()
        self._remote = remote

    @property
    def _at_once(self) -> bool:
        """Whether work is done in the loop, now: the store is at hand, and no search holds the session."""
        return not (self._remote or self._order.taken)

    async def _work(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the store: at once, in the loop; beside it only if the store is across a network."""
        if self._at_once:
            return work(*args, **kwargs)
        if self._awaited:
            return await self._in_turn(partial(start_fiber, work, *args, **kwargs))
        async with self._order:
            if self._remote:
                return await STORE.run(work, *args, **kwargs)
            return work(*args, **kwargs)

    async def _opened_state(self) -> State:
        """What the session is made of; only to open it means to wait."""
        return self._held if isinstance(self._held, State) else await self._work(self._opened)

    async def _search(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something that may search for seconds, beside the loop; verbs that are called meanwhile wait for it."""
        return await self._in_turn(partial(SEARCHES.start, work, *args, **kwargs))

    async def _in_turn(self, start: Callable[[], Future[T]]) -> T:
        """Start something when its turn comes, and await it; given up, it goes on, and the next one waits for it."""
        from asyncio import shield

        await self._order.__aenter__()
        try:
            working = start()
        except BaseException:
            self._order.end()
            raise
        working.add_done_callback(lambda _: self._order.end())
        return await shield(working)

    async def _drive(
        self,
        flow: Callable[Concatenate[State, P], Generator[Ask, Answer, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a verb that may ask a model: again, where somebody else wrote first and the session may repeat it."""
        outside = self._outside()
        async with self._turn:
            try:
                self._driver = object()
                UNDER_WAY.set((*outside, self._driver))
                state = await self._opened_state()
                while True:
                    try:
                        state.check_open()
                        return await adrive(flow(state, *args, **kwargs), self._ask, state.unit, self._work)
                    except (Moved, DoesNotFit) as error:
                        if not await self._work(may_repeat, state, error):
                            raise
            finally:
                self._driver = None
                UNDER_WAY.set(outside)

    say = awaitable(Session.say)
    add = awaitable(Session.add)
    merge = awaitable(Session.merge)
    aside = awaitable(Session.aside)
    count = awaitable(Session.count)
    view = awaitable(Session.view)
    pressure = awaitable(Session.pressure)
    stats = awaitable(Session.stats)
    ledger = awaitable(Session.ledger)
    cache = awaitable(Session.cache)
    sent = awaitable(Session.sent)
    body = awaitable(Session.body)
    requests = awaitable(Session.requests)
    edits = awaitable(Session.edits)
    preview = awaitable(Session.preview)
    diff = awaitable(Session.diff)
    why = awaitable(Session.why)
    fold = awaitable(Session.fold)
    undo = awaitable(Session.undo)
    redo = awaitable(Session.redo)
    release = awaitable(Session.release)
    rewind = awaitable(Session.rewind)
    forward = awaitable(Session.forward)
    reset = awaitable(Session.reset)
    pin = awaitable(Session.pin)
    unpin = awaitable(Session.unpin)
    pins = awaitable(Session.pins)
    note = awaitable(Session.note)
    erase = awaitable(Session.erase)
    output = awaitable(Session.output)
    outputs = awaitable(Session.outputs)
    tools = awaitable(Session.tools)
    find_tool = awaitable(Session.find_tool)
    gc = awaitable(Session.gc)
    refresh = awaitable(Session.refresh)
    close = awaitable(Session.close)

    async def receive(self, response: Any, *, to: object = None) -> Reply:
        """Record the model's reply and learn from its bill; `to` is the request that it answers."""
        if self._answers_searches and not isinstance(response, Reply):
            return await self._heard(record.read_reply(self._state, response), to)
        # A reply that the caller made is checked only when it is recorded: it may ask for a search.
        done = self._search if self._answers_searches else self._work
        return await done(partial(self._do, record.receive, response, to=to))

    async def _heard(self, reply: Reply, to: object = None) -> Reply:
        searches = self._answers_searches and any(map(is_search, reply.calls))
        return await (self._search if searches else self._work)(partial(self._do, record.hear, reply, to=to))

    @property
    def _answers_searches(self) -> bool:
        """Whether `receive` answers recall tools itself, in the loop if nobody sees to it that it does not."""
        return not self._remote and self._state.recall

    async def recall(self, call: Call) -> str:
        """What such a tool answers to a call; record it with `answer`. With `recall` on, `receive` does both."""
        return await (self._search if is_search(call) else self._work)(self._do, find.recall, call)

    async def answer(
        self, call: Call | str, output: Any, *, error: bool = False, again: bool = False
    ) -> Entry:
        """Record what a tool gave back for a call; an async iterator of chunks is taken too."""
        state = await self._opened_state()
        waiting = await self._work(state.peek, lambda: record.open_call(state, call))
        taken = await outputs.atake_in(state, output, beside=self._remote)
        try:
            arrival = await self._work(outputs.shape, state, waiting, taken)
            return await self._work(self._do, record.answer, arrival, error=error, again=again)
        finally:
            if taken.holder:
                await self._work(state.let_go, taken.holder)

    def listen(self, stream: AsyncIterable[Any], *, to: object = None) -> AsyncListening:
        """Pass a provider's stream on, and record the reply at its end; a broken one is recorded as cut."""
        return AsyncListening(self._state, stream, partial(self._heard, to=to))

    async def request(
        self, *, max_tokens: int | None = None, context: str | None = None, **params: Any
    ) -> SentRequest:
        """Keyword arguments for the provider's SDK, reduced if needed; asked twice, the same bytes."""
        return await self._drive(request.request, max_tokens=max_tokens, context=context, params=params)

    async def refused(self, error: object) -> bool:
        """The provider said "too long": learn from it, reduce, and say whether to try again."""
        return await self._drive(bill.refused, error)

    async def compact(
        self, *, force: bool = False, dry_run: bool = False, focus: str | None = None
    ) -> Outcome:
        """Reduce now, if the view is above its target; `force` reduces in any case."""
        return await self._drive(reduce.compact, force=force, dry_run=dry_run, focus=focus)

    async def settle(self) -> Outcome | None:
        """Background work after a turn, so that the next request need not do it: reduce if the trigger is reached,
        and let strategies such as `rolling` do theirs."""
        return await self._drive(reduce.settle)

    async def fork(self, name: str, *, edits: bool = True, **other: Unpack[Other]) -> AsyncSession:
        """A session of its own on the same entries, with the standing edits or afresh; with another model too."""
        forked = await self._work(self._do, fork.fork, name, edits, other)
        return AsyncSession(forked, self._ask, remote=self._remote, awaited=self._awaited)

    async def spawn(
        self, call: Call | str, *, name: str | None = None, **other: Unpack[SubAgent]
    ) -> AsyncSession:
        """A sub-agent's session, linked to the call that started it; with a prompt, tools and model of its own."""
        spawned = await self._work(self._do, fork.spawn, call, name, other)
        return AsyncSession(spawned, self._ask, remote=self._remote, awaited=self._awaited)

    async def __aenter__(self) -> Self:
        await self._work(self._opened)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
