"""What the documents count with: the length of a text, as JavaScript has them."""

from __future__ import annotations


def length(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
