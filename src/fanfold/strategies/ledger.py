"""The ledger: identifiers that a later call may need verbatim: addresses, paths, hashes, ids, long numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fanfold.message import Message, reading
from fanfold.patterns import pattern
from fanfold.strategies.gist import bare

_IDENTIFIER = pattern(
    r"""
      https?://[^\s"'<>)\]}`|、。」]+                              # addresses
    | [\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w                    # e-mail
    | \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b     # uuid
    | (?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][A-Za-z0-9_.@+-]+){2,}       # absolute paths
    | \b[A-Za-z0-9_.@+-]{1,80}(?:/[A-Za-z0-9_.@+-]+)+\b            # relative paths
    | \b[A-Za-z0-9_-]{1,80}\.(?:py|rs|go|ts|tsx|js|json|toml|ya?ml|md|txt|csv|c|h|cpp|java|sh|sql|html|css|lock|log)\b
    | \b(?=[0-9a-f]{0,63}\d)(?=[0-9a-f]{0,63}[a-f])[0-9a-f]{7,64}\b          # hashes
    | \b\d{5,40}\b                                                 # long numbers
    | \b(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9]{1,64}(?:[_-][A-Za-z0-9]{1,64})+\b  # call_12ab, HAT-123
    | \b(?=[A-Z0-9]{0,12}\d)(?=[A-Z0-9]{0,12}[A-Z])[A-Z0-9]{5,12}\b          # codes such as 8JX2WO
    """,
    re.VERBOSE | re.ASCII,
)
_REF = pattern(r"\bref=([a-z]\d+)\b")
_LONGEST = 200
Names = dict[int, list[str]]
"""The names of messages, by the identity of the message, for as long as one plan is made."""
_HEAD, _TAIL = 60_000, 20_000
"""Characters of a message that are read, from each end: what a ledger costs is bounded."""


def identifiers(text: str) -> list[str]:
    """The identifiers of a text, each once, in the order they stand."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    found = (match.group().rstrip(".,:;") for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(name for name in found if 4 <= len(name) <= _LONGEST))


def ranked(
    messages: Iterable[Message],
    *,
    shown: Sequence[Message] = (),
    earlier: Sequence[str] = (),
    named: str = "",
    pinned: str = "",
    called: str = "",
    known: Names | None = None,
) -> list[str]:
    """The identifiers of some messages: pinned first, then named by the user, not used in a call yet, newest.

    `shown` are the same messages as the view has them, `earlier` the names of an earlier ledger, best first. Where an
    output has a reference, it stands behind the name.
    """
    seen = {bare(name): number - len(earlier) for number, name in enumerate(reversed(earlier))}
    where = {bare(name): name for name in earlier}
    for number, message in enumerate(messages):
        ref = _reference(shown[number]) if shown else None
        for name in _names(message, known):
            seen[name] = number
            where[name] = f"{name} ({ref})" if ref else where.get(name, name)
    order = sorted(
        seen, key=lambda name: (name not in pinned, name not in named, name in called, -seen[name])
    )
    return [where[name] for name in order]


def _names(message: Message, known: Names | None) -> list[str]:
    if known is None:
        return identifiers(reading(message))
    if id(message) not in known:
        known[id(message)] = identifiers(reading(message))
    return known[id(message)]


def _reference(message: Message) -> str | None:
    """The one reference that stands in the outputs of a message."""
    found = {ref for result in message.results for ref in _REF.findall(result.text)}
    return found.pop() if len(found) == 1 else None
