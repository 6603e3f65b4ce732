"""Names of functions: each provider takes other signs in them."""

from __future__ import annotations

import re
from functools import lru_cache


class Naming:
    """What a provider's functions may be called."""

    def __init__(self, signs: str, most: int, first: str | None = None) -> None:
        self._name = re.compile(f"[{first or signs}][{signs}]{{0,{most - 1}}}")
        self._odd = re.compile(f"[^{signs}]")
        self._most = most
        self._allows = lru_cache(maxsize=512)(self._matches)

    def _matches(self, name: str) -> bool:
        return self._name.fullmatch(name) is not None

    def allows(self, name: object) -> bool:
        """Whether a function may be called so."""
        return isinstance(name, str) and self._allows(name)

    def fitted(self, name: str) -> str:
        """The name in signs that are taken: a good one stays as it is, the same always becomes the same."""
        if self.allows(name):
            return name
        signs = self._odd.sub("_", name) or "unnamed"
        return (signs if self.allows(signs[:1]) else f"_{signs}")[: self._most]


OPENAI = Naming("a-zA-Z0-9_-", 64)
ANTHROPIC = Naming("a-zA-Z0-9_-", 128)
GEMINI = Naming("a-zA-Z0-9_.:-", 64, first="a-zA-Z_")
