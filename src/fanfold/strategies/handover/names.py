"""Names: what a later call may need verbatim (addresses, paths, hashes, ids, long numbers), the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import log1p
from typing import NamedTuple

import msgspec

from fanfold.text.identifiers import hard_to_guess, weight_of
from fanfold.text.patterns import pattern

_APART = bytes(one if chr(one).isalnum() else 32 for one in range(128)) + b" " * 128
"""Letters and digits as they are, and all else as spaces."""
_QUOTES = b"\"'`(){}[],;|<>\n"
_AROUND = bytes.maketrans(_QUOTES, b" " * len(_QUOTES))
_AGE, _WHILE = 0.75, 5
"""What it counts that a name grows old, and messages that make it so."""
_LIST, _KIN, _SAID = 0.5, 1.0, 0.5
"""What it counts that a name stood in a long list, has words of names that were used, ends in words that were said."""
_STEP, _HARD = 100.0, 1200.0
_SHORT = 2
"""Letters of a word that says nothing."""
_GUESSED = pattern(
    r"[a-z]{1,6}[-_]\d{1,3}|[a-zA-Z]-[a-zA-Z].{0,8}|\d{1,4}-\d{1,4}|[a-z]{1,8}\d?-\d{1,2}(?:[-.]\d{1,2})?|"
    r"\d{4}-\d\d-\d\dT?[\d:.-]*Z?|u00[0-9a-f]{2}.*|\d+[-_][a-z]{1,7}|x86[-_]64|(?:0x)?[0]+|(\d)\1+|v?\d{1,2}(?:[-_]\d{1,2}){1,2}",
)
"""Names that anybody could write: px-3, a-z0-9, utf-8, 1-2."""


_HASH = pattern(r"[0-9a-f]{32,64}")
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
    said: str = ""
    """What agent and person said."""


@lru_cache(maxsize=50_000)
def guessable(name: str) -> bool:
    """Whether anybody could write this name without having seen it."""
    return bool(_GUESSED.fullmatch(name)) or any(part in name for part in _INNER) or not hard_to_guess(name)


class Sight(NamedTuple):
    """Where a name stood last."""

    age: int = 0
    """Messages that came since."""
    among: int = 1
    """Names that stood there: of a long list, few are needed."""
    times: int = 1
    """How often it stood there."""


def ordered(sights: Mapping[str, Sight], known: Known) -> list[str]:
    """Names by rank. Who had them counts in steps that nothing else makes up for.

    Beyond that, a name ranks before others if it was seen lately, often, among few others, is made of words of names
    that were used, and ends in words that were said.
    """
    used = frozenset(_pieces(" ".join(known.used)))
    said = frozenset(_pieces(known.said.lower()))
    told = known.pinned | known.named | known.used
    ranks: dict[str, float] = {}
    for name, sight in sights.items():
        rank = _AGE * log1p(sight.age / _WHILE) + _LIST * (log1p(sight.among) - log1p(sight.times))
        if name in told:
            wanted = (name not in known.pinned) * 8 + (name not in known.named) * 4 + (name in known.used) * 2
            ranks[name] = (wanted + 1) * _STEP + rank
        elif not guessable(name):
            own = _pieces_of(name)
            kinship = len(used.intersection(own)) / len(own)
            ending = _ending_of(name)
            close = _KIN * kinship + _SAID * len(said.intersection(ending)) / (len(ending) or 1)
            ranks[name] = _HARD + rank - close + _doubt(name, kinship)
    return sorted(ranks, key=ranks.__getitem__)


def _doubt(name: str, kinship: float) -> float:
    """How unlikely it is that a name is needed letter by letter: words between slashes are mostly prose, and whoever
    means a long hash writes its beginning."""
    if _HASH.fullmatch(name):
        return _DOUBT
    if "/" in name and name[0] not in "/~." and not kinship and "." not in name.rpartition("/")[2]:
        return 2 * _DOUBT
    return 0.0


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """The words of some texts, without what stands around them: whether a name is shown is told by these."""
    found: set[str] = set()
    for text in texts:
        found.update(_words(text))
    return frozenset(found)


@lru_cache(maxsize=4_000)  # most rows are still there at the next reduction
def _words(text: str) -> frozenset[str]:
    apart = f"{text} ".encode("utf-8", "replace").translate(_AROUND).decode()
    words = apart.replace(". ", " ").replace(": ", " ").split()
    return frozenset((*words, *(word.partition(":")[0] for word in words if ":" in word)))


def chosen(names: Sequence[str], shown: frozenset[str], tokens: float) -> list[str]:
    """The first of these names that are not shown, as many as fit into so many tokens."""
    found: list[str] = []
    folders: set[str] = set()
    for name in names:
        if name in shown or name in folders:
            continue
        tokens -= weight_of(name)
        if tokens < 0:
            break
        found.append(name)
        folders.update(folders_of(name))
    return found


def folders_of(path: str) -> Iterator[str]:
    """The folders that a path tells of."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


@lru_cache(maxsize=50_000)
def _ending_of(name: str) -> frozenset[bytes]:
    """The words that the last part of a path is made of."""
    return frozenset(piece for piece in _pieces(name.rpartition("/")[2].lower()) if len(piece) > _SHORT)


@lru_cache(maxsize=50_000)
def _pieces_of(name: str) -> tuple[bytes, ...]:
    return tuple(_pieces(name)) or (b"",)


def _pieces(text: str) -> list[bytes]:
    """The words that names are made of."""
    return text.encode("utf-8", "replace").translate(_APART).split()
