"""What a filter is, and how several of them shape one output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fanfold.core.edit import REF
from fanfold.core.errors import BadInput
from fanfold.core.plan import name_of
from fanfold.text.cutting import bytes_of, short

Filter = Callable[[str, str, Mapping[str, Any]], str | None]
"""From an output's text, its tool's name and arguments to what is shown instead; None: leave it as it is.

What it returns is all that models ever get of the output, unless the filter only `shortens`. `{ref}` in what it returns
becomes the output's reference.
"""

P = TypeVar("P", bound=Filter)
_NOT_SHORTER = "what it returned is not shorter, so it was left out"


def shortens(one: P) -> P:
    """Say of a filter that it only shortens: its text must be smaller, and models may look up the rest."""
    one.shortens = True  # type: ignore[attr-defined]
    return one


def is_shortening(one: Filter) -> bool:
    """Whether a filter only shortens, so that models may look up what it leaves out."""
    return bool(getattr(one, "shortens", False))


class FilterFailure(msgspec.Struct, frozen=True):
    """A filter that failed."""

    name: str
    error: str
    """What went wrong; it may quote the output."""
    kind: str
    """The name of the error."""

    def __str__(self) -> str:
        return f"{self.name} failed: {self.kind}"


class Shaped(msgspec.Struct, frozen=True):
    """What filters made of an output."""

    text: str | None = None
    """What is shown of it; None if no filter fired."""
    by: str = ""
    """The filters that decided it."""
    failed: tuple[FilterFailure, ...] = ()
    """Those that failed; it is shaped as if they were not there."""
    told: str | None = None
    """What the caller's own filters left of it, which is all that models ever get; None if they left it whole."""
    told_by: str = ""
    """The filters that decided that."""

    @property
    def why(self) -> str:
        """The filters that decided it, and those that failed."""
        return "; ".join(filter(None, (self.by, *map(str, self.failed))))


def apply_filters(
    text: str, tool: str, arguments: Mapping[str, Any], filters: Sequence[Filter], ref: str
) -> Shaped | None:
    """Run all filters in order, each on the text that the last one left. None if none changed anything or failed.

    The text of a filter that only shortens is used only if it is smaller.
    """
    own, shown, told = REF, text, None
    if REF in text:
        own = _unlike(text)
        shown = text.replace(REF, own)
    by, told_by, failed = list[str](), "", list[FilterFailure]()
    shortened = False
    for one in filters:
        try:
            new = one(shown, tool, arguments)
            if new is not None and not isinstance(new, str):
                raise BadInput(f"it returns a text or None, not {type(new).__name__}")
        except Exception as error:  # whatever a filter does, the output is kept
            failed.append(FilterFailure(name_of(one), short(str(error), 200), type(error).__name__))
            continue
        if new is None and not shortened:
            continue
        if is_shortening(one):
            if new is None:
                continue
            if bytes_of(new.replace(REF, ref)) >= bytes_of(shown.replace(REF, ref)):
                # Our own filters often find that a note would be longer than what it stands for: no failure.
                if not str(getattr(one, "__module__", "")).startswith("fanfold."):
                    failed.append(FilterFailure(name_of(one), _NOT_SHORTER, "NotShorter"))
                continue
            shortened = True
        elif new == shown and not shortened:
            continue
        new = shown if new is None else new
        by += [name_of(one)] if new != shown else []
        shown = new
        if not is_shortening(
            one
        ):  # behind one that shortened, it saw no more than this, so models get no more
            told, told_by = shown, ", ".join(by)

    if not (by or failed):
        return None

    def final(text: str | None) -> str | None:
        return None if text is None else text.replace(REF, ref).replace(own, REF)

    text_shown = final(shown) if by else None
    return Shaped(text_shown, by=", ".join(by), failed=tuple(failed), told=final(told), told_by=told_by)


def _unlike(text: str) -> str:
    """Something that stands for `{ref}` where the output itself contains it: as long, and nowhere else in it."""
    names = (f"{{{a}{b}{c}}}" for a in "rRxy" for b in "eEuv" for c in "FGHI")
    return next((name for name in names if name not in text), REF.upper())
