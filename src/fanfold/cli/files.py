"""Files that a command reads and writes: whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

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
        os.replace(file.name, place)


@contextmanager
def _beside(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the folder of the target, and the target itself where it is a link; gone at the end."""
    place = target.resolve()
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    made = place.with_name(
        f".fanfold-{secrets.token_hex(8)}"
    )  # known before it is there: no interrupt leaves it
    try:
        with _opened(made, target) as file:
            if place.exists():
                made.chmod(place.stat().st_mode & 0o777)
            yield file, place
    finally:
        made.unlink(missing_ok=True)


def _opened(made: Path, target: Path) -> BinaryIO:
    """The new file; errors name the one that was asked for."""
    try:
        return made.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
