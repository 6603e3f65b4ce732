"""What a command prints: text for people, JSON for programs, and how far a long one is."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import click

from fanfold.text.json_text import print_json
from fanfold.text.lines import columns_of, cut_to, padded
from fanfold.text.lines import many as many  # every command says a number of things

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
"""Every command has it."""


def say(value: Any, text: str, as_json: bool, *, beside: bool = False) -> None:
    """Print a value: as JSON if asked, else the text that says the same; what is `beside` the result, on stderr."""
    said = print_json(value) if as_json else text.encode("utf-8", "replace").decode()
    if said:
        click.echo(said, err=beside)


_EMPTY = ("", "–")
"""Cells without a figure."""


def columns(
    rows: Sequence[Sequence[Any]],
    right: Sequence[int] = (),
    *,
    wanted: Sequence[int] = (),
    heads: Sequence[str] = (),
) -> str:
    """Rows in columns that line up; those numbered in `right` to the right. The first row is their `heads`, by default.

    On a terminal that is too narrow for all, columns are left out and named in a last line: first those that are
    empty, then those that are not in `wanted`, the last one first. The first column always stays; it takes no more
    than half of the room then.
    """
    cells, room = [[_cell(value) for value in row] for row in rows], terminal_width()
    cut = room is not None and _cut_names(cells, room)
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)] if cells else []
    order = [*wanted, *(i for i in range(len(widths)) if i not in wanted)]
    shown = _fitting(widths, sorted(order, key=lambda i: all(row[i] in _EMPTY for row in cells[1:])))
    lines = []
    for row in cells:
        aligned = [row[i].rjust(widths[i]) if i in right else padded(row[i], widths[i]) for i in shown]
        lines.append("  ".join(aligned).rstrip())
    left_out = ["the ends of long names"] * cut
    left_out += [(heads or cells[0])[i] for i in range(len(widths)) if i not in shown]
    return "\n".join([*lines, *_say_left_out(left_out)])


def _cut_names(cells: list[list[str]], room: int) -> bool:
    """Cut what is long in the first column of a table that does not fit; whether anything was."""
    widest = sum(max(map(columns_of, column)) + 2 for column in zip(*cells, strict=True)) - 2
    long = [row for row in cells if columns_of(row[0]) > room // 2 and widest > room]
    for row in long:
        row[0] = cut_to(row[0], room // 2)
    return bool(long)


def _fitting(widths: Sequence[int], order: Sequence[int]) -> list[int]:
    """The columns that fit the terminal, as they stand in the table; all of them where nobody looks at a terminal."""
    room = terminal_width()
    shown = [0][: len(widths)]
    for i in order if room is not None else ():
        if i not in shown and sum(widths[one] + 2 for one in (*shown, i)) - 2 <= (room or 0):
            shown.append(i)
    return sorted(shown) if room is not None else list(range(len(widths)))


def terminal_width() -> int | None:
    """How wide the terminal is, between 60 and 200; None where the output goes elsewhere."""
    if not sys.stdout.isatty():
        return None
    return min(200, max(60, shutil.get_terminal_size().columns))


def _say_left_out(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    text = (
        f"Left out, because the terminal is narrow: {', '.join(names)}. A wider terminal or --json has them."
    )
    return textwrap.wrap(text, terminal_width() or 200)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


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
