"""What a pass is, and how several work together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fanfold.cutting import bytes_of
from fanfold.errors import BadInput
from fanfold.excerpt import short
from fanfold.plan import name_of
from fanfold.refs import REF

Pass = Callable[[str, str, Mapping[str, Any]], str | None]
"""From an output's text, its tool's name and arguments to what is shown instead; None: leave it as it is.

`{ref}` in what it gives back becomes the output's reference.
"""


class Failure(msgspec.Struct, frozen=True):
    """A pass that failed."""

    name: str
    error: str
    """What went wrong; it may quote the output."""
    kind: str
    """The name of the error."""

    def __str__(self) -> str:
        return f"{self.name} failed: {self.kind}"


class Shaped(msgspec.Struct, frozen=True):
    """What passes made of an output."""

    text: str | None = None
    """What is shown of it; None if no pass fired."""
    by: str = ""
    """The passes that decided it."""
    failed: tuple[Failure, ...] = ()
    """Those that failed; it is shaped as if they were not there."""

    @property
    def why(self) -> str:
        """The passes that decided it, and those that failed."""
        return "; ".join(filter(None, (self.by, *map(str, self.failed))))


def shaped(
    text: str, tool: str, arguments: Mapping[str, Any], passes: Sequence[Pass], ref: str
) -> Shaped | None:
    """The text after all passes, in order, each seeing what the one before left; None if none fired or failed.

    A pass whose text is not smaller is not applied.
    """
    own = _unlike(text) if REF in text else REF
    shown, by, failed = text.replace(REF, own), [], []
    for one in passes:
        try:
            new = _passed(one, shown, tool, arguments)
        except Exception as error:  # whatever a pass does, the output is kept
            failed.append(Failure(name_of(one), short(str(error), 200), type(error).__name__))
            continue
        if new is not None and bytes_of(new.replace(REF, ref)) < bytes_of(shown.replace(REF, ref)):
            shown = new
            by.append(name_of(one))
    if not by:
        return Shaped(failed=tuple(failed)) if failed else None
    return Shaped(shown.replace(REF, ref).replace(own, REF), ", ".join(by), tuple(failed))


def _passed(one: Pass, text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """What a pass makes of a text; a stranger's may give back anything."""
    new = one(text, tool, arguments)
    if new is not None and not isinstance(new, str):
        raise BadInput(f"it gives back a text or None, not {type(new).__name__}")
    return new


def _unlike(text: str) -> str:
    """Something that stands for `{ref}` where the output itself contains it: as long, and nowhere else in it."""
    names = (f"{{{a}{b}{c}}}" for a in "rRxy" for b in "eEuv" for c in "FGHI")
    return next((name for name in names if name not in text), REF.upper())
