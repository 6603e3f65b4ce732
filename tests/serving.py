"""An application in a thread, behind uvicorn, that starts and stops as fast as it can."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

TICK = 0.005
PATIENCE = 60.0
"""Seconds until something that never happens is given up."""


def until(true: Callable[[], bool]) -> None:
    """Wait for something, and look less often the longer it takes; what never happens ends only the test."""
    begun = time.monotonic()
    while not true():
        waited = time.monotonic() - begun
        assert waited < PATIENCE, "it did not happen"
        time.sleep(min(TICK + waited / 8, 0.1))


class QuickServer(uvicorn.Server):
    """uvicorn, looking for the end every few milliseconds.

    The original looks ten times a second, and waits another tenth of a second before it ends. That is nothing for a
    server and much for hundreds of tests. That the original ends well is tested in processes of its own.
    """

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self.should_exit:
            await asyncio.sleep(TICK)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state, until = self.server_state, time.monotonic() + (self.config.timeout_graceful_shutdown or 0)
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(state.connections):
            connection.shutdown()
        while (state.connections or state.tasks) and time.monotonic() < until:
            await asyncio.sleep(TICK)
        for task in state.tasks:
            task.cancel()
        await self.lifespan.shutdown()


@contextmanager
def serving(server: uvicorn.Server) -> Iterator[int]:
    """The port at which it serves meanwhile."""
    bound = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.001)
    try:
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(60)
        bound.close()
