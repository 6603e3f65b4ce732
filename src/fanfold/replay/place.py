"""Where traces lie: files, those in folders, and those that a pattern of names stands for."""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import msgspec

from fanfold.core.errors import BadInput
from fanfold.transcripts.files import name_of, walk


class Place(msgspec.Struct, frozen=True):
    """A file, the folder of a store, or an open file."""

    origin: Any
    size: int | None = None
    """Its bytes, where they can be known before it is read."""
    passable: bool = False
    """Whether it is no mistake if no transcript is in it: other files lie in a folder, too."""

    @property
    def is_folder(self) -> bool:
        """Whether it is the folder of a store."""
        return isinstance(self.origin, str | os.PathLike) and os.path.isdir(self.origin)

    @property
    def name(self) -> str:
        """What to call it."""
        return name_of(self.origin)


def places(origins: Any) -> list[Place]:
    """All places, each once, however often and by whatever name it was given; one origin need not be a list."""
    listed = [origins] if isinstance(origins, str | os.PathLike) or hasattr(origins, "read") else origins
    found: dict[Hashable, Place] = {}
    for place in (place for origin in listed for one in matches(origin) for place in _within(one)):
        found.setdefault(_identity(place.origin), place)
    return list(found.values())


def matches(origin: Any) -> Iterable[Any]:
    """What a pattern such as `runs/**/*.jsonl` stands for; anything else stands for itself."""
    if not isinstance(origin, str | os.PathLike) or os.path.exists(origin) or not has_magic(str(origin)):
        return [origin]
    found = sorted(glob(str(origin), recursive=True))
    if not found:
        raise BadInput(f"{origin}: no file fits this pattern.")
    return found


def _within(origin: Any) -> Iterator[Place]:
    """The files of a folder; anything else is a place itself."""
    if origin == "-" or not isinstance(origin, str | os.PathLike):
        yield Place(origin)
    elif os.path.isdir(origin):
        yield from (Place(path, _size(path), passable=True) for path in walk(Path(origin)))
    else:
        yield Place(origin, _size(origin))


def _size(path: Any) -> int | None:
    try:
        there = os.stat(path)
    except (OSError, ValueError):
        return 0  # it cannot be read, which takes no time
    if stat.S_ISDIR(there.st_mode):
        return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
    return there.st_size if stat.S_ISREG(there.st_mode) else None


def _identity(origin: Any) -> Hashable:
    """What two names of one file have in common."""
    if not isinstance(origin, str | os.PathLike):
        return id(origin)
    try:
        there = os.stat(origin)
    except (OSError, ValueError):
        return os.fspath(origin)
    return there.st_dev, there.st_ino
