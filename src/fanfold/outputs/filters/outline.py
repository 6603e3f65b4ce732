"""Accessibility outlines: one node a line, indented (`- button "Save" [ref=e7]`)."""

from __future__ import annotations

from itertools import islice

from fanfold.outputs.filters.ui_tree import TreeLimits, shorten
from fanfold.outputs.notices import TRUNCATED
from fanfold.text.patterns import pattern

_NODE = pattern(r'^(\s*)(?:- |\* |\[\d+\] ?)?["\']?[A-Za-z]\w*(?: |:|$|\[)')
_ROLES = pattern(
    r"\b(button|link|textbox|heading|list|listitem|img|checkbox|combobox|generic|navigation|banner|main|paragraph|"
    r"StaticText|RootWebArea|AX[A-Z]\w+|row|cell|table|tab|menu|menuitem|region|group|dialog)\b"
)
DEEPER = 4
"""An outline wraps its nodes in groups that say nothing: it gets so many times the levels of a JSON tree."""


def is_outline(text: str) -> bool:
    """Whether a text is such an outline: at least ten lines, most of them a role with an indent."""
    lines = [line for line in text[:20_000].splitlines() if line.strip()]
    if len(lines) < 10:
        return False
    others = (line for line in lines if not (_NODE.match(line) and _ROLES.search(line[:80])))
    if next(islice(others, len(lines) * 3 // 10, None), None) is not None:
        return False
    return len({len(line) - len(line.lstrip()) for line in lines}) > 1


def prune_outline(text: str, limits: TreeLimits) -> str:
    """The upper levels, and the first children of each node."""
    shown: list[str] = []
    above: list[tuple[int, int]] = []  # the indents around this line, and how many children each had so far
    hidden: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if hidden is not None and indent > hidden:
            continue
        hidden = None
        while above and above[-1][0] > indent:
            above.pop()
        if above and above[-1][0] == indent:
            above[-1] = (indent, above[-1][1] + 1)
        else:
            above.append((indent, 1))
        count = above[-1][1]
        if count > limits.children or len(above) > limits.depth * DEEPER:
            if count in (1, limits.children + 1):
                shown.append(" " * indent + TRUNCATED)
            hidden = indent
            continue
        shown.append(shorten(line, limits.text))
    return "\n".join(shown)
