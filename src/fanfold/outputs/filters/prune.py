"""Prune: trees of user interfaces keep their upper levels and first children (systems.md C3, C4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanfold.core.edit import REF
from fanfold.outputs.filters.filter import Filter, shortens
from fanfold.outputs.filters.outline import DEEPER, is_outline, prune_outline
from fanfold.outputs.filters.ui_tree import DROPPED, TreeLimits, is_tree, prune_tree
from fanfold.outputs.notices import FIELDS, ITEMS, OUTLINE, PAGE, PRUNED
from fanfold.text.json_text import to_json
from fanfold.text.patterns import pattern

TOOLS = ("elementsJson", "webElements")
_PAGE = pattern(r"\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html|body|head|div|main|table)\b", re.IGNORECASE)


def prune(
    *,
    tools: Sequence[str] = TOOLS,
    nodes: int = 200,
    depth: int = 2,
    children: int = 20,
    text: int = 1_000,
    dropped: Sequence[str] = DROPPED,
    by_shape: bool = True,
) -> Filter:
    """Prune what some tools return, and what others return by its shape: JSON trees, HTML, accessibility outlines.

    Depth counts levels of nodes, not of JSON.
    """
    limits = TreeLimits(nodes=nodes, depth=depth, children=children, text=text, dropped=frozenset(dropped))
    names = frozenset(tools)

    @shortens
    def prune(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        asked = tool in names
        value = _read(text)
        if isinstance(value, dict | list):
            holds_one = isinstance(value, dict) and not names.isdisjoint(value)
            if not (asked or holds_one or (by_shape and is_tree(value))):
                return None
            pruned = prune_tree(_open_fields(value, names, limits), limits)
            # White space alone is no reason to write the JSON again.
            new = text if pruned == value else to_json(pruned)
            what = ITEMS.format(nodes=nodes, children=children, depth=depth) + (FIELDS if dropped else "")
        elif (asked or by_shape) and _PAGE.match(text) and text[:100_000].count("</") >= 3:
            from fanfold.outputs.filters.web_page import prune_page  # late: most sessions never see a page

            new = prune_page(text, limits)
            what = PAGE.format(children=children)
        elif (asked or by_shape) and is_outline(text):
            new = prune_outline(text, limits)
            what = OUTLINE.format(children=children, depth=depth * DEEPER)
        else:
            return None
        return f"{new}\n{PRUNED.format(what=what, ref=REF)}" if new != text else None

    return prune


def _read(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _open_fields(value: Any, names: frozenset[str], limits: TreeLimits) -> Any:
    """The value, with each field that holds a tree as JSON text read and pruned."""
    if not isinstance(value, dict):
        return value
    opened = dict(value)
    for key in names.intersection(value):
        inner = _read(value[key]) if isinstance(value[key], str) else None
        if inner is not None:
            opened[key] = prune_tree(inner, limits)
    return opened
