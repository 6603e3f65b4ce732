"""What a command prints: text for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
"""Every command has it."""


def say(value: Any, text: str, as_json: bool, *, beside: bool = False) -> None:
    """Print a value: as JSON if asked, else the text that says the same; what is `beside` the result, on stderr."""
    said = _json(value) if as_json else text.encode("utf-8", "replace").decode()
    if said:
        click.echo(said, err=beside)


def _json(value: Any) -> str:
    from fanfold.dialects.weigh import sendable  # late: only for JSON

    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=str)
    return msgspec.json.format(msgspec.json.encode(sendable(plain)), indent=2).decode()


def many(number: int, noun: str) -> str:
    """A number of things: `1 row`, `2 rows`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def columns(rows: Sequence[Sequence[Any]], right: Sequence[int] = ()) -> str:
    """Rows in columns that line up; those numbered in `right` to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
