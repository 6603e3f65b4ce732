"""Price: what reading from a provider's prompt cache costs beside writing to it anew."""

from __future__ import annotations

REWRITE = 11.5
"""What it costs to write a token to the prompt cache anew, in tokens that are read from it: (1.25 - 0.1) / 0.1."""


def pays(rent: float, anew: float, rewrite: float) -> bool:
    """Whether to buy the skis: what was read so far has cost as much as writing anew what an edit moves."""
    return rent >= rewrite * anew
