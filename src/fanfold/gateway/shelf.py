"""What all replicas of a gateway know beside the conversations: which session a name stands for.

A client may ask another process next time. So the session of every stored response, and the one that a client had
summarized, stand in the store, for a tenant of their own beside the client's: lists of sessions show conversations
only, and nothing is ever found for another tenant.
"""

from __future__ import annotations

from collections import OrderedDict

from fanfold.core.errors import BadInput
from fanfold.core.message import user
from fanfold.core.record import Move
from fanfold.session.pool import Pool
from fanfold.stores.store import Batch, Store
from fanfold.stores.tenant_tree import TenantTree

_SHELF = "\N{SYMBOL FOR UNIT SEPARATOR}gateway"
"""What is added to a tenant's name for the one that its names are kept for."""
_KEPT = 10_000


class Shelf:
    """Names and the sessions that they stand for, by tenant; those of late are at hand."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()

    @property
    def _store(self) -> Store:
        return self._pool.store

    def put(self, tenant: str, name: str, session: str) -> None:
        """Keep which session a name stands for, from now on."""
        if self._known.get((tenant, name)) == session:
            return
        entry = TenantTree().add(None, user(session))
        batch = Batch((Move(entry.id),), (entry,), prefixes=(None,))
        self._store.append(_shelf(tenant), name, batch, expect=None)
        self._remember(tenant, name, session)

    def get(self, tenant: str, name: str, *, latest: bool = False) -> str | None:
        """The session that a name stands for; `latest` for a name that another process may have given away again."""
        if not latest and (tenant, name) in self._known:
            return self._known[tenant, name]
        records = self._store.load(_shelf(tenant), name).records
        heads = [record.head for record in records if isinstance(record, Move) and record.head is not None]
        entry = self._store.entry(_shelf(tenant), heads[-1]) if heads else None
        if entry is None or entry.erased is not None:
            return None
        self._remember(tenant, name, entry.message.text)
        return entry.message.text

    def _remember(self, tenant: str, name: str, session: str) -> None:
        self._known[tenant, name] = session
        self._known.move_to_end((tenant, name))
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)


def _shelf(tenant: str) -> str:
    """The tenant that a tenant's names are kept for."""
    if tenant.endswith(_SHELF):
        raise BadInput(f"No tenant may be called {tenant!r}: the gateway keeps names there.")
    return f"{tenant}{_SHELF}"
