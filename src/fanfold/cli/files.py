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
def atomic_file(target: Path | None, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file that appears under its name when everything was written to it; None is standard output.

    A private one can be read by its owner only, from the first byte on, whatever stood there before.
    """
    if target is None or str(target) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if target.exists() and not target.is_file():  # a device or a pipe: its name must not become a file's
        with target.open("wb") as there:
            yield there
        return
    with _beside(target, private) as (file, place):
        yield file
        file.flush()
        os.fsync(file.fileno())
        file.close()
        os.replace(file.name, place)


@contextmanager
def _beside(target: Path, private: bool) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in the folder of the target, and the target itself where it is a link; gone at the end."""
    place = target.resolve()
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    # Its name is known before it is there, so that no interrupt leaves it behind.
    made = place.with_name(f".fanfold-{secrets.token_hex(8)}")
    try:
        with _open_new(made, target, 0o600 if private else 0o666) as file:
            if place.exists() and not private:
                made.chmod(place.stat().st_mode & 0o777)
            yield file, place
    finally:
        made.unlink(missing_ok=True)


def _open_new(made: Path, target: Path, rights: int) -> BinaryIO:
    """The new file, with no more than these rights; errors name the one that was asked for."""
    try:
        return open(made, "xb", opener=lambda path, flags: os.open(path, flags, rights))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
