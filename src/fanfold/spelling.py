"""Names that nobody knows, and the nearest that somebody does."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.errors import BadSetting


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that is spelled most like this one, or begins with it, if any does."""
    from difflib import get_close_matches  # late: only mistakes need it

    listed = list(known)
    begun = [one for one in listed if len(name) > 2 and one.startswith(name)]
    return next(iter((*get_close_matches(name, listed, 1, likeness), *begun)), None)


def unknown(what: str, name: str, known: Iterable[str]) -> BadSetting:
    """The error for a name that nobody knows."""
    listed = list(known)
    near = nearest(name, listed)
    meant = f" Did you mean {near!r}?" if near else ""
    return BadSetting(
        f"There is no {what} {name!r}.{meant} Known are: {', '.join(listed) or 'none'}.", key=name
    )
