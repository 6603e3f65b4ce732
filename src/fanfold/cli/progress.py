"""How far a long command is: one line on standard error, and only where somebody looks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")


class Say(Protocol):
    """Change the words, and how far the bar is: a share of all, or None if nobody knows how much there is."""

    def __call__(self, text: str, part: float | None = None) -> object: ...


@contextmanager
def progress(first: str) -> Iterator[Say]:
    """A line with a bar; what is yielded moves it and changes its words. It is gone in the end."""
    if not sys.stderr.isatty():
        yield lambda text, part=None: None
        return
    from rich.console import Console  # late: only people look
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    parts = (BarColumn(), TaskProgressColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*parts, console=Console(stderr=True), transient=True) as line:
        task = line.add_task(first, total=None)

        def say(text: str, part: float | None = None) -> None:
            line.update(task, description=text, completed=part, total=None if part is None else 1.0)

        yield say


def show_count(things: Iterable[T], what: str) -> Iterator[T]:
    """The same things; the line says how many there were so far."""
    with progress(f"reading {what} …") as say:
        for number, thing in enumerate(things, 1):
            say(f"{number:,} {what} …")
            yield thing
