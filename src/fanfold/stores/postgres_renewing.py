"""Everything in a schema on a PostgreSQL server in another form, within one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import Corrupt
from fanfold.stores.coding import as_text
from fanfold.stores.places import checkpoint_place, numbered, proof_place, session_place
from fanfold.stores.renewing import Change
from fanfold.stores.server import Work

if TYPE_CHECKING:
    from fanfold.stores.postgres import Postgres


def renew(store: Postgres, work: Work, change: Change) -> bytes:
    """Keep everything as the change says; gives back the new mark. What is damaged already stays as it is."""
    for tenant, session, _ in work.rows("all_sessions"):
        with suppress(Corrupt):
            _records(work, change, tenant, session)
    for number, id, parent, body, tenant in all_entries(work.rows):
        with suppress(Corrupt):
            above = as_text(parent) if parent is not None else None
            kept = change.entry(as_text(tenant), as_text(id), above, body)
            work.rows("renew_entry", tenant=number, id=id, body=kept)
    for number, tenant, session, seq, body in work.rows("all_checkpoints"):
        with suppress(Corrupt):
            kept = change.checkpoint(checkpoint_place(as_text(tenant), as_text(session), seq), body)
            work.rows("renew_checkpoint", session=number, body=kept)
    _blobs(store, work, change)
    mark = change.seal.mark()
    work.rows("change_seal", mark=mark)
    return mark


def all_entries(rows: Callable[..., list[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    """The messages of all tenants, some at a time."""
    tenant, id = 0, b""
    while some := rows("all_entries", tenant=tenant, id=id):
        yield from some
        tenant, id = some[-1][:2]


def _records(work: Work, change: Change, tenant: bytes, session: bytes) -> None:
    place = session_place(as_text(tenant), as_text(session))
    for seq, body in work.rows("records", tenant=tenant, session=session):
        kept = change.record(numbered(place, seq), body)
        work.rows("change_record", tenant=tenant, session=session, seq=seq, body=kept)


def _blobs(store: Postgres, work: Work, change: Change) -> None:
    for owner, id, size, proof, outside in work.rows("all_blobs"):
        with suppress(Corrupt):
            tenant, name = as_text(owner), as_text(id)
            fetch = store.fetching(tenant, name, size, outside=outside)
            kept = change.proof(proof_place(tenant, name, size), proof, fetch)
            work.rows("keep_proof", tenant=owner, id=id, proof=kept)
