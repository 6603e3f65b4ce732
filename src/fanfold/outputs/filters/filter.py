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


class _Shaping:
    """A text on its way through the filters; `{ref}` stands for the reference."""

    def __init__(self, text: str, ref: str) -> None:
        self.shown, self.ref = text, ref
        self.told: str | None = None
        self.by: list[str] = []
        self.told_by: tuple[str, ...] = ()
        self.failed: list[FilterFailure] = []
        self._shortened = False

    def take(self, one: Filter, tool: str, arguments: Mapping[str, Any]) -> None:
        """Let one filter see what those before it left."""
        try:
            new = one(self.shown, tool, arguments)
            if new is not None and not isinstance(new, str):
                raise BadInput(f"it returns a text or None, not {type(new).__name__}")
        except Exception as error:  # whatever a filter does, the output is kept
            self._fail(one, short(str(error), 200), type(error).__name__)
            return
        if not is_shortening(one):
            # Behind a filter that shortened the output, a caller's filter saw no more than this.
            if self._shortened or new not in (None, self.shown):
                self._change(one, self.shown if new is None else new)
        elif new is not None and self._size(new) < self._size(self.shown):
            self._change(one, new, told=False)
            self._shortened = True
        elif new is not None and not str(getattr(one, "__module__", "")).startswith("fanfold."):
            # Our own filters often find that a note would be longer than what it stands for; that is no failure.
            self._fail(one, "what it returned is not shorter, so it was left out", "NotShorter")

    def _change(self, one: Filter, new: str, *, told: bool = True) -> None:
        if new != self.shown:
            self.by.append(name_of(one))
        self.shown = new
        if told:
            self.told, self.told_by = new, tuple(self.by)

    def _size(self, text: str) -> int:
        return bytes_of(text.replace(REF, self.ref))

    def _fail(self, one: Filter, error: str, kind: str) -> None:
        self.failed.append(FilterFailure(name_of(one), error, kind))


def apply_filters(
    text: str, tool: str, arguments: Mapping[str, Any], filters: Sequence[Filter], ref: str
) -> Shaped | None:
    """The text after all filters, in order, each seeing what the one before left; None if none fired or failed.

    What a filter that only shortens returns is used only where it is smaller.
    """
    own = _unlike(text) if REF in text else REF
    shaping = _Shaping(text.replace(REF, own), ref)
    for one in filters:
        shaping.take(one, tool, arguments)
    if not (shaping.by or shaping.failed):
        return None

    def final(text: str | None) -> str | None:
        return None if text is None else text.replace(REF, ref).replace(own, REF)

    return Shaped(
        text=final(shaping.shown) if shaping.by else None,
        by=", ".join(shaping.by),
        failed=tuple(shaping.failed),
        told=final(shaping.told),
        told_by=", ".join(shaping.told_by),
    )


def _unlike(text: str) -> str:
    """Something that stands for `{ref}` where the output itself contains it: as long, and nowhere else in it."""
    names = (f"{{{a}{b}{c}}}" for a in "rRxy" for b in "eEuv" for c in "FGHI")
    return next((name for name in names if name not in text), REF.upper())
