"""Everything in an SQLite file in another form, within one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import Corrupt
from fanfold.stores.coding import as_text
from fanfold.stores.places import LINES, checkpoint_place, name_sum, numbered, proof_place, session_place
from fanfold.stores.renewing import Change

if TYPE_CHECKING:
    from fanfold.stores.database import Database
    from fanfold.stores.sqlite import SQLite


def renew(store: SQLite, change: Change) -> bytes:
    """Keep everything as the change says; gives back the new mark."""
    _Renewal(store, change).do()
    mark = change.seal.mark()
    store.database.do("change_seal", (mark,))
    return mark


def all_lines(database: Database) -> Iterator[tuple[Any, ...]]:
    """Every line of the file, some at a time."""
    last = -1
    while some := database.rows("all_lines", last):
        yield from some
        last = some[-1][0]


class _Renewal:
    def __init__(self, store: SQLite, change: Change) -> None:
        self.store = store
        self.database = store.database
        self.change = change
        self.tenants: dict[int, str] = {}
        self.sessions: dict[int, tuple[str, str]] = {}
        """The names of tenants, and of sessions after their tenants', as far as they can be read."""

    def do(self) -> None:
        self._names()
        self._all_lines()
        self._checkpoints()
        self._blobs()

    def _names(self) -> None:
        for number, name, _ in self.database.rows("tenant_names"):
            with suppress(Corrupt):
                self.tenants[number] = as_text(name)
                self.database.do("sum_tenant", (name_sum(self.tenants[number]), number))
        for number, _, name, _, tenant in self.database.rows("session_names"):
            with suppress(Corrupt):
                if tenant in self.tenants:
                    self.sessions[number] = (self.tenants[tenant], as_text(name))
                    self.database.do("sum_session", (name_sum(*self.sessions[number]), number))

    def _all_lines(self) -> None:
        for line in all_lines(self.database):
            with suppress(Corrupt):  # what is damaged already stays as it is
                self._line(*line)

    def _line(
        self,
        key: int,
        tenant: int,
        version: int,
        record: bytes | None,
        id: bytes | None,
        parent: bytes | None,
        message: bytes | None,
    ) -> None:
        names = self.sessions.get(key // LINES)
        if names is None:
            return
        place = numbered(session_place(*names), key % LINES)
        if id is not None and message is not None and tenant in self.tenants:
            above = as_text(parent) if parent is not None else None
            message = self.change.entry(self.tenants[tenant], as_text(id), above, message)
        self.database.do("renew_line", (self.change.record(place, record), message, key))

    def _checkpoints(self) -> None:
        for session, seq, body in self.database.rows("all_checkpoints"):
            if session in self.sessions:
                kept = self.change.checkpoint(checkpoint_place(*self.sessions[session], seq), body)
                self.database.do("renew_checkpoint", (kept, session))

    def _blobs(self) -> None:
        for owner, id, size, proof, in_file in self.database.rows("all_blobs"):
            with suppress(Corrupt):
                tenant, name = as_text(owner), as_text(id)
                fetch = self.store.fetching(tenant, name, size, in_file=in_file)
                kept = self.change.proof(proof_place(tenant, name, size), proof, fetch)
                self.database.do("renew_proof", (kept, id, owner))
