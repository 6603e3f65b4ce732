"""Failing: the lines of a tool's output that tell of a failure, by plain patterns, in time linear in the text."""

from __future__ import annotations

from fanfold.text.patterns import linear

_FAILURE = (
    r"(?m)^[^\w\n]{0,8}(?i:error|fatal|failed|failure|exception|panic)\b|^[^\w\n]{0,8}(?:エラー|失敗)|"
    r"\b[A-Za-z]{0,40}(?:Error|Exception): \S|\berror(?:\[\w+\])?: |Traceback \(most recent|\bFAILED\b|"
    r"\bexit(?:ed with)? (?:code|status) [1-9]|[Nn]o such file|[Pp]ermission denied|"
    r"(?:command|module|file) not found|[Tt]imed out|[Cc]onnection refused|エラーが|に失敗|例外が|"
    r"見つかりません|拒否され"
)
_READ = 50_000
"""Characters of an output that are searched from its beginning."""
_END = 2_000
"""And from its end: the last line that fails is looked for there."""


def failing_lines(text: str) -> list[str]:
    """The first line that tells of a failure, and the last one, if there are any."""
    data = text[:_READ].encode("utf-8", "replace")
    first = _line(data, 0)
    if first is None and len(text) <= _READ:
        return []
    tail, at, last = text[-_END:].encode("utf-8", "replace"), 0, None
    while (found := _line(tail, at)) is not None:
        last, at = found, found[1]
    lines = [some[slice(*place)] for some, place in ((data, first), (tail, last)) if place]
    return list(dict.fromkeys(line.decode("utf-8", "replace").strip() for line in lines if line.strip()))


def _line(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the next line that fails begins and ends."""
    found = linear(_FAILURE).search(data, at)
    if found is None:
        return None
    end = data.find(b"\n", found.end())
    return data.rfind(b"\n", 0, found.start()) + 1, len(data) if end < 0 else end
