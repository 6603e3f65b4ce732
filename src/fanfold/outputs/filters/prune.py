"""Prune: trees of user interfaces keep their upper levels and first children (systems.md C3, C4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanfold.outputs.filters.filter import Filter, shortens
from fanfold.outputs.filters.markup import is_markup, markup_limits, pruned_markup
from fanfold.outputs.filters.outline import is_outline, outline_limits, pruned_outline
from fanfold.outputs.filters.trees import DROPPED, Limits, is_tree, pruned_tree, tree_limits
from fanfold.text.json_text import to_json

TOOLS = ("elementsJson", "webElements")
_NOTE = "\n[pruned to {what}; whole as ref={{ref}}]"


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
    """Prune what some tools give back, and by its shape what others do: JSON trees, HTML, accessibility outlines.

    Depth counts levels of nodes, not of JSON.
    """
    limits = Limits(nodes, depth, children, text, frozenset(dropped))
    names = frozenset(tools)

    @shortens
    def prune(text: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        asked = tool in names
        value = _read(text)
        if isinstance(value, dict | list):
            fires = asked or (by_shape and is_tree(value)) or _holds(value, names)
            new = _written(_opened(value, names, limits), text) if fires else None
            what = tree_limits(limits)
        elif (asked or by_shape) and is_markup(text):
            new, what = pruned_markup(text, limits), markup_limits(limits)
        elif (asked or by_shape) and is_outline(text):
            new, what = pruned_outline(text, limits), outline_limits(limits)
        else:
            return None
        return new + _NOTE.format(what=what) if new is not None and new != text else None

    return prune


def _read(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _written(value: Any, text: str) -> str | None:
    """The pruned value as JSON; None where nothing was pruned but white space."""
    return None if value == _read(text) else to_json(value)


def _holds(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, dict) and not names.isdisjoint(value)


def _opened(value: Any, names: frozenset[str], limits: Limits) -> Any:
    """The value pruned; a field that holds a tree as JSON text is pruned inside it."""
    if isinstance(value, dict):
        value = {
            key: _inner(item, limits) if key in names and isinstance(item, str) else item
            for key, item in value.items()
        }
    return pruned_tree(value, limits)


def _inner(text: str, limits: Limits) -> Any:
    value = _read(text)
    return text if value is None else pruned_tree(value, limits)
