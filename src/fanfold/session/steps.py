"""Steps: one implementation for callers that call and for callers that await.

    def flow(chat):
        request = yield chat.request           # something to be done; what comes of it is sent in, or thrown
        return request

`play` does each step and goes on; `aplay` awaits what a step returns, if it can be awaited. So the same flow works on a
`Session` and on an `AsyncSession`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[Callable[[], Any], Any, T]
"""Things to be done, one after the other; what came of each is sent in, or thrown."""


def play(steps: Steps[T]) -> T:
    """Do all steps."""
    advance: Callable[[], Any] = partial(next, steps)
    with closing(steps):  # one who is interrupted leaves nothing open
        while True:
            try:
                do = advance()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            try:
                advance = partial(steps.send, do())
            except Exception as error:
                advance = partial(steps.throw, error)


async def aplay(steps: Steps[T]) -> T:
    """Do all steps, and await what they return."""
    advance: Callable[[], Any] = partial(next, steps)
    with closing(steps):
        while True:
            try:
                do = advance()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            try:
                got = do()
                advance = partial(steps.send, await got if isinstance(got, Awaitable) else got)
            except Exception as error:
                advance = partial(steps.throw, error)
