"""Clipping: the head and the tail of a text, with a note of what was cut."""

from __future__ import annotations


def clipped(text: str, keep: int) -> str:
    """About `keep` characters of a text, two thirds of them from its head."""
    if len(text) <= keep:
        return text
    head, tail = keep * 2 // 3, keep - keep * 2 // 3
    cut = len(text) - head - tail
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[… {cut:,} characters cut to fit the context window …]\n{end}"
