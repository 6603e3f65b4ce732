"""Files that a command reads and writes: whole or not at all."""

from __future__ import annotations

import errno
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
    if target.exists() and not target.is_file():  # a device or a pipe: its name must not become a file's
        with target.open("wb") as there:
            yield there
        return
    with _beside(target) as (file, place):
        yield file
        file.flush()
        os.fsync(file.fileno())
        file.close()
        _as_usual(Path(file.name), place)
        os.replace(file.name, place)


@contextmanager
def _beside(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the folder of the target, and the target itself where it is a link; gone at the end."""
    place = target.resolve()
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  it is closed below
            dir=place.parent, prefix=".fanfold-", delete=False
        )
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    try:
        with file:
            yield cast("BinaryIO", file), place
    finally:
        with suppress(FileNotFoundError):
            os.unlink(file.name)


def _as_usual(file: Path, target: Path) -> None:
    """Give a temporary file the rights that a new one would have, or those of the file it replaces."""
    mask = os.umask(0)
    os.umask(mask)
    file.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
