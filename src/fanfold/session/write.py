"""Writing a blob while its chunks still come in: hashing and writing go on beside whoever makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from queue import Full, Queue
from typing import TYPE_CHECKING, Any

from fanfold.stores.store import Blob, Tenant

if TYPE_CHECKING:
    from concurrent.futures import Future

_AHEAD = 4
"""Chunks that may wait to be written."""
_END = object()


def put_beside(tenant: Tenant, chunks: Iterable[bytes], holder: str) -> Blob:
    """Keep and hold a blob; the chunks are made in this thread and written in another."""
    from concurrent.futures import ThreadPoolExecutor  # late: few outputs are that large

    waiting: Queue[Any] = Queue(_AHEAD)
    with ThreadPoolExecutor(1, "fanfold-blob") as pool:
        blob = pool.submit(tenant.store.put_blob, tenant.name, _drained(waiting), holder=holder)
        try:
            for chunk in chunks:
                _hand_over(waiting, chunk, blob)
                if blob.done():
                    break
        except BaseException as error:
            _hand_over(waiting, error, blob)
            raise
        _hand_over(waiting, _END, blob)
        return blob.result()


def _hand_over(waiting: Queue[Any], item: object, blob: Future[Blob]) -> None:
    """Put an item in the queue; stop waiting if nobody takes it any more."""
    while not blob.done():
        try:
            return waiting.put(item, timeout=0.2)
        except Full:
            continue
    return None


def _drained(waiting: Queue[Any]) -> Iterator[bytes]:
    while (item := waiting.get()) is not _END:
        if isinstance(item, BaseException):
            raise item
        yield item
