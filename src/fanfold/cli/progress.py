"""How far a long command is: one line on standard error, and only where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def progress(first: str) -> Iterator[Callable[[str], object]]:
    """A line that shows that something is going on; what is yielded changes its words. It is gone in the end."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console  # late: only people look

    with Console(stderr=True).status(first) as line:
        yield line.update


def counted(things: Iterable[T], what: str) -> Iterator[T]:
    """The same things; the line says how many there were so far."""
    with progress(f"reading {what} …") as say:
        for number, thing in enumerate(things, 1):
            say(f"{number:,} {what} …")
            yield thing
