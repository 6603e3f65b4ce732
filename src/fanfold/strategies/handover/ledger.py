"""The ledger: names that a later call may need verbatim: addresses, paths, hashes, ids, long numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log1p

import msgspec

from fanfold.core.message import Message, text_of
from fanfold.strategies.handover.holdings import bare
from fanfold.text.identifiers import hard_to_guess, identifiers, weight_of

_APART = bytes(one if chr(one).isalnum() else 32 for one in range(128)) + b" " * 128
"""Letters and digits as they are, and all else as spaces."""
_AGE, _KIN = 40, 1.0
"""So many names make a name grow old, and as much younger counts one that is made of words of names that were used."""
_STEP, _HARD = 100.0, 1200.0
Names = dict[int, tuple[Message, list[str]]]
"""Messages and their names, by the identity of the message, for as long as one plan is made."""


class KnownNames(msgspec.Struct, frozen=True):
    """What is known of names besides where they stand."""

    pinned: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    """By the user."""
    used: frozenset[str] = frozenset()
    """In calls."""


def ranked(
    messages: Sequence[Message],
    known: KnownNames,
    room: float,
    *,
    refs: Sequence[str | None] = (),
    earlier: Sequence[str] = (),
    read: Names | None = None,
) -> list[str]:
    """The identifiers of some messages: pinned first, then named by the user, not used in a call yet, new and akin to
    what was used. Those that anybody could guess are left out, unless they were pinned, named by the user or used.

    `refs` are the references of the messages, which stand behind the names, `earlier` the names of an earlier ledger,
    best first. The newest messages are read first, and no more of them than needed for `room` tokens of names that
    were not used yet.
    """
    where: dict[str, str] = {}
    for number in range(len(messages) - 1, -1, -1):
        ref = refs[number] if refs else None
        names = [name for name in _names(messages[number], read) if name not in where]
        where |= {name: f"{name} ({ref})" if ref else name for name in names}
        room -= weight_of(*[name for name in names if name not in known.used])
        if room < 0:
            break
    for name in earlier:
        where.setdefault(bare(name), name)
    return [where[name] for name in _ordered(where, known)]


def _ordered(names: Iterable[str], known: KnownNames) -> list[str]:
    """Names by rank; they come newest first. What counts before age does so in steps that no age makes up for."""
    used = frozenset(_pieces(" ".join(known.used)))
    told = known.pinned | known.named | known.used
    ranks: dict[str, float] = {}
    for name in names:
        if name in told:
            ranks[name] = _told(name, known) + log1p(len(ranks) / _AGE)
        elif hard_to_guess(name):
            own = _pieces(name) or [b""]
            kinship = len(used.intersection(own)) / len(own)
            ranks[name] = _HARD - _KIN * kinship + log1p(len(ranks) / _AGE)
    return sorted(ranks, key=ranks.__getitem__)


def _told(name: str, known: KnownNames) -> float:
    """The rank of a name that is pinned, or that the user or a call had."""
    wanted = (name not in known.pinned) * 8 + (name not in known.named) * 4 + (name in known.used) * 2
    return (wanted + 1) * _STEP


def _pieces(text: str) -> list[bytes]:
    """The words that names are made of."""
    return text.encode("utf-8", "replace").translate(_APART).split()


def _names(message: Message, read: Names | None) -> list[str]:
    if read is None:
        return identifiers(text_of(message))
    if id(message) not in read:
        read[id(message)] = message, identifiers(text_of(message))
    return read[id(message)][1]
