"""Taking in outputs without holding up the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterator
from os import PathLike
from typing import Any

from fanfold.errors import Closed
from fanfold.talk.outputs import Taken
from fanfold.talk.outputs import taken as take
from fanfold.talk.state import State


async def taken(state: State, output: Any, *, beside: bool = False) -> Taken:
    """Take in an output; streams and files are written in another thread, and so is everything with `beside`."""
    import asyncio

    if (
        not beside
        and not isinstance(output, AsyncIterable | Iterator | PathLike)
        and not hasattr(output, "read")
    ):
        return take(state, output)
    source = output
    if isinstance(output, AsyncIterable):
        source = Pulled(aiter(output), asyncio.get_running_loop())
    try:
        return await asyncio.to_thread(take, state, source)
    finally:
        if isinstance(source, Pulled):
            source.stopped = True


class Pulled(Iterator[Any]):
    """The chunks of an async iterator, for a thread that waits for each of them."""

    def __init__(self, chunks: AsyncIterator[Any], loop: Any) -> None:
        self._chunks = chunks
        self._loop = loop
        self.stopped = False
        """Whether nobody waits for the whole any more."""

    def __next__(self) -> Any:
        import asyncio

        if self.stopped:
            raise Closed("Nobody waits for this output any more.")
        done = object()
        chunk = asyncio.run_coroutine_threadsafe(_next(self._chunks, done), self._loop).result()
        if chunk is done:
            raise StopIteration
        return chunk


async def _next(chunks: AsyncIterator[Any], done: object) -> Any:
    return await anext(chunks, done)
