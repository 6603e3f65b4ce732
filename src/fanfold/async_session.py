"""The session for asyncio. Nothing is done differently: only where the store is across a network, work waits beside the
event loop, in a thread, verb after verb in the order they were called.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from fanfold.drive import AsyncAsker, adrive
from fanfold.errors import Moved
from fanfold.message import Call
from fanfold.plan import Answer, Ask, Outcome
from fanfold.session import UNDER_WAY, Session, Verbs
from fanfold.talk import recording, reducing, refusing, requesting, spawning, streaming
from fanfold.talk.attempting import repeatable
from fanfold.talk.listening import AsyncListening
from fanfold.talk.spawning import Other
from fanfold.talk.state import State
from fanfold.tree import Entry
from fanfold.turns import Turn

P = ParamSpec("P")
T = TypeVar("T")


def awaitable(verb: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """The same verb, awaitable."""

    @wraps(verb)
    async def awaited(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if self._beside is None:
            return verb(self, *args, **kwargs)
        done: T = await self._work(verb, self, *args, **kwargs)
        return done

    return awaited


class AsyncSession(Verbs):
    """The same session for asyncio: every verb is awaitable."""

    def __init__(
        self, state: State | Callable[[], State], ask: AsyncAsker | None = None, *, remote: bool = False
    ) -> None:
        super().__init__(state)
        import asyncio  # imported late: whoever stays synchronous does not pay for it

        self._ask = ask
        self._turn = Turn()
        self._order = Turn()
        self._beside = asyncio.to_thread if remote else None

    async def _work(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something with the store: at once, in the loop; beside it only if the store is across a network."""
        if self._beside is None:
            return work(*args, **kwargs)
        async with self._order:
            done: T = await self._beside(work, *args, **kwargs)
            return done

    async def _drive(self, flow: Callable[[], Generator[Ask, Answer, T]]) -> T:
        outside = self._outside()
        async with self._turn:
            try:
                self._begin(outside)
                while True:
                    try:
                        begun = await self._work(self._do, lambda _: flow())
                        return await adrive(begun, self._ask, self._state.unit, self._work)
                    except Moved:
                        if not await self._work(repeatable, self._state):
                            raise
            finally:
                self._driver = None
                UNDER_WAY.set(outside)

    say = awaitable(Session.say)
    add = awaitable(Session.add)
    receive = awaitable(Session.receive)
    _heard = awaitable(Session._heard)
    merge = awaitable(Session.merge)
    view = awaitable(Session.view)
    pressure = awaitable(Session.pressure)
    stats = awaitable(Session.stats)
    sent = awaitable(Session.sent)
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
    note = awaitable(Session.note)
    erase = awaitable(Session.erase)
    output = awaitable(Session.output)
    outputs = awaitable(Session.outputs)
    tools = awaitable(Session.tools)
    recall = awaitable(Session.recall)
    gc = awaitable(Session.gc)
    close = awaitable(Session.close)

    async def answer(
        self, call: Call | str, output: Any, *, error: bool = False, again: bool = False
    ) -> Entry:
        """Record what a tool gave back for a call; an async iterator of chunks is taken too."""
        await self._work(self._do, recording.waiting, call)
        taken = await streaming.taken(self._state, output, beside=self._beside is not None)
        try:
            return await self._work(self._do, recording.answer, call, taken, error=error, again=again)
        finally:
            if taken.holder:
                await self._work(self._state.let_go, taken.holder)

    def listen(self, stream: AsyncIterable[Any]) -> AsyncListening:
        """Pass a provider's stream on, and record the reply at its end; a broken one is recorded as cut."""
        return AsyncListening(stream, recording.assembly(self._state), self._heard)

    async def request(
        self, *, max_tokens: int | None = None, context: str | None = None, **params: Any
    ) -> dict[str, Any]:
        """Keyword arguments for the provider's SDK, reduced if needed; asked twice, the same bytes."""
        return await self._drive(
            lambda: requesting.request(self._state, max_tokens=max_tokens, context=context, params=params)
        )

    async def refused(self, error: object) -> bool:
        """The provider said "too long": learn from it, reduce, and say whether to try again."""
        return await self._drive(lambda: refusing.refused(self._state, error))

    async def compact(self, *, force: bool = False) -> Outcome:
        """Reduce now, if the view is above its target; `force` reduces in any case."""
        return await self._drive(lambda: reducing.reduce(self._state, trigger="manual", force=force))

    async def settle(self) -> Outcome | None:
        """Background work after a turn, so that the next request need not do it: reduce if the trigger is reached,
        and let strategies such as `rolling` do theirs."""
        return await self._drive(lambda: reducing.settle(self._state))

    async def fork(self, name: str, *, edits: bool = True, **other: Unpack[Other]) -> AsyncSession:
        """A session of its own on the same entries, with the standing edits or afresh; with another model too."""
        forked = await self._work(self._do, spawning.fork, name, edits, other)
        return AsyncSession(forked, self._ask, remote=self._beside is not None)

    async def spawn(
        self, call: Call | str, *, name: str | None = None, **other: Unpack[Other]
    ) -> AsyncSession:
        """A sub-agent's session, linked to the call that started it; with another model too."""
        spawned = await self._work(self._do, spawning.spawn, call, name, other)
        return AsyncSession(spawned, self._ask, remote=self._beside is not None)

    async def __aenter__(self) -> Self:
        await self._work(self._opened)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
