"""What an integration needs of its framework: a missing package or a wrong version is named, with the right one."""

from __future__ import annotations

import re
from importlib import metadata

from fanfold.core.errors import MissingExtra


def require(package: str, least: str, extra: str) -> None:
    """Raise `MissingExtra` unless a package is installed in a version that this integration works with."""
    wanted = f"{package} {least} or later"
    try:
        there = metadata.version(package)
    except metadata.PackageNotFoundError:
        raise MissingExtra(
            f"fanfold[{extra}] needs {wanted}, which is not installed: pip install 'fanfold[{extra}]'"
        ) from None
    if _parts(there) < _parts(least):
        raise MissingExtra(
            f"fanfold[{extra}] needs {wanted}; {there} is installed: pip install 'fanfold[{extra}]'"
        )


def _parts(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with: 1.2.3rc1 is 1, 2, 3."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, leading[0].split("."))) if leading else ()
