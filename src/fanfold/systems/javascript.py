"""What the documents count with: the length of a text and of a value's JSON, as JavaScript has them."""

from __future__ import annotations

import json
from typing import Any


def length(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def stringified(value: Any) -> str:
    """A value as `JSON.stringify` writes it: compact, and other scripts as they are; but a float as Python does."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
