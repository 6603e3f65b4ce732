"""Failing: the lines of a tool's output that tell of a failure, by plain patterns, in time linear in the text."""

from __future__ import annotations

from functools import cache
from typing import Any

_FAILURE = (
    r"(?m)^[^\w\n]{0,8}(?i:error|fatal|failed|failure|exception|panic)\b|^[^\w\n]{0,8}(?:エラー|失敗)|"
    r"\b[A-Za-z]{0,40}(?:Error|Exception)\b ?[:(]|\berror(?:\[\w+\])?: |Traceback \(most recent|\bFAILED\b|"
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
    if first is None:
        return []
    tail = data[-_END:]
    at, last = 0, first
    while (found := _line(tail, at)) is not None:
        last, at = found, found[1]
    lines = (data[first[0] : first[1]], tail[last[0] : last[1]] if last is not first else b"")
    return list(dict.fromkeys(line.decode("utf-8", "replace").strip() for line in lines if line.strip()))


def _line(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the next line that fails begins and ends."""
    found = _pattern().search(data, at)
    if found is None:
        return None
    end = data.find(b"\n", found.end())
    return data.rfind(b"\n", 0, found.start()) + 1, len(data) if end < 0 else end


@cache
def _pattern() -> Any:
    import re2  # type: ignore[import-untyped]  # late: few programs need it at once

    return re2.compile(_FAILURE.encode())
