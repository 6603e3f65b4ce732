"""Summaries mark themselves, with a check code that a tool output cannot forge by chance or by copying a phrase."""

from __future__ import annotations

import re

from fanfold.ids import digest

_HEAD = re.compile(r"\A\[summary of ([\d,]+) messages; check ([0-9a-f]{8})\]\n")


def sealed(text: str, count: int) -> str:
    """A summary's text with its mark."""
    return f"[summary of {count:,} messages; check {_code(text, count)}]\n{text}"


def unsealed(text: str) -> str | None:
    """The text of a summary that carries a true mark, or None."""
    found = _HEAD.match(text)
    if found is None:
        return None
    inner = text[found.end() :]
    count = int(found.group(1).replace(",", ""))
    return inner if found.group(2) == _code(inner, count) else None


def _code(text: str, count: int) -> str:
    return digest(b"fanfold summary", str(count).encode(), text.encode("utf-8", "surrogatepass"))[:8]
