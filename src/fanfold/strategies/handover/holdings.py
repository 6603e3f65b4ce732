"""Holdings: the outputs that a digest hides, each in a line that says what it is, with the names that stand in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fanfold.core.errors import BadArguments
from fanfold.core.message import Call
from fanfold.text.cutting import short
from fanfold.text.identifiers import BETWEEN
from fanfold.text.patterns import pattern

_LABEL = 24
"""Characters that say what an output is: what its tool was asked."""
_LINE = pattern(
    r"(?:in (?P<ref>[a-z]\d+): |(?P<held>[a-z]\d+) (?P<what>.*) \((?P<kilo>[\d.]+)k\)(?:: |$))(?P<names>.*)"
)
_UNMARKED = str.maketrans("()|\n", "    ")


class Holding(msgspec.Struct, frozen=True):
    """An output that can be looked up."""

    ref: str
    what: str
    size: int
    """Characters, in hundreds."""

    def __str__(self) -> str:
        return f"{self.ref} {self.what} ({self.size / 10:.1f}k)"


def holding(ref: str, call: Call | None, size: int) -> Holding:
    """What is written down of an output of so many characters."""
    return Holding(ref, _asked(call), -(-size // 100))


def _asked(call: Call | None) -> str:
    if call is None:
        return "?"
    try:
        said = " ".join(str(value) for value in call.args.values()) or call.name
    except BadArguments:
        said = call.raw
    return short(" ".join(said[: 8 * _LABEL].translate(_UNMARKED).split()), _LABEL) or call.name


def bare(name: str) -> str:
    """A name without the reference behind it."""
    return name.partition(" (")[0]


def shelved(names: Iterable[str], holdings: Sequence[Holding]) -> Iterator[str]:
    """A line for the names that stand nowhere in particular, and one for each output."""
    groups: dict[str, list[str]] = {}
    for name in names:
        plain, _, ref = name.rstrip(")").partition(" (")
        groups.setdefault(ref, []).append(plain)
    heads = {one.ref: str(one) for one in holdings}
    for ref in (*groups, *(one.ref for one in holdings if one.ref not in groups)):
        head = heads.get(ref, f"in {ref}" if ref else "")
        yield ": ".join(filter(None, (head, BETWEEN.join(groups.get(ref, ())))))


def read(line: str) -> tuple[list[str], Holding | None]:
    """The names of one such line, each with its reference behind it, and the output that it tells of."""
    found = _LINE.fullmatch(line)
    if found is None:
        return line.split(BETWEEN), None
    ref = found["ref"] or found["held"]
    names = [f"{name} ({ref})" for name in found["names"].split(BETWEEN) if name]
    held = Holding(ref, found["what"], round(float(found["kilo"]) * 10)) if found["held"] else None
    return names, held
