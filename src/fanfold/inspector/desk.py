"""The sessions that the page looks at, some of them open.

A session that is live in this process is used as it is. Any other is opened beside: with tenants of its own, so that
the agent can open it meanwhile, and through a store that refuses every write where the inspector only reads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from fanfold.core.edit import Decision
from fanfold.core.errors import Closed, Moved, StoreFailed
from fanfold.core.message import Call, Message
from fanfold.session.cache import CacheUse
from fanfold.session.preview import Preview
from fanfold.session.session import Session
from fanfold.session.state import State
from fanfold.session.stored import (
    StoredSessions,
    asks_or_is_unknown,
    calls_of,
    count_erasures,
    earlier_bodies,
    opening_of,
)
from fanfold.stores.locks import ThreadLock
from fanfold.stores.store import Store, Tenant

T = TypeVar("T")
ONLY_READS = (
    "The inspector only reads here. Start it with --write to change, or a gateway with --inspector write."
)
_OPEN = 16
"""So many sessions are kept open."""
_TRIES = 3
WRITES = frozenset(
    (
        "append",
        "create",
        "erase",
        "put_blob",
        "drop_blobs",
        "keep_checkpoint",
        "keep_signature",
        "let_go",
        "scour",
        "alone",
    )
)


class StoreBeside:
    """A store that others use, with tenants of its own, and without writes if it is only read."""

    passing = False
    idle = False

    def __init__(self, store: Store, *, write: bool) -> None:
        self._store, self._write = store, write
        self._tenants: dict[str, Tenant] = {}

    def __getattr__(self, name: str) -> Any:
        if name in WRITES and not self._write:
            return _refuse
        return getattr(self._store, name)

    def tenant(self, name: str) -> Tenant:
        """The tenant, at work for the inspector alone."""
        if name not in self._tenants:
            self._tenants[name] = Tenant(cast("Store", self), name)
        return self._tenants[name]


def _refuse(*_: object, **__: object) -> Any:
    raise StoreFailed(ONLY_READS)


def check_place(store: Store) -> None:
    """Fail if the store's file was deleted or replaced: SQLite goes on without it, and all that is written is lost."""
    check = getattr(store, "check_place", None)
    if check is not None:
        check()


class Seat:
    """One session that is looked at."""

    def __init__(self, chat: Session, state: State | None) -> None:
        self.chat, self.state = chat, state
        self.lock = ThreadLock()
        self.uses: dict[int, CacheUse] = {}
        """What requests read from the cache, of those that were billed: only an erasure changes it."""
        self.pictures: dict[int, dict[str, Any]] = {}
        """What filled the window in requests that were looked at: only an erasure changes that, too."""
        self.hidden: tuple[tuple[int, int], dict[str, int]] = (-1, -1), {}
        """By how many tokens a view is smaller than with everything shown, and which view that is."""
        self._calls: tuple[int, dict[str, Call]] = (-1, {})
        self._erasures = 0

    def read_decisions(self) -> dict[str, Decision]:
        """Every edit that was made, by id. It is read anew: ask once for many."""
        return {one.decision.id: one.decision for one in self.chat.edits()}

    @property
    def live(self) -> bool:
        """Whether it is open in this process; it was opened beside otherwise."""
        return self.state is not None

    def preview(self, verb: str | None = None, *args: Any, **kwargs: Any) -> Preview:
        """What a change would do, or nothing. What a reduction leaves is told only where the strategy is known here."""
        told = self.chat.preview(verb, *args, **kwargs)
        return replace(told, reduced=None) if self._is_guess else told

    @property
    def _is_guess(self) -> bool:
        """Whether another strategy reduces this session than the one that is played here."""
        return not self.live and asks_or_is_unknown(opening_of(self.chat))

    @property
    def calls(self) -> dict[str, Call]:
        """What the model called on the way to where the session stands, by id."""
        version = self.chat.view().version  # not the head: that stays where it is when something is erased
        if self._calls[0] != version:
            self._calls = version, calls_of(self.chat)
        return self._calls[1]

    def earlier(self, entry: str) -> list[Message]:
        """What a message said before its client changed it."""
        return earlier_bodies(self.chat, entry)

    def is_erased(self, entry: str) -> bool:
        """Whether the content of a message was destroyed; a past view does not tell."""
        return self.chat.view().said(entry) is None

    def again(self, edit: str) -> str | None:
        """The edit in whose words one was made again, because somebody brought some of what it hid back."""
        return self.chat.why(edit).again.get(edit)

    def forget_erased(self) -> None:
        """Let go of what was kept from before something was erased: it may quote that."""
        erasures = count_erasures(self.chat)
        if erasures != self._erasures:
            self.uses, self.pictures, self._erasures = {}, {}, erasures


class Desk:
    """The sessions of a store, for any number of tabs."""

    def __init__(self, store: Store, *, write: bool = False) -> None:
        self.store, self.write = store, write
        self.beside = cast("Store", StoreBeside(store, write=write))
        """The store, which refuses every write if it is only read."""
        self._open: OrderedDict[tuple[str, str], Seat] = OrderedDict()
        self._lock = ThreadLock()

    def use(self, tenant: str, name: str, work: Callable[[Seat], T]) -> T:
        """Do something with a session as it stands now; again, if somebody else wrote first, or closed it."""
        for _ in range(_TRIES):
            try:
                return self._use(self._seat(tenant, name), work)
            except (Moved, Closed):
                continue
        return self._use(self._seat(tenant, name), work)

    def _use(self, seat: Seat, work: Callable[[Seat], T]) -> T:
        with seat.lock:
            seat.chat.refresh()
            return work(seat)

    def _seat(self, tenant: str, name: str) -> Seat:
        with self._lock:
            state = self.store.tenant(tenant).states.get(name)
            known = self._open.get((tenant, name))
            if known is None or known.state is not state:
                self._let_go(tenant, name)
                found = Session(state) if state else StoredSessions(self.beside, tenant).open(name)
                known = Seat(found, state)
            self._open[tenant, name] = known
            self._open.move_to_end((tenant, name))
            while len(self._open) > _OPEN:
                self._let_go(*self._open.popitem(last=False)[0])
            return known

    def _let_go(self, tenant: str, name: str) -> None:
        """Let a session be opened beside once more, though the one before may still be at work for another tab."""
        self.beside.tenant(tenant).states.pop(name, None)
