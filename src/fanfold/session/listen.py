"""Listening to a provider's stream: every event is passed on, and what came is recorded at the end."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from fanfold.core.errors import BadInput
from fanfold.dialects.dialect import Assembly, Reply


class Judging:
    """An assembly that takes in no stream of another dialect; its first telling event decides."""

    def __init__(self, assembly: Assembly, judge: Callable[[Any], bool]) -> None:
        self._assembly = assembly
        self._judge: Callable[[Any], bool] | None = judge
        """Says whether an event is of this dialect's own, raises if it is of another, until one told."""

    def feed(self, event: Any) -> None:
        """Take in one event."""
        if self._judge is not None and self._judge(event):
            self._judge = None
        self._assembly.feed(event)

    @property
    def complete(self) -> bool:
        """Whether the provider said that this was the end."""
        return self._assembly.complete

    def reply(self) -> Reply:
        """What came so far."""
        return self._assembly.reply()


class Ear:
    """What both kinds of listening share."""

    reply: Reply | None = None
    """What the model said; there once the stream was left."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._heard = False

    def _hear(self, event: Any) -> Any:
        self._assembly.feed(event)
        self._heard = True
        return event

    def _came(self) -> Reply | None:
        """What is to be recorded; a stream that broke off is recorded as cut, one that never began not at all."""
        if not self._heard or self.reply is not None:
            return None
        reply = self._assembly.reply()
        said = self._assembly.complete or any(message.parts for message in reply.messages)
        return reply if said else None


def _no_stream(stream: object, wanted: str) -> BadInput:
    return BadInput(f"Listen to a provider's stream: {wanted}, not to {type(stream).__name__}.")


class Listening(Ear):
    """`with chat.listen(stream) as events: for event in events: …`; then `events.reply`."""

    def __init__(self, stream: Iterable[Any], assembly: Assembly, receive: Callable[[Reply], Reply]) -> None:
        super().__init__(assembly)
        if not hasattr(stream, "__iter__"):
            raise _no_stream(stream, "an iterator of its events")
        self._stream = stream
        self._receive = receive

    def __iter__(self) -> Iterator[Any]:
        return (self._hear(event) for event in self._stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if (came := self._came()) is not None:
                self.reply = self._receive(came)
        finally:
            close = getattr(self._stream, "close", None)
            if callable(close):
                close()


class AsyncListening(Ear):
    """`async with chat.listen(stream) as events: async for event in events: …`; then `events.reply`."""

    def __init__(
        self, stream: AsyncIterable[Any], assembly: Assembly, receive: Callable[[Reply], Awaitable[Reply]]
    ) -> None:
        super().__init__(assembly)
        if not hasattr(stream, "__aiter__"):
            raise _no_stream(stream, "an async iterator of its events, awaited where the SDK says so")
        self._stream = stream
        self._receive = receive

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for event in self._stream:
            yield self._hear(event)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if (came := self._came()) is not None:
                self.reply = await self._receive(came)
        finally:
            close = getattr(self._stream, "close", None) or getattr(self._stream, "aclose", None)
            closing = close() if callable(close) else None
            if closing is not None and hasattr(closing, "__await__"):
                await closing
