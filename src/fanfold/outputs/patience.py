"""How long a search may take. Reading and matching are timed, not what a caller does with the hits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from fanfold.core.errors import BadInput, TooSlow

P = ParamSpec("P")
T = TypeVar("T")
TIMEOUT = 10.0
"""Seconds that a search may take by default, in one output or in all outputs together."""
_END = object()


class Patience:
    """The time that is left for a search; several searches may share it."""

    def __init__(self, seconds: float | None = TIMEOUT) -> None:
        if seconds is not None and not seconds > 0:
            raise BadInput("A search needs some time: give `timeout` in seconds, or None for no limit.")
        self.seconds = seconds
        self._spent = 0.0

    def timed(self, work: Callable[P, T]) -> Callable[P, T]:
        """The same work, its time counted; it is not begun any more if the time is up."""
        if self.seconds is None:
            return work
        clock = time.monotonic

        def counted(*args: P.args, **kwargs: P.kwargs) -> T:
            self._check()
            begun = clock()
            done = work(*args, **kwargs)
            self._spent += clock() - begun
            return done

        return counted

    def over(self, steps: Iterator[T]) -> Iterator[T]:
        """The same steps, the time that each takes to come counted."""
        coming = self.timed(lambda: next(steps, _END))
        while (step := coming()) is not _END:
            yield step  # type: ignore[misc]  # the end is no step

    def _check(self) -> None:
        if self.seconds is not None and self._spent > self.seconds:
            raise TooSlow(
                f"The search took longer than {self.seconds:g} s and was stopped. "
                "Search for a simpler pattern, or in one output only."
            )
