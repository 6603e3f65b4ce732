"""Taking turns in an event loop."""

from __future__ import annotations

import asyncio
import threading

from fanfold.errors import BadInput


class Turn:
    """One task at a time, first come, first served. While nobody is in it, it may go over to another event loop."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        self._inside = 0
        """How many tasks of that loop have the turn, or wait for it."""

    async def __aenter__(self) -> None:
        self._come(asyncio.get_running_loop())
        try:
            await self._lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *error: object) -> None:
        self._lock.release()
        self._leave()

    def _come(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._guard:
            if self._loop is not loop:
                if self._inside and self._loop is not None and not self._loop.is_closed():
                    raise BadInput(
                        "This session is at work in another event loop. Use it there (asyncio.run_coroutine_threadsafe "
                        "hands work over), or a `Session`, which threads can share."
                    )
                self._loop, self._lock, self._inside = loop, asyncio.Lock(), 0
            self._inside += 1

    def _leave(self) -> None:
        with self._guard:
            self._inside -= 1
