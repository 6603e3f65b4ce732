"""The ledger: names that a later call may need verbatim: addresses, paths, hashes, ids, long numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import log1p

import msgspec

from fanfold.message import Message, reading
from fanfold.patterns import pattern
from fanfold.strategies.gist import weight_of
from fanfold.strategies.holdings import bare

_IDENTIFIER = pattern(
    r"""
      https?://[^\s"'<>)\]}`|、。」]+                                 # addresses
    | \b(?:
        [0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b        # uuid
      | \d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?\b                        # numbers of hosts
      | [A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}:\d{2,5}\b      # hosts with a port
      | (?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b(?![./@+-]\w)     # hashes
      | [A-Za-z0-9_.@+-]{1,80}(?:/[A-Za-z0-9_.@+-]+)+\b               # relative paths
      | [A-Za-z0-9_-]{1,80}\.
        (?:py|rs|go|ts|tsx|js|json|toml|ya?ml|md|txt|csv|c|h|cpp|java|sh|sql|html|css|lock|log)\b
      | \d{5,40}\b                                                    # long numbers
      | (?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9]{1,64}(?:[_-][A-Za-z0-9]{1,64})+\b  # call_12ab, HAT-123
      | (?=[A-Z0-9]{0,40}\d)(?=[A-Z0-9]{0,40}[A-Z])[A-Z0-9]{5,40}\b   # codes such as 8JX2WO
      )
    | (?:~|\.{1,2})?(?:/[A-Za-z0-9_.@+-]+){2,}                       # absolute paths
    | [A-Z]:(?:\\[A-Za-z0-9_.@+-]{2,})+                              # the same on Windows
    """,
    re.VERBOSE | re.ASCII,
)
_MAIL = pattern(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w", re.ASCII)
_PIECE = pattern(r"[A-Za-z0-9]+", re.ASCII)
_AGE, _KIN = 40, 1.0
"""So many names make a name grow old, and as much younger counts one that is made of words of names that were used."""
_STEP, _HARD, _EASY = 100.0, 1200.0, 1300.0
_LONGEST = 200
Names = dict[int, tuple[Message, list[str]]]
"""Messages and their names, by the identity of the message, for as long as one plan is made."""
_HEAD, _TAIL = 60_000, 20_000
"""Characters of a message that are read, from each end: what a ledger costs is bounded."""


def identifiers(text: str) -> list[str]:
    """The identifiers of a text, each once, in the order they stand."""
    text = _telling(text)
    found = [name.rstrip(".,:;") for name in _IDENTIFIER.findall(text)]
    if "@" in text:
        found += _MAIL.findall(text)
    return list(dict.fromkeys([name for name in found if 4 <= len(name) <= _LONGEST]))


def _telling(text: str) -> str:
    """The words of a text that are more than plain words, each once: no name has a space in it."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    return " ".join([word for word in dict.fromkeys(text.split()) if not word.isalpha()])


class Known(msgspec.Struct, frozen=True):
    """What is known of names besides where they stand."""

    pinned: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    """By the user."""
    used: frozenset[str] = frozenset()
    """In calls."""


def ranked(
    messages: Sequence[Message],
    known: Known,
    room: float,
    *,
    refs: Sequence[str | None] = (),
    earlier: Sequence[str] = (),
    read: Names | None = None,
) -> list[str]:
    """The identifiers of some messages: pinned first, then named by the user, not used in a call yet, hard to guess,
    new and akin to what was used.

    `refs` are the references of the messages, which stand behind the names, `earlier` the names of an earlier ledger,
    best first. The newest messages are read first, and no more of them than needed for `room` tokens of names that
    were not used yet.
    """
    where: dict[str, str] = {}
    for number in range(len(messages) - 1, -1, -1):
        ref = refs[number] if refs else None
        names = [name for name in _names(messages[number], read) if name not in where]
        where.update((name, f"{name} ({ref})" if ref else name) for name in names)
        room -= weight_of(*(name for name in names if name not in known.used))
        if room < 0:
            break
    where.update((bare(name), name) for name in earlier if bare(name) not in where)
    return [where[name] for name in _ordered(list(where), known)]


def _ordered(names: list[str], known: Known) -> list[str]:
    """Names by rank; they come newest first. What counts before age does so in steps that no age makes up for."""
    pieces = frozenset(_PIECE.findall(" ".join(known.used)))
    told = known.pinned | known.named | known.used
    ranks = [
        (_told(name, known) if name in told else _unused(name, pieces)) + log1p(number / _AGE)
        for number, name in enumerate(names)
    ]
    return [names[number] for number in sorted(range(len(names)), key=ranks.__getitem__)]


def _told(name: str, known: Known) -> float:
    """The rank of a name that is pinned, or that the user or a call had."""
    wanted = (name not in known.pinned) * 8 + (name not in known.named) * 4 + (name in known.used) * 2
    return (wanted + 1) * _STEP


def _unused(name: str, pieces: frozenset[str]) -> float:
    """The rank of any other name: by kinship with names that were used, which some age makes up for."""
    own = _pieces(name)
    return _HARD - _KIN * len(pieces.intersection(own)) / len(own) if own else _EASY


@lru_cache(maxsize=4_096)
def _pieces(name: str) -> tuple[str, ...]:
    """The words of a name that is hard to guess: none of any other."""
    return tuple(_PIECE.findall(name) or (name,)) if _hard_to_guess(name) else ()


def _hard_to_guess(name: str) -> bool:
    if name.isdigit():
        return len(name) >= 7
    if "/" in name:
        return name.count("/") >= (3 if name[0] in "/~." else 2)
    return "." not in name or "@" in name


def _names(message: Message, read: Names | None) -> list[str]:
    if read is None:
        return identifiers(reading(message))
    if id(message) not in read:
        read[id(message)] = message, identifiers(reading(message))
    return read[id(message)][1]
