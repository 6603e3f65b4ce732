"""How long a search may take. The time that a caller spends on the hits is not counted."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from fanfold.errors import BadInput, TooSlow

T = TypeVar("T")
TIMEOUT = 10.0
"""Seconds that a search may take by default, in one output or in all outputs together."""
_AT_ONCE = 1_000
"""Hits that are found at once where a block has many."""
_END = object()


class Patience:
    """The time that is left for a search; several searches may share it."""

    def __init__(self, seconds: float | None = TIMEOUT) -> None:
        if seconds is not None and not seconds > 0:
            raise BadInput("A search needs some time: give `timeout` in seconds, or None for no limit.")
        self.seconds = seconds
        self._spent = 0.0

    def over(self, steps: Iterator[T]) -> Iterator[T]:
        """The same steps; `TooSlow` after the one with which the time is up."""
        while True:
            begun = time.monotonic()
            step = next(steps, _END)
            self._spent += time.monotonic() - begun
            if step is _END:
                return
            yield step  # type: ignore[misc]  # the end is no step
            if self.seconds is not None and self._spent > self.seconds:
                raise TooSlow(
                    f"The search took longer than {self.seconds:g} s and was stopped. "
                    "Search for a simpler pattern, or in one output only."
                )


def batches(hits: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """Hits in tuples of bounded size; the last tuple is empty, so that a search without hits has a step too."""
    rest = iter(hits)
    while batch := tuple(islice(rest, _AT_ONCE)):
        yield batch
    yield ()
