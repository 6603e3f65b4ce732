r"""How JSON may write a text: a program that answers with JSON may write `M\u00fcller` where people read Müller."""

from __future__ import annotations

import re

_SHORT = {'"': '"', "\\": "\\\\", "/": "/", "\n": "n", "\r": "r", "\t": "t"}
"""What stands behind the backslash of a short escape, as a pattern."""
_OFTEN = frozenset({*_SHORT, *"<>&'+"})
"""The ASCII signs that some library escapes."""


def may_be_escaped(sign: str) -> bool:
    """Whether some library writes this sign as an escape."""
    return sign in _OFTEN or not sign.isascii()


def codes_of(sign: str) -> list[str]:
    """The numbers by which JSON names a sign: one, or two of a pair."""
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return [units[at : at + 4] for at in range(0, len(units), 4)]


def escape_pattern(sign: str) -> str:
    """A pattern for the escapes of a sign; a JSON text within a JSON text has more than one backslash."""
    return "".join(rf"\\+u(?i:{code})" for code in codes_of(sign))


def pattern_of(words: str) -> re.Pattern[str] | None:
    """Finds words in a text in small letters, be signs of them escaped; None if none of them ever is."""
    if not any(map(may_be_escaped, words)):
        return None
    return re.compile("".join(map(_as_written, words.lower())))


def _as_written(sign: str) -> str:
    if not may_be_escaped(sign):
        return re.escape(sign)
    ways = [escape_pattern(form) for form in dict.fromkeys((sign, sign.upper()))]
    short = [rf"\\+{_SHORT[sign]}"] if sign in _SHORT else []
    return f"(?:{'|'.join((re.escape(sign), *short, *ways))})"


def pieces_of(words: str, *, ascii_only: bool = False) -> list[str]:
    """What stands in a text in small letters just so where signs of these words are escaped, or only those of ASCII."""
    pieces = [""]
    for sign in words.lower():
        if not may_be_escaped(sign) or (ascii_only and not sign.isascii()):
            pieces[-1] += sign
            continue
        in_one_way = not sign.isascii() and sign == sign.upper()
        pieces += [*(f"u{code}" for code in codes_of(sign) if in_one_way), ""]
    return list(filter(None, pieces))
