"""Taking turns in an event loop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fanfold.core.errors import BadInput

if TYPE_CHECKING:
    import asyncio


class Turn:
    """One task at a time, first come, first served. While nobody is in it, it may go over to another event loop."""

    def __init__(self) -> None:
        import asyncio  # imported late: whoever stays synchronous does not pay for it

        self._running, self._new = asyncio.get_running_loop, asyncio.Lock
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = self._new()
        self._inside = 0
        """How many tasks of that loop have the turn, or wait for it."""

    async def __aenter__(self) -> None:
        self._come(self._running())
        try:
            await self._lock.acquire()
        except BaseException:
            self._leave()
            raise

    async def __aexit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Let the next one have the turn."""
        self._lock.release()
        self._leave()

    @property
    def taken(self) -> bool:
        """Whether anybody has the turn, or waits for it."""
        return self._inside > 0

    def _come(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._guard:
            if self._loop is not loop:
                if self._inside and self._loop is not None and not self._loop.is_closed():
                    raise BadInput(
                        "This session is at work in another event loop. Use it there (asyncio.run_coroutine_threadsafe "
                        "hands work over), or a `Session`, which threads can share."
                    )
                self._loop, self._lock, self._inside = loop, self._new(), 0
            self._inside += 1

    def _leave(self) -> None:
        with self._guard:
            self._inside -= 1
