"""Files that a command reads and writes: whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import click

FILE = click.Path(path_type=Path, dir_okay=False)


@contextmanager
def written(target: Path | None) -> Iterator[BinaryIO]:
    """A file that appears under its name when everything was written to it; None is standard output."""
    if target is None or str(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    folder = target.parent
    file = tempfile.NamedTemporaryFile(  # noqa: SIM115  it is given its name below, or removed
        dir=folder, prefix=f".{target.name}.", delete=False
    )
    try:
        with file:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        _as_usual(Path(file.name), target)
        os.replace(file.name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(file.name)
        raise


def _as_usual(file: Path, target: Path) -> None:
    """Give a temporary file the rights that a new one would have, or those of the file it replaces."""
    mask = os.umask(0)
    os.umask(mask)
    file.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
