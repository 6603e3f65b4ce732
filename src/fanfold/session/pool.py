"""A pool: the sessions of one store that are live in this process, each once, for many threads and tasks.

    pool = fanfold.Pool("postgresql://…", model="gpt-5.2")
    async with pool.session("run-42") as chat:      # or `with`, where no event loop runs
        await chat.merge(transcript)

Whoever is inside `with` *uses* the session: it is not evicted meanwhile, and nothing else. Others may be inside at the
same time; the session itself does one verb after the other. Entering takes in what other processes wrote. A session
that nobody uses stays live until it was idle for long or memory is short; then it is closed, and opened again when
somebody asks for it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from fanfold.config.choice import REMEMBERED
from fanfold.config.options import Options, check_names, options_of
from fanfold.core.errors import BadInput, BadSetting, Closed
from fanfold.session import fork
from fanfold.session.open import OPTIONS, async_session, open_state, sync_session
from fanfold.session.recognize import Found, Meant, recognize
from fanfold.session.session import Session
from fanfold.session.state import State
from fanfold.session.weighing import bytes_of
from fanfold.stores.fibers import FiberLock
from fanfold.stores.locks import ThreadLock
from fanfold.stores.opening import is_awaited, is_remote, open_store
from fanfold.stores.search import Passage, search
from fanfold.stores.store import Store, Tenants
from fanfold.stores.summary import Summary

if TYPE_CHECKING:
    from fanfold.session.async_session import AsyncSession

T = TypeVar("T")
Key = tuple[str, str]
"""A tenant and the name of a session."""
MEMORY = 512 << 20
IDLE = 900.0
_LOOKS = 100
"""So often in that time it is looked whether a session was idle for so long."""


class Counters(msgspec.Struct, frozen=True):
    """What a pool did so far, and what it holds now."""

    open: int
    """Sessions that are live."""
    used: int
    """Those of them that somebody uses."""
    bytes: int
    """About how much memory they take."""
    hits: int
    """How often a session was live when somebody asked for it."""
    misses: int
    """How often it had to be opened."""
    evicted: int
    """How many were closed because they were idle or memory was short."""


class _Slot:
    """The place of one session in a pool."""

    def __init__(self) -> None:
        self.lock = FiberLock()
        """Held while the session is opened or closed. Whoever holds it may take the pool's lock, not the reverse."""
        self.given: dict[str, Any] = {}
        self.options = Options()
        """What it was opened with, as it was given, and as it was understood."""
        self.state: State | None = None
        self.session: Session | None = None
        self.awaited: AsyncSession | None = None
        self.users = 0
        """How many use it, or are about to; the pool's lock guards it."""
        self.left = 0.0
        """When the last of them left."""
        self.size = 0
        """About how many bytes it takes; the pool's lock guards it."""
        self._weighed = (0, 0)
        """The length of the log when that was last looked at, and what was found."""

    @property
    def live(self) -> bool:
        """Whether the session is open; whoever uses it may have closed it."""
        return self.state is not None and not self.state.closed

    def weigh(self) -> int:
        """How much memory the session takes; looked at again when it is twice as long, and reckoned until then."""
        state = self.state
        if state is None or state.closed:
            return 0
        length = len(state.log.records)
        if not self._weighed[0] <= length < 2 * self._weighed[0]:
            self._weighed = (length, bytes_of(state))
        return self._weighed[1] * max(1, length) // max(1, self._weighed[0])

    def close(self) -> None:
        """Close the session, and forget it."""
        state, self.state, self.session, self.awaited = self.state, None, None, None
        self._weighed = (0, 0)
        if state is not None and not state.closed:
            fork.close(state)


class Pool:
    """The live sessions of a store, each once: opened when needed, closed when idle or when memory is short."""

    def __init__(
        self,
        store: Store | str | None = None,
        *,
        memory: int = MEMORY,
        idle: float = IDLE,
        clock: Callable[[], float] = time.monotonic,
        remember: bool = True,
        **options: Any,
    ) -> None:
        """`options` are those of `fanfold.open`; `session` may give others. Where another process wrote first, a verb
        is done again on what that wrote, unless `on_moved` says otherwise.

        Sessions that nobody uses are closed once they were idle for `idle` seconds, and the longest idle ones where all
        together take more than `memory` bytes. Memory is looked at whenever somebody leaves a session, idleness too
        (not more often than every hundredth of `idle`), and both by `evict`.
        Without `remember`, sessions are opened as their agent left them, and nobody is told how they were opened here.
        """
        if memory < 0 or idle < 0:
            raise BadSetting(
                "`memory` is a number of bytes, and `idle` one of seconds: give numbers from 0 on."
            )
        if "store" in options:
            raise BadSetting("A pool has one store, which is its first argument.")
        check_names(options, OPTIONS)
        self._named = store
        self._store: Store | None = None
        self._remote, self._awaited = is_remote(store), is_awaited(store)
        self._options = {"on_moved": "reapply", **options}
        self._memory, self._idle, self._clock = memory, idle, clock
        self._remember = REMEMBERED if remember else ()
        self._lock = ThreadLock()
        self._store_lock = FiberLock()
        self._slots: OrderedDict[Key, _Slot] = OrderedDict()
        """The one that was left longest ago comes first."""
        self._bytes = 0
        self._look_again = 0.0
        """When idle sessions are looked for again, while memory is not short."""
        self._hits = self._misses = self._evicted = 0
        self._closed = False

    @property
    def store(self) -> Store:
        """The store; one that is given by name is opened when it is first needed, and closed with the pool."""
        if (opened := self._store) is not None:
            return opened
        with self._store_lock:
            if self._store is None:
                self._store = open_store(self._named)
                if isinstance(self._store, Tenants):
                    self._store.pools += 1
            return self._store

    def session(self, name: str, *, tenant: str | None = None, **options: Any) -> Lease:
        """A session, to be used by `with` or `async with`; its options are those of `fanfold.open`.

        A live session keeps the options that it was opened with. Other ones open it anew, if nobody uses it.
        """
        check_names(options, OPTIONS - {"store"})
        named = {} if tenant is None else {"tenant": tenant}
        return Lease(self, name, {**self._options, **options, **named})

    def find(
        self,
        transcript: Any,
        *,
        tenant: str | None = None,
        dialect: str | None = None,
        hint: str | None = None,
        labels: Mapping[str, str] | None = None,
        model: str | None = None,
    ) -> Found:
        """Which session a history belongs to: the one that shares most of it, from the start. Nothing is recorded.

        `dialect` is that of the history; the pool's by default, else its content tells. Where several sessions fit,
        what else is known decides: `hint` (a session's name), `labels`, then the system prompt that comes with the
        history, `model`, and which of them stand just there.
        """
        owner = tenant or self._options.get("tenant", "default")
        written = dialect or self._options.get("dialect")
        known = Meant(hint=hint, labels=labels or {}, model=model)
        return recognize(self.store, owner, transcript, written, known=known)

    async def afind(self, transcript: Any, **known: Any) -> Found:
        """The same as `find`, awaited."""
        return await self._beside(lambda: self.find(transcript, **known))

    def summaries(self, *, tenant: str | None = None) -> list[Summary]:
        """All sessions of a tenant in a few figures each, the one that was seen last first: one query for thousands."""
        owner = tenant or self._options.get("tenant", "default")
        return sorted(self.store.summaries(owner), key=lambda summary: -summary.seen)

    async def asummaries(self, *, tenant: str | None = None) -> list[Summary]:
        """The same as `summaries`, awaited."""
        return await self._beside(lambda: self.summaries(tenant=tenant))

    def search(
        self,
        words: str,
        *,
        tenant: str | None = None,
        session: str | None = None,
        most: int = 50,
        after: Passage | None = None,
    ) -> list[Passage]:
        """Where these words stand in what the sessions of a tenant hold, hidden or not; nothing that was erased.

        Capital or not is the same. The youngest session comes first. `after` is the last passage that is known.
        """
        owner = tenant or self._options.get("tenant", "default")
        return list(islice(search(self.store, owner, words, session=session, after=after), most))

    async def asearch(self, words: str, **known: Any) -> list[Passage]:
        """The same as `search`, awaited."""
        return await self._beside(lambda: self.search(words, **known))

    @property
    def counters(self) -> Counters:
        """What the pool did so far, and what it holds now."""
        with self._lock:
            slots = list(self._slots.values())
            return Counters(
                open=sum(slot.live for slot in slots),
                used=sum(slot.users > 0 for slot in slots),
                bytes=self._bytes,
                hits=self._hits,
                misses=self._misses,
                evicted=self._evicted,
            )

    def has_free(self, name: str, *, tenant: str) -> bool:
        """Whether a session is live and nobody uses it, so that whoever enters now waits for nobody in this process."""
        with self._lock:
            slot = self._slots.get((tenant, name))
            return slot is not None and slot.live and not slot.users

    def evict(self) -> int:
        """Close sessions that nobody uses and that were idle for too long, or for which there is no memory."""
        closed = sum(self._close_unused(key) for key in self._find_idle())
        with self._lock:
            self._evicted += closed
        return closed

    def close(self) -> None:
        """Close all sessions that nobody uses; the others are closed when they are left. Nobody can enter any more."""
        with self._lock:
            first, self._closed = not self._closed, True
            keys = list(self._slots)
        for key in keys:
            self._close_unused(key)
        store = self._store
        if first and isinstance(store, Tenants):
            store.pools -= 1
        if store is not None and store.passing and store.idle:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._beside(self.close)

    def _find_idle(self) -> list[Key]:
        """The sessions to close: all that were idle for too long, and the longest idle while memory is short."""
        now, found = self._clock(), list[Key]()
        self._look_again = now + self._idle / _LOOKS
        with self._lock:
            over = self._bytes - self._memory
            for key, slot in self._slots.items():
                if slot.users:
                    continue
                if over <= 0 and now - slot.left < self._idle:
                    break
                found.append(key)
                over -= slot.size
        return found

    def _close_unused(self, key: Key) -> bool:
        """Close a session, unless somebody uses it by now. Whoever asks for it meanwhile waits, and opens it again."""
        with self._lock:
            slot = self._slots.get(key)
        if slot is None:
            return False
        leave = slot.lock.release  # known before the lock is taken: then Ctrl-C cannot come between
        if not slot.lock.take(blocking=False):
            return False
        try:
            with self._lock:
                if slot.users:
                    return False
            was_live = slot.live
            slot.close()
            with self._lock:
                self._resize(slot, 0)
                if (
                    not slot.users and self._slots.get(key) is slot
                ):  # else somebody else closed it, and it is open again
                    del self._slots[key]
            return was_live
        finally:
            leave()

    def _enter(self, key: Key, given: dict[str, Any], *, fresh: bool) -> _Slot:
        """Use a session: it is live, and, if that is wanted, knows what the store knows."""
        with self._lock:
            if self._closed:
                raise Closed("The pool is closed; make another one to go on.")
            slot = self._slots.get(key) or self._slots.setdefault(key, _Slot())
            slot.users += 1
        try:
            with slot.lock:
                self._make_live(slot, key[1], given, fresh=fresh)
        except BaseException:
            self._leave(key)
            raise
        return slot

    def _make_live(self, slot: _Slot, name: str, given: dict[str, Any], *, fresh: bool) -> None:
        known = slot.live and (slot.given is given or slot.given == given)
        if slot.live and not known and slot.users > 1:
            raise BadInput(f"The session {name!r} is in use with other options. Wait until it is left.")
        with self._lock:
            self._hits += known
            self._misses += not known
        if known:
            slot.given = given  # whoever comes with the very same options the next time is known at once
            assert slot.state is not None
            if fresh:
                slot.state.unit(slot.state.catch_up)
            return
        slot.close()
        slot.given, slot.options = given, options_of({**given, "store": self.store})
        slot.state = open_state(name, slot.options, remember=self._remember)

    def _leave(self, key: Key) -> None:
        """Use a session no more; then see which ones are to be closed."""
        with self._lock:
            slot = self._slots[key]
            slot.users -= 1
            slot.left = self._clock()
            self._slots.move_to_end(key)
            unused, closed = not slot.users, self._closed
        if unused:
            size = slot.weigh()
            with self._lock:
                self._resize(slot, size)
            if closed or not slot.live:
                self._close_unused(key)
        if self._bytes > self._memory or self._clock() >= self._look_again:
            self.evict()

    def _resize(self, slot: _Slot, size: int) -> None:
        self._bytes += size - slot.size
        slot.size = size

    async def _beside(self, work: Callable[[], T], undo: Callable[[], None] | None = None) -> T:
        """Do something that asks the store: beside the event loop, if that means to wait for a network.

        A task that is cancelled meanwhile does not break it off half-way; what it did is undone, if it can be.
        """
        from asyncio import CancelledError, shield  # late: whoever stays synchronous does not pay for it

        from fanfold.session.threads import STORE, start_fiber

        if not self._remote:
            return work()
        start: Callable[..., Any] = start_fiber if self._awaited else STORE.start
        working = start(work)
        try:
            return await shield(working)
        except CancelledError:
            if undo is not None:
                working.add_done_callback(lambda done: None if done.exception() else start(undo))
            raise


class Lease:
    """The right to use a session, from `with` to its end. It can be used again."""

    def __init__(self, pool: Pool, name: str, given: dict[str, Any], *, fresh: bool = True) -> None:
        self._pool = pool
        self._key = (given.get("tenant", "default"), name)
        self._given = given
        self._fresh = fresh

    def as_it_is(self) -> Lease:
        """The same right, without a look at what other processes wrote: for verbs that write what changes the view.

        Such a verb is told if somebody wrote first, and is done again on what that wrote.
        """
        return Lease(self._pool, self._key[1], self._given, fresh=False)

    def __enter__(self) -> Session:
        slot = self._pool._enter(self._key, self._given, fresh=self._fresh)
        if slot.session is not None:  # and so it stays, for it is used now
            return slot.session
        with slot.lock:
            if slot.session is None:
                assert slot.state is not None
                slot.session = sync_session(slot.state, slot.options)
            return slot.session

    def __exit__(self, *error: object) -> None:
        self._leave()

    async def __aenter__(self) -> AsyncSession:
        return await self._pool._beside(self._enter_awaited, undo=self._leave)

    async def __aexit__(self, *error: object) -> None:
        await self._pool._beside(self._leave)

    def _enter_awaited(self) -> AsyncSession:
        slot = self._pool._enter(self._key, self._given, fresh=self._fresh)
        with slot.lock:
            if slot.awaited is None:
                assert slot.state is not None
                slot.awaited = async_session(slot.state, slot.options)
            return slot.awaited

    def _leave(self) -> None:
        self._pool._leave(self._key)
