"""Making the echoes of 0.1 anew: each stands on the one before it, so entries are taken from the first one on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from fanfold.core.errors import Corrupt, NotFound
from fanfold.core.record import Move, Record
from fanfold.core.tree import Entry
from fanfold.stores.prefix import hash_number
from fanfold.stores.tenant_tree import TenantTree

_AT_HAND = 1_000
"""So many entries are at hand at a time."""


def renew_entries(tree: TenantTree, ids: Iterable[str]) -> Iterator[Entry]:
    """All entries of a tenant with present echoes, each after its parent; the caller keeps them at once.

    What is damaged, and what stands after it, stays as it is.
    """
    done = set[str]()
    for id in ids:
        with suppress(Corrupt, NotFound):
            for entry in reversed(_not_done(tree, id, done)):
                yield tree.renew(entry)
                done.add(entry.id)
        if len(tree.entries) > _AT_HAND:
            tree.keep_only(())


def _not_done(tree: TenantTree, id: str | None, done: set[str]) -> list[Entry]:
    found = list[Entry]()
    while id is not None and id not in done:
        found.append(tree[id])
        id = found[-1].parent
    return found


def head_numbers(tree: TenantTree, records: Iterable[tuple[int, Record]]) -> Iterator[tuple[int, int]]:
    """Where the records of a session move its head to: their numbers, and the numbers of the prefixes."""
    for number, record in records:
        if isinstance(record, Move):
            with suppress(Corrupt, NotFound):
                yield number, hash_number(tree.prefix(record.head))
