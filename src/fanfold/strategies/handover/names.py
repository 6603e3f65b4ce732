"""Names: what a later call may need verbatim (addresses, paths, hashes, ids, long numbers), the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log1p

import msgspec

from fanfold.text.identifiers import hard_to_guess, weight_of
from fanfold.text.patterns import pattern

_APART = bytes(one if chr(one).isalnum() else 32 for one in range(128)) + b" " * 128
"""Letters and digits as they are, and all else as spaces."""
_QUOTES = b"\"'`(){}[],;|<>\n"
_AROUND = bytes.maketrans(_QUOTES, b" " * len(_QUOTES))
_AGE, _KIN = 40, 1.0
"""So many names make a name grow old, and as much younger counts one that is made of words of names that were used."""
_STEP, _HARD = 100.0, 1200.0
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


@lru_cache(maxsize=50_000)
def guessable(name: str) -> bool:
    """Whether anybody could write this name without having seen it."""
    return bool(_GUESSED.fullmatch(name)) or any(part in name for part in _INNER) or not hard_to_guess(name)


def ordered(names: Iterable[str], known: Known) -> list[str]:
    """Names by rank; they come newest first. What counts before age does so in steps that no age makes up for."""
    used = frozenset(_pieces(" ".join(known.used)))
    told = known.pinned | known.named | known.used
    ranks: dict[str, float] = {}
    for name in names:
        if name in told:
            wanted = (name not in known.pinned) * 8 + (name not in known.named) * 4 + (name in known.used) * 2
            ranks[name] = (wanted + 1) * _STEP + log1p(len(ranks) / _AGE)
        elif not guessable(name):
            own = _pieces_of(name)
            kinship = len(used.intersection(own)) / len(own)
            ranks[name] = _HARD - _KIN * kinship + log1p(len(ranks) / _AGE) + _doubt(name, kinship)
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
    return frozenset(apart.replace(". ", " ").replace(": ", " ").split())


def chosen(names: Sequence[str], shown: frozenset[str], tokens: float) -> list[str]:
    """The first of these names that are not shown, as many as fit into so many tokens."""
    found = []
    for name in names:
        if name in shown:
            continue
        tokens -= weight_of(name)
        if tokens < 0:
            break
        found.append(name)
    return found


@lru_cache(maxsize=50_000)
def _pieces_of(name: str) -> tuple[bytes, ...]:
    return tuple(_pieces(name)) or (b"",)


def _pieces(text: str) -> list[bytes]:
    """The words that names are made of."""
    return text.encode("utf-8", "replace").translate(_APART).split()
