"""Names: what a later call may need verbatim (addresses, paths, hashes, ids, long numbers), the likeliest first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from math import inf, log1p
from typing import NamedTuple

import msgspec

from fanfold.core.message import Call, Part, Result, Text, text_of
from fanfold.core.view import Row, View
from fanfold.strategies.handover.evidence import ANSI
from fanfold.text.identifiers import (
    MOST_READ,
    identifiers_counted,
    lines_of,
    may_hold_names,
    names_among,
    weights_of,
)
from fanfold.text.patterns import pattern

_APART = bytes(one if chr(one).isalnum() or one == 10 else 32 for one in range(128)) + b" " * 128
"""Letters, digits and ends of lines as they are, and all else as spaces."""
_QUOTES = b"\"'`(){}[],;|<>\n"
_AROUND = bytes.maketrans(_QUOTES, b" " * len(_QUOTES))
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
    r"(?P<one>\d)(?P=one)+|v?\d{1,2}(?:[-_]\d{1,2}){1,2}|"
    # Short numbers, files without a folder, and paths of few pieces.
    r"\d{1,6}|[^/\n@.]*+\.[^/\n@]*+|/[^/\n]*+(?:/[^/\n]*+)?|[~.][^/\n]*+(?:/[^/\n]*+){1,2}|[^/~.\n][^/\n]*+/[^/\n]*+)$",
    re.MULTILINE,
)
"""Names, one a line, that anybody could write: px-3, a-z0-9, utf-8, 1-2, main.py."""


_ARGUMENTS = 4_000
"""Characters of the arguments of a call that are read for names."""
_KEPT = 10_000
"""Outputs and calls of which names are kept."""
_HASH = pattern(r"[0-9a-f]{32,64}")
_HASHED = 32
_DOUBT = 1.5
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


class Spelled(msgspec.Struct, frozen=True, gc=False):
    """What a part that is in view spells out."""

    part: Part
    spelling: str
    """Its words in which names may stand."""
    words: frozenset[str]
    """The same, without what stands around them."""


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


def ordered(sights: Mapping[str, Sight], known: Known) -> Iterator[str]:
    """Names by rank. Who had them counts in steps that nothing else makes up for.

    Beyond that, a name ranks before others if it was seen lately, often, among few others, is made of words of names
    that were used, and ends in words that were said. Names are ranked when they are asked for: most never are.
    """
    told = (known.pinned | known.named | known.used).intersection(sights)
    wanted = sorted(
        [
            (_step(name, known) + _depth(*sights[name]), at, name)
            for at, name in enumerate(sights)
            if name in told
        ]
    )
    before = bisect_left(wanted, (_HARD,))
    yield from [name for _, _, name in wanted[:before]]
    yield from _others(sights, known, told)
    yield from [name for _, _, name in wanted[before:]]


def _step(name: str, known: Known) -> float:
    """The rank of a name that somebody told of: pinned, named by the user, or used."""
    wanted = (name not in known.pinned) * 8 + (name not in known.named) * 4 + (name in known.used) * 2
    return (wanted + 1) * _STEP


def _others(sights: Mapping[str, Sight], known: Known, told: Set[str]) -> Iterator[str]:
    """The names by rank that nobody told of.

    What a name is made of lifts it by no more than `_LIFT`. So the names seen lately are ranked first, and those that
    nothing behind them can overtake are given before the next are looked at.
    """
    groups: dict[Sight, list[tuple[int, str]]] = {}
    last, group = None, list[tuple[int, str]]()
    for place, (name, sight) in enumerate(sights.items()):
        if sight is not last:  # names that stood together share one
            last, group = sight, groups.setdefault(sight, [])
        group.append((place, name))
    order = sorted([(_depth(*sight), sight) for sight in groups])
    used = frozenset(words_of(" ".join(known.used)))
    ranks: list[tuple[float, int, str]] = []
    some: list[tuple[float, int, str]] = []
    for number, (depth, sight) in enumerate(order, 1):
        some += [(depth, place, name) for place, name in groups[sight] if name not in told]
        if number == len(order):
            next_depth = inf
        elif len(some) < _BATCH:
            continue
        else:
            next_depth = order[number][0]
        ranks += _ranks(some, used, known.spoken)
        ranks.sort()
        some = []
        sure = bisect_left(ranks, (next_depth - _LIFT,))
        yield from [name for _, _, name in ranks[:sure]]
        del ranks[:sure]


def _ranks(
    some: Sequence[tuple[float, int, str]], used: frozenset[bytes], spoken: frozenset[bytes]
) -> Iterator[tuple[float, int, str]]:
    """The rank of each of some names by how deep it stands and what it is made of; none that anybody could write."""
    easy = guessable(*[name for _, _, name in some])
    left = [one for one in some if one[2] not in easy]
    lines = lines_of([name for _, _, name in left], _APART)
    endings = lines_of([name[name.rfind("/") + 1 :].lower() for _, _, name in left], _APART)
    for (depth, place, name), line, ending in zip(left, lines, endings, strict=True):
        if b" " not in line and len(line) < _HASHED:  # of one piece, as most hashes and numbers are
            yield depth - _KIN * (line in used) - _SAID * (ending in spoken), place, name
        else:
            kinship = _share(line.split(), used)
            close = _KIN * kinship + _SAID * _share(ending.split(), spoken)
            yield depth - close + _doubt(name, kinship), place, name


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
    sights.update([(name, once if names[name] == 1 else Sight(age, many, names[name])) for name in new])
    return new


def _share(words: list[bytes], known: frozenset[bytes]) -> float:
    """The share of some words that are known."""
    return 0.0 if known.isdisjoint(words) else len(known.intersection(words)) / len(words)


def _doubt(name: str, kinship: float) -> float:
    """How unlikely it is that a name is needed letter by letter: words between slashes are mostly prose, and whoever
    means a long hash writes its beginning."""
    if len(name) >= _HASHED and _HASH.fullmatch(name):
        return _DOUBT
    if not kinship and "/" in name and name[0] not in "/~." and "." not in name.rpartition("/")[2]:
        return 2 * _DOUBT
    return 0.0


def names_in(address: str, part: Result | Text | Call, view: View) -> Mapping[str, int]:
    """The names of a part, of a call those in its arguments, and how often each of them stands there; read once."""
    known: dict[str, tuple[Part, Mapping[str, int]]] = view.memory.setdefault("names", {})
    found = known.get(address)
    if found is None or found[0] is not part:
        text = part.raw[:_ARGUMENTS] if isinstance(part, Call) else part.text
        shown: Spelled | None = view.memory.get("words", {}).get(address)
        if "\x1b" in text or len(text) > MOST_READ or shown is None or shown.part is not part:
            names = identifiers_counted(ANSI.sub("", text) if "\x1b" in text else text)
        else:
            names = names_among(shown.spelling)
        found = known[address] = part, names
        if len(known) > _KEPT:
            del known[next(iter(known))]
    return found[1]


def words_in(rows: Iterable[Row], view: View, but: Set[str] = frozenset()) -> frozenset[str]:
    """The words that some rows show, without what stands around them: whether a name is shown is told by these.

    Plain words are none of them, for no name is one. `but` are addresses of parts that do not count.
    """
    known: dict[str, Spelled] = view.memory.get("words", {})
    read: dict[str, Spelled] = {}
    for row in rows:
        parts = (part for message in row.messages for part in message.parts)
        for number, part in enumerate(parts):
            address = f"{row.id}#{number}"
            if address not in but:
                found = known.get(address)
                read[address] = found if found and found.part is part else _spell(part)
    view.memory["words"] = read
    return frozenset().union(*[found.words for found in read.values()])


def _spell(part: Part) -> Spelled:
    spelling = may_hold_names(text_of(part))
    apart = f"{spelling} ".encode("utf-8", "replace").translate(_AROUND).decode()
    words = apart.replace(". ", " ").replace(": ", " ").split()
    return Spelled(
        part, spelling, frozenset((*words, *[word.partition(":")[0] for word in words if ":" in word]))
    )


def chosen(names: Iterable[str], shown: frozenset[str], tokens: float) -> list[str]:
    """The first of these names that are not shown, as many as fit into so many tokens."""
    found: list[str] = []
    folders: set[str] = set()
    for name, weight in _weighed(name for name in names if name not in shown):
        if name in folders:
            continue
        tokens -= weight
        if tokens < 0:
            break
        found.append(name)
        folders.update(folders_of(name))
    return found


def _weighed(names: Iterator[str]) -> Iterator[tuple[str, float]]:
    """Names and their weights, some at a time."""
    while some := list(islice(names, _BATCH)):
        yield from zip(some, weights_of(some), strict=True)


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path tells of."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def words_of(text: str) -> list[bytes]:
    """The words that names are made of."""
    return text.encode("utf-8", "replace").translate(_APART).split()
