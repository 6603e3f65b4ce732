"""Names that nobody knows, and the nearest that somebody does."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that is spelled most like this one, or begins with it, if any does."""
    from difflib import get_close_matches  # late: only mistakes need it

    listed = list(known)
    begun = [one for one in listed if len(name) > 2 and one.startswith(name)]
    return next(iter((*get_close_matches(name, listed, 1, likeness), *begun)), None)
