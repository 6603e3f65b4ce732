"""Names: what a later call may need verbatim (addresses, paths, hashes, ids, long numbers), the likeliest first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, groupby, islice
from math import log1p
from typing import NamedTuple

import msgspec

from fanfold.core.message import Call, Part, text_of
from fanfold.core.view import Row, View
from fanfold.strategies.handover.evidence import ANSI
from fanfold.text.identifiers import (
    identifiers_counted,
    lines_of,
    weights_of,
)
from fanfold.text.patterns import pattern

_APART = bytes(one if chr(one).isalnum() or one == 10 else 32 for one in range(128)) + b" " * 128
"""Letters, digits and ends of lines as they are, and all else as spaces."""
_AGE, _WHILE = 0.75, 5
"""What it counts that a name grows old, and messages that make it so."""
_LIST, _KIN, _SAID = 0.5, 1.0, 0.5
"""What it counts that a name stood in a long list, has words of names that were used, ends in words that were said."""
_LIFT = _KIN + _SAID
_STEP, _HARD = 100.0, 1200.0
_BATCH = 256
"""Names that are ranked at a time."""
_GUESSED = pattern(
    r"^(?:[a-z]{1,6}[-_]\d{1,3}|[a-zA-Z]-[a-zA-Z].{0,8}|\d{1,4}-\d{1,4}|[a-z]{1,8}\d?-\d{1,2}(?:[-.]\d{1,2})?|"
    r"\d{4}-\d\d-\d\dT?[\d:.-]*Z?|u00[0-9a-f]{2}.*|\d+[-_][a-z]{1,7}|x86[-_]64|(?:0x)?0+|"
    r"(?P<one>\d)(?P=one)+|b/[^\n]*+|v?\d{1,2}(?:[-_]\d{1,2}){1,2}|"
    # Colours of a style sheet, and what the path of a drawing is made of.
    r"(?:text|bg|border|ring|fill|stroke|from|via|to|divide|outline|shadow|accent)-[a-z]{3,9}-\d{2,3}|"
    r"(?=[^\n]*-)(?=[^\n]*[A-Za-z])\d{1,3}+(?:-?[mlhvcsqtazMLHVCSQTAZ]{1,2}+-?\d{0,3}+|-\d{1,3}+){1,9}+|"
    # Short numbers, files without a folder, and paths of few pieces.
    r"\d{1,6}|[^/\n@.]*+\.[^/\n@]*+|/[^/\n]*+(?:/[^/\n]*+)?|[~.][^/\n]*+(?:/[^/\n]*+){1,2}|[^/~.\n][^/\n]*+/[^/\n]*+)$",
    re.MULTILINE,
)
"""Names, one a line, that anybody could write: px-3, a-z0-9, utf-8, 1-2, main.py, and b/x, which stands beside a/x."""


_ARGUMENTS = 4_000
"""Characters of the arguments of a call that are read for names."""
_KEPT = 10_000
"""Outputs and calls of which names are kept."""
_HASH = pattern(r"[0-9a-f]{32,64}")
_HASHED = 32
_DOUBT = 1.5
_PLACE = pattern(
    r"(.*[^/]/[^/]*\.[A-Za-z]\w{0,5}):\d{1,6}(?::\d{1,6})?|(.*\.[A-Za-z]\w{0,5}):\d{1,6}:\d{1,6}"
)
"""A place in a file, as compilers and stacks name it."""
_INNER = ("/.git/", "node_modules/", "site-packages/")
"""Folders in which nobody works."""


class Known(msgspec.Struct, frozen=True):
    """What is known of names besides where they stand."""

    pinned: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    """By the user."""
    used: frozenset[str] = frozenset()
    """In calls."""
    spoken: frozenset[bytes] = frozenset()
    """The words that agent and person said."""


class Sight(NamedTuple):
    """Where a name stood last."""

    age: int = 0
    """Messages that came since."""
    among: int = 1
    """Names that stood there: of a long list, few are needed."""
    times: int = 1
    """How often it stood there and before."""

    def again(self, times: int) -> Sight:
        """The same, where the name stood so often before, too."""
        return Sight(self.age, self.among, self.times + times)


_Together = tuple[float, int, list[str]]
"""Names with the same rank, and the number of the group that they stood in."""


_Read = dict[str, tuple[Part, Mapping[str, int]]]
"""The names of parts, by `entry#part`, as far as the parts are the very same."""


def guessable(*names: str) -> set[str]:
    """Those of some names that anybody could write without having seen them."""
    # One search for all, but for hashes: a session has a hundred thousand names.
    odd = [name for name in names if not name.isalnum() or name.isdigit() or name.startswith(("u00", "0x0"))]
    lines = "\n".join(odd)
    found = {line[0] for line in _GUESSED.finditer(lines)}
    for folder in _INNER:
        if folder in lines:
            found.update([name for name in odd if folder in name])
    return found


def ordered(sights: Mapping[str, Sight], known: Known, shown: Set[str] = frozenset()) -> Iterator[str]:
    """Names by rank, but for those that are shown. Who had them counts in steps that nothing else makes up for.

    Beyond that, a name ranks before others if it was seen lately, often, among few others, is made of words of names
    that were used, and ends in words that were said. Names are ranked when they are asked for: most never are.
    """
    told = {name for some in (known.pinned, known.named, known.used) for name in some if name in sights}
    wanted = sorted(
        [
            (_step(name, known) + _depth(*sights[name]), at, name)
            for at, name in enumerate(sights if told else ())
            if name in told and name not in shown
        ]
    )
    before = bisect_left(wanted, (_HARD,))
    yield from [name for _, _, name in wanted[:before]]
    yield from _others(sights, known, told | shown)
    yield from [name for _, _, name in wanted[before:]]


def _step(name: str, known: Known) -> float:
    """The rank of a name that somebody told of: pinned, named by the user, or used."""
    wanted = (name not in known.pinned) * 8 + (name not in known.named) * 4 + (name in known.used) * 2
    return (wanted + 1) * _STEP


def _others(sights: Mapping[str, Sight], known: Known, but: Set[str]) -> Iterator[str]:
    """The other names by rank.

    What a name is made of lifts it by no more than `_LIFT`. So the names seen lately are ranked first, and those that
    nothing behind them can overtake are given before the next are looked at. Names that stood together and are lifted
    alike are ranked together.
    """
    groups: dict[Sight, list[str]] = {}
    for sight, names in groupby(sights, sights.__getitem__):  # most names that stood together share one
        groups.setdefault(sight, []).extend(names)
    order = sorted([(_depth(*sight), at, names) for at, (sight, names) in enumerate(groups.items())])
    used = frozenset(words_of(" ".join(known.used)))
    ranks: list[_Together] = []
    some: list[_Together] = []
    many = 0
    for number, one in enumerate(order, 1):
        some.append(one)
        many += len(one[2])
        if many < _BATCH and number < len(order):
            continue
        ranks += _ranks(some, but, used, known.spoken)
        ranks.sort()
        some, many = [], 0
        sure = bisect_left(ranks, (order[number][0] - _LIFT,)) if number < len(order) else len(ranks)
        yield from chain.from_iterable([names for _, _, names in ranks[:sure]])
        del ranks[:sure]


def _ranks(
    some: Sequence[_Together], but: Set[str], used: frozenset[bytes], spoken: frozenset[bytes]
) -> Iterator[_Together]:
    """Names that stood together, by how deep they stand and what they are made of; none that anybody could write."""
    left = [(depth, at, [name for name in names if name not in but]) for depth, at, names in some]
    names = [name for _, _, group in left for name in group]
    easy, lifts = guessable(*names), _lifts(names, used, spoken)
    for depth, at, group in left:
        alike: dict[float, list[str]] = {}
        for name in group:
            if name not in easy:
                alike.setdefault(lifts.get(name, 0.0), []).append(name)
        for lift, together in alike.items():
            yield depth - lift, at, together


def _lifts(names: Sequence[str], used: frozenset[bytes], spoken: frozenset[bytes]) -> dict[str, float]:
    """What lifts names, or lets them sink, because of what they are made of; of most it is nothing."""
    found: dict[str, float] = {}
    # Most hashes and numbers are of one piece, which is hardly ever a word that somebody used.
    whole = {name for name in names if name.isalnum() and len(name) < _HASHED}
    text = "\n".join(whole)
    kin, said = used.intersection(words_of(text)), spoken.intersection(words_of(text.lower()))
    for name in whole if kin or said else ():
        found[name] = _KIN * (name.encode() in kin) + _SAID * (name.lower().encode() in said)
    rest = [name for name in names if name not in whole]
    endings = lines_of([name[name.rfind("/") + 1 :].lower() for name in rest], _APART)
    for name, line, ending in zip(rest, lines_of(rest, _APART), endings, strict=True):
        words, last = line.split(), ending.split()
        kinship = len(used.intersection(words)) / len(words) if words else 0.0
        close = _KIN * kinship + (_SAID * len(spoken.intersection(last)) / len(last) if last else 0.0)
        found[name] = close if kinship and len(name) < _HASHED else close - _doubt(name, kinship)
    return found


def _depth(age: int, among: int, times: int) -> float:
    """How far down a name stands because of where it was seen."""
    return _AGE * log1p(age / _WHILE) + _LIST * (log1p(among) - log1p(times))


def see(names: Mapping[str, int], sights: dict[str, Sight], age: int) -> list[str]:
    """Take in the names of a part that is older than those before; returns the ones that are new."""
    again = [] if sights.keys().isdisjoint(names) else [name for name in names if name in sights]
    for name in again:
        sights[name] = sights[name].again(names[name])
    new = [name for name in names if name not in sights] if again else list(names)
    many = len(names)
    once = Sight(age, many)
    sights.update(dict.fromkeys(new, once))
    if sum(names.values()) > many:
        sights.update([(name, Sight(age, many, names[name])) for name in new if names[name] > 1])
    return new


def _doubt(name: str, kinship: float) -> float:
    """How unlikely it is that a name is needed letter by letter: words between slashes are mostly prose, and whoever
    means a long hash writes its beginning."""
    if len(name) >= _HASHED and _HASH.fullmatch(name):
        return _DOUBT
    if not kinship and "/" in name and name[0] not in "/~." and "." not in name.rpartition("/")[2]:
        return 2 * _DOUBT
    return 0.0


def names_in(address: str, part: Part, view: View) -> Mapping[str, int]:
    """The names of a part, of a call those in its arguments, and how often each of them stands there; read once."""
    known: _Read = view.memory.setdefault("names", {})
    found = known.get(address)
    if found is None or found[0] is not part:
        found = known[address] = (
            part,
            _names(part.raw[:_ARGUMENTS] if isinstance(part, Call) else text_of(part)),
        )
        if len(known) > _KEPT:
            del known[next(iter(known))]
    return found[1]


def names_shown(rows: Iterable[Row], view: View, but: Set[str] = frozenset()) -> frozenset[str]:
    """The names that some rows show. `but` are addresses of parts that do not count."""
    known: _Read = view.memory.get("shown", {})
    shown: _Read = {}
    found: list[Mapping[str, int]] = []
    for row in rows:
        parts = (part for message in row.messages for part in message.parts)
        for number, part in enumerate(parts):
            address = f"{row.id}#{number}"
            if address in but:
                continue
            if row.was is None and not (isinstance(part, Call) and len(part.raw) > _ARGUMENTS):
                found.append(names_in(address, part, view))
                continue
            # What is shown is not what was recorded, or more than is read of it otherwise.
            one = known.get(address)
            if one is None or one[0] is not part:
                one = part, _names(text_of(part))
            shown[address] = one
            found.append(one[1])
    view.memory["shown"] = shown
    return frozenset().union(*found)


def _names(text: str) -> Mapping[str, int]:
    found = identifiers_counted(ANSI.sub("", text) if "\x1b" in text else text)
    if not any(":" in name for name in found):
        return found
    names: dict[str, int] = {}
    for name, times in found.items():
        place = _PLACE.fullmatch(name) if ":" in name else None
        file = (place[1] or place[2]) if place else name
        names[file] = names.get(file, 0) + times
    return names


def chosen(names: Iterator[str], tokens: float) -> list[str]:
    """The first of these names, as many as fit into so many tokens."""
    found: list[str] = []
    folders: set[str] = set()
    while some := list(islice(names, _BATCH)):
        for name, weight in zip(some, weights_of(some), strict=True):
            if name in folders:
                continue
            tokens -= weight
            if tokens < 0:
                return found
            found.append(name)
            add_folders(name, folders)
    return found


def add_folders(path: str, folders: set[str]) -> None:
    """Add the folders that a path tells of; where one is known, those above it are, too."""
    at = path.rfind("/")
    while at > 0 and path[:at] not in folders:
        folders.add(path[:at])
        at = path.rfind("/", 0, at)


def words_of(text: str) -> list[bytes]:
    """The words that names are made of."""
    return text.encode("utf-8", "replace").translate(_APART).split()
