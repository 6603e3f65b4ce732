"""Files beside a store that no more people can read than the store."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_PRIVATE = 0o600


def open_private(path: str, flags: int) -> int:
    """Open a file that its owner alone can read if it is new."""
    return os.open(path, flags, _PRIVATE)


def make_private(path: Path, *, like: Path | None = None) -> None:
    """Take a file from everybody but its owner, or but those who can read the file that it is to be `like`.

    Earlier releases let others read such files. A device stays as it is.
    """
    with suppress(OSError):  # somebody else's file, or none
        wanted = _PRIVATE
        if like is not None:
            with suppress(OSError):
                wanted = stat.S_IMODE(os.stat(like).st_mode)
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) & ~wanted:
            os.chmod(path, stat.S_IMODE(mode) & wanted)
