"""What a store promises of blobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from fanfold.core.errors import NotFound, StoreFailed
from fanfold.core.record import Kept
from fanfold.stores.store import Batch, Store
from fanfold.testing.checking import Broken, refused, sure

_LARGE = bytes(range(256)) * 8_000


def _blobs(store: Store) -> None:
    for data in (b"", b"small", _LARGE):
        blob = store.put_blob("blobs", [data[:1000], data[1000:]])
        sure(store.put_blob("blobs", [data]) == blob, "The same content is two blobs.")
        sure(b"".join(store.get_blob("blobs", blob.id)) == data, "A blob does not come back as it was.")
        part = b"".join(store.get_blob("blobs", blob.id, 2, 1_500_000))
        sure(part == data[2:1_500_000], "A range of a blob is not that slice of it.")
        refused(StoreFailed, partial(store.get_blob, "blobs", blob.id, -1))
        refused(NotFound, partial(store.get_blob, "others", blob.id))
        store.drop_blobs("others", [blob.id])
        sure(blob in store.blobs("blobs"), "A tenant dropped another's blob.")
        sure(store.drop_blobs("blobs", [blob.id]) == [], "A blob is held by nobody, and yet it stays.")
        refused(NotFound, partial(store.get_blob, "blobs", blob.id))
    refused(Broken, lambda: store.put_blob("blobs", _breaks_off()))
    sure(not store.blobs("blobs"), "Of a source that broke off there is a blob.")


def _parts_blobs(store: Store) -> None:
    """The same content with two tenants is two blobs: neither lists, needs, holds or drops the other's."""
    mine = store.put_blob("parts", [b"the same"])
    sure(store.blobs("parts too") == [], "A tenant's blobs are listed with another's.")
    theirs = store.put_blob("parts too", [b"the same"], holder="them")
    store.append("parts too", "s", Batch((Kept("o1", "e#0", theirs.id),)), expect=None)
    sure(store.drop_blobs("parts", [mine.id]) == [], "A blob stays because another tenant holds one like it.")
    sure(
        store.blobs("parts") == [],
        "A blob was not dropped because another tenant's record refers to its like.",
    )
    kept = b"".join(store.get_blob("parts too", theirs.id))
    sure(kept == b"the same", "A tenant's blob went with another's.")


def _holds(store: Store) -> None:
    """A blob that a record refers to, or that somebody holds, is not dropped."""
    blob, free = store.put_blob("holds", [b"held"], holder="one"), store.put_blob("holds", [b"free"])
    store.put_blob("holds", [b"held"], holder="two")
    store.let_go("holds", "one")
    store.let_go("others", "two")
    stays = store.drop_blobs("holds", [blob.id, free.id])
    held = [(hold.blob, hold.holder) for hold in stays]
    sure(
        held == [(blob.id, "two")], "Of what was to be dropped, not just the blob that somebody holds stays."
    )
    sure(store.blobs("holds") == [blob], "A blob was dropped while somebody held it.")
    store.append("holds", "s", Batch((Kept("o1", "e#0", blob.id),)), expect=None)
    store.let_go("holds", "two")
    sure(store.drop_blobs("holds", [blob.id]) == [], "A blob is held by nobody, and yet it is said to be.")
    sure(store.blobs("holds") == [blob], "A blob was dropped that a record refers to.")


def _lets_go(store: Store) -> None:
    """A blob that was let go of is nobody's."""
    blob = store.put_blob("lets go", [b"held"], holder="one")
    stays = store.drop_blobs("lets go", [blob.id])
    sure(
        [hold.blob for hold in stays] == [blob.id],
        "A blob is held, and yet not said to be: somebody holds it.",
    )
    sure(abs(time.time() - stays[0].since) < 3_600, "A hold does not say since when it is.")
    store.let_go("lets go", "one")
    sure(store.drop_blobs("lets go", [blob.id]) == [], "A blob that was let go of is still held.")
    sure(store.blobs("lets go") == [], "A blob that was let go of stays.")


def _breaks_off() -> Iterator[bytes]:
    yield _LARGE
    raise Broken


CHECKS: tuple[Callable[[Store], None], ...] = (_blobs, _parts_blobs, _lets_go, _holds)
