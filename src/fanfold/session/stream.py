"""Taking in outputs without holding up the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sized
from os import PathLike
from typing import TYPE_CHECKING, Any

from fanfold.core.errors import Closed
from fanfold.session.outputs import Taken
from fanfold.session.outputs import taken as take
from fanfold.session.state import State
from fanfold.session.threads import STORE, STREAMS

if TYPE_CHECKING:
    from concurrent.futures import Future

AHEAD = 4 << 20
"""Bytes of an async iterator that are awaited in the event loop. Only for the rest of a longer one a thread waits."""
_EACH = 64
"""What a chunk takes beside its bytes."""
_LOOK = 1.0
"""After so many seconds without a chunk, the thread looks whether the event loop is still there."""


async def taken(state: State, output: Any, *, beside: bool = False) -> Taken:
    """Take in an output; streams and files are written in another thread, and so is everything with `beside`."""
    if isinstance(output, AsyncIterable):
        return await _pulled(state, aiter(output))
    if isinstance(output, Iterator | PathLike) or hasattr(output, "read"):
        return await STREAMS.run(take, state, output)
    return await STORE.run(take, state, output) if beside else take(state, output)


async def _pulled(state: State, chunks: AsyncIterator[Any]) -> Taken:
    """Take in an async iterator: no thread is held while the event loop waits for the first megabytes."""
    ahead: list[Any] = []
    room = AHEAD
    async for chunk in chunks:
        ahead.append(chunk)
        room -= _EACH + (len(chunk) if isinstance(chunk, Sized) else 0)
        if room < 0:
            break
    else:
        return await STORE.run(take, state, iter(ahead))
    source = Pulled(ahead, chunks)
    try:
        return await STREAMS.run(take, state, source)
    finally:
        source.stop()


class Pulled(Iterator[Any]):
    """The chunks of an async iterator, for a thread that waits for each of them."""

    def __init__(self, ahead: list[Any], chunks: AsyncIterator[Any]) -> None:
        import asyncio

        self._ahead = ahead[::-1]
        self._chunks = chunks
        self._loop = asyncio.get_running_loop()
        self._next: Future[Any] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Nobody waits for the whole any more."""
        self._stopped = True
        if self._next is not None:
            self._next.cancel()

    def __next__(self) -> Any:
        import asyncio

        if self._ahead:
            return self._ahead.pop()
        done = object()
        self._next = asyncio.run_coroutine_threadsafe(_next(self._chunks, done), self._loop)
        chunk = self._awaited(self._next)
        if chunk is done:
            raise StopIteration
        return chunk

    def _awaited(self, coming: Future[Any]) -> Any:
        while not (self._stopped or self._loop.is_closed()):
            try:
                return coming.result(_LOOK)
            except TimeoutError:
                if coming.done():
                    raise  # the iterator's own
        coming.cancel()
        raise Closed("Nobody waits for this output any more.")


async def _next(chunks: AsyncIterator[Any], done: object) -> Any:
    return await anext(chunks, done)
