"""Identifiers: names that a later call may need verbatim: addresses, paths, hashes, ids, long numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

from fanfold.text.cutting import fitting
from fanfold.text.patterns import pattern

BETWEEN = " | "
"""Stands between two names; no name has it inside."""
_IDENTIFIER = pattern(
    r"""
      https?://[^\s"'<>)\]}`|、。」]+                                 # addresses
    | \b(?:
        [0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b        # uuid
      | \d{1,3}+(?:\.\d{1,3}+){3}(?::\d{2,5})?\b                      # numbers of hosts
      | [A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+){1,8}+:\d{2,5}\b  # hosts with a port
      | (?=[a-f]{0,63}+\d)(?=\d{0,63}+[a-f])[0-9a-f]{7,64}\b(?![./@+-]\w)     # hashes
      | [A-Za-z0-9_.@+-]{1,80}+(?:/[A-Za-z0-9_.@+-]+)+\b              # relative paths
      | [A-Za-z0-9_-]{1,80}+\.
        (?:py|rs|go|ts|tsx|js|json|toml|ya?ml|md|txt|csv|c|h|cpp|java|sh|sql|html|css|lock|log)\b
      | \d{5,40}\b                                                    # long numbers
      | (?=[A-Za-z_-]{0,63}+\d)(?=[\d_-]{0,63}+[A-Za-z])              # call_12ab, HAT-123
        [A-Za-z0-9]{1,64}+(?:[_-][A-Za-z0-9]{1,64})+\b
      | (?=[A-Z]{0,40}+\d)(?=\d{0,40}+[A-Z])[A-Z0-9]{5,40}\b          # codes such as 8JX2WO
      )
    | (?=[~./])(?:~|\.{1,2})?(?:/[A-Za-z0-9_.@+-]+){2,}              # absolute paths
    | [A-Z]:(?:\\[A-Za-z0-9_.@+-]{2,})+                              # the same on Windows
    """,
    re.VERBOSE | re.ASCII,
)
"""What no shorter match could help is taken for good (`+` behind a count): without, this takes twice as long."""
_LINE = pattern(r"\.(?!log-)[A-Za-z]\w{0,4}-(\d{1,6})(?:-.*)?$", re.ASCII)
"""How a line begins that stands around a match: `grep -C` writes src/main.go-41-, and behind that what it says."""
_MAIL = pattern(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w", re.ASCII)
_DIGITS = b"0123456789"
_NO_DIGITS = bytes(set(range(256)) - set(_DIGITS + b"\n"))
_NO_SIGNS = bytes(set(range(256)) - set(_DIGITS + b"/.\\-\n"))
_LONGEST = 200
_HEAD, _TAIL = 60_000, 20_000
"""Characters of a text that are read, from each end: what looking for names costs is bounded."""
MOST_READ = _HEAD + _TAIL


def identifiers(text: str) -> list[str]:
    """The identifiers of a text, each once, in the order they stand."""
    return list(identifiers_counted(text))


def identifiers_counted(text: str) -> dict[str, int]:
    """The identifiers of a text in the order they stand, and in how many different words each of them stands."""
    if len(text) > MOST_READ:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    return names_among(may_hold_names(text))


def names_among(text: str) -> dict[str, int]:
    """The identifiers among words in which names may stand, and how often each stands there."""
    found = _without_lines([name.rstrip(".,:;") for name in _IDENTIFIER.findall(text)])
    if "@" in text:
        found += _MAIL.findall(text)
    names = [name for name in found if 4 <= len(name) <= _LONGEST]
    once = dict.fromkeys(names, 1)
    return once if len(once) == len(names) else Counter(names)


def _without_lines(names: list[str]) -> list[str]:
    """Names with the files that they tell of, where a search put the numbers of lines behind them."""
    numbered = {
        name: name[: line.start(1) - 1] for name in names if "-" in name and (line := _LINE.search(name))
    }
    if not numbered:
        return names
    # One number alone may be a part of the name.
    times = Counter([*numbered.values(), *(name for name in set(names) if name not in numbered)])
    return [numbered[name] if name in numbered and times[numbered[name]] > 1 else name for name in names]


def may_hold_names(text: str) -> str:
    """The words of a text, each once, but for those that no name can be in: what is left is read much faster."""
    words = list(dict.fromkeys(text.split()))
    # A name has a digit, a slash or a dot; a uuid may do with its four dashes.
    signs = "\n".join(words).encode("utf-8", "replace").translate(None, _NO_SIGNS).replace(b"----", b".")
    return " ".join(compress(words, signs.translate(None, b"-").split(b"\n")))


def hard_to_guess(name: str) -> bool:
    """Whether nobody who does not see the name could write it."""
    if name.isdigit():
        return len(name) >= 7
    if "/" in name:
        return name.count("/") >= (3 if name[0] in "/~." else 2)
    return "." not in name or "@" in name


def weight_of(*names: str) -> float:
    """Tokens of names in a list, about: letters go by the handful, digits nearly one by one."""
    text = "".join(names)
    data = text.encode("utf-8", "replace")
    digits = len(data) - len(data.translate(None, _DIGITS))
    return 2 * len(names) + len(text) / 3 + digits / 2


def weights_of(names: Sequence[str]) -> Iterator[float]:
    """The weight of each of some names, in a list of them."""
    digits = map(len, lines_of(names, None, _NO_DIGITS))
    return (2 + len(name) / 3 + many / 2 for name, many in zip(names, digits, strict=True))


def lines_of(names: Sequence[str], table: bytes | None, without: bytes = b"") -> list[bytes]:
    """Names with their signs changed by a table: all at once, for there are many."""
    lines = "\n".join(names).encode("utf-8", "replace").translate(table, without)
    return lines.split(b"\n") if names else []


def unseen(text: str, shown: str, tokens: int) -> list[str]:
    """The names of a text, hard to guess, that what is shown of it has not: the first that fit into so many tokens."""
    if not tokens:
        return []
    hidden = (name for name in identifiers(text) if hard_to_guess(name) and name not in shown)
    return fitting(hidden, tokens, weight_of)
