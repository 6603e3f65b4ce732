"""Identifiers: what a later call may need verbatim: addresses, paths, hashes, ids, long numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fanfold.message import Call, Message, reading

_IDENTIFIER = re.compile(
    r"""
      https?://[^\s"'<>)\]}`|]+                                    # addresses
    | [\w.+-]+@[\w-]+\.[\w.-]*\w                                   # e-mail
    | \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b     # uuid
    | (?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/][\w.@+-]+){2,}                # absolute paths
    | \b[\w.@+-]+(?:/[\w.@+-]+){1,}\b                              # relative paths
    | \b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b          # hashes
    | \b\d{7,}\b                                                   # long numbers
    | \b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+\b  # ids such as call_12ab, HAT-123
    | \b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,12}\b          # codes such as 8JX2WO
    | \b[\w-]+\.(?:py|rs|go|ts|tsx|js|json|toml|ya?ml|md|txt|csv|c|h|cpp|java|sh|sql|html|css|lock|log)\b
    """,
    re.VERBOSE,
)
_LONGEST = 200


def identifiers(text: str) -> list[str]:
    """The identifiers of a text, each once, in the order they stand."""
    found = (match.group().rstrip(".,:;") for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(name for name in found if 4 <= len(name) <= _LONGEST))


def ranked(messages: Iterable[Message], *, named: str = "", pinned: str = "") -> list[str]:
    """The identifiers of some messages: pinned first, then named by the user, not used yet, newest."""
    seen: dict[str, int] = {}
    used: set[str] = set()
    for number, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, Call):
                used.update(name for name in identifiers(part.raw) if name in seen)
        if message.role != "assistant":
            for name in identifiers(reading(message)):
                seen[name] = number
    return sorted(seen, key=lambda name: (name not in pinned, name not in named, name in used, -seen[name]))
