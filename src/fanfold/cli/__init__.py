"""The command line: `fanfold`, one module per group of commands, each imported when it is called."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.cli.streams import leave_when_told


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    from fanfold.cli.app import run  # late: click is imported only for people

    if arguments is None:  # the process is this command, and nothing else
        leave_when_told()
    return run(arguments)
