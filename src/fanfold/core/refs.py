"""References: how an output, or what an edit hides, is named in what the model reads."""

from __future__ import annotations

READ, GREP, SEARCH = "tool_output_cache", "tool_output_cache_grep", "tool_output_cache_search"
RECALL = frozenset((READ, GREP, SEARCH))
"""The tools with which a model looks things up again."""

REF = "{ref}"
"""Stands for the reference in a text, until the reference is known."""

ASKED = f"ref={REF}"
"""What a text says that asks for a reference."""

TRIMMED = "[tool output trimmed; ref={ref}]"
"""The plainest placeholder (systems.md A5)."""


def named(text: str, ref: str) -> str:
    """The text with its reference put in, once: what follows may be an excerpt with anything in it."""
    return text.replace(ASKED, f"ref={ref}", 1)
