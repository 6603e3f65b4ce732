"""What a pass is, and how several work together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from fanfold.errors import BadInput
from fanfold.plan import name_of
from fanfold.refs import REF

Pass = Callable[[str, str, Mapping[str, Any]], str | None]
"""From an output's text, its tool's name and arguments to what is shown instead; None: leave it as it is.

`{ref}` in what it gives back becomes the output's reference.
"""


class Shaped(msgspec.Struct, frozen=True):
    """What is shown of an output, and which passes decided it."""

    text: str
    by: str


def shaped(
    text: str, tool: str, arguments: Mapping[str, Any], passes: Sequence[Pass], ref: str
) -> Shaped | None:
    """The text after all passes, in order, each seeing what the one before left; None if none fired.

    A pass whose text is not smaller is not applied.
    """
    own = _unlike(text)
    shown, by = text.replace(REF, own), []
    for one in passes:
        new = _passed(one, shown, tool, arguments)
        if new is not None and _size(new.replace(REF, ref)) < _size(shown.replace(REF, ref)):
            shown = new
            by.append(name_of(one))
    return Shaped(shown.replace(REF, ref).replace(own, REF), ", ".join(by)) if by else None


def _passed(one: Pass, text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """What a pass makes of a text; a stranger's that fails is named."""
    try:
        new = one(text, tool, arguments)
    except Exception as error:
        raise BadInput(
            f"The pass {name_of(one)!r} failed at {tool!r}: {type(error).__name__}: {error}."
        ) from error
    if new is not None and not isinstance(new, str):
        raise BadInput(f"The pass {name_of(one)!r} gives back a text or None, not {type(new).__name__}.")
    return new


def _unlike(text: str) -> str:
    """Something that stands for `{ref}` where the output itself contains it: as long, and nowhere else in it."""
    if REF not in text:
        return REF.upper()
    names = (f"{{{a}{b}{c}}}" for a in "rRxy" for b in "eEuv" for c in "FGHI")
    return next((name for name in names if name not in text), REF.upper())


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
