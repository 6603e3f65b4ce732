"""Trees of user interfaces as JSON values, and how much of a tree is shown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from fanfold.outputs.notices import TRUNCATED
from fanfold.text.cutting import cut

DROPPED = ("description", "help", "helpText", "roleDescription", "AXDescription", "AXHelp", "tooltip")
"""Fields that repeat what others say."""
CHILDREN = frozenset(("children", "childNodes", "nodes", "elements", "AXChildren", "subviews"))
_NESTED = ("children", "childNodes", "AXChildren", "subviews")
_MARKS = frozenset(
    ("role", "AXRole", "tag", "tagName", "nodeName", "className", "controlType", "elementType")
)
_PLACES = frozenset(
    ("bounds", "frame", "position", "rect", "boundingBox", "xpath", "selector", "size", "visible", "enabled")
)
_ENOUGH = 3
_MOST_LOOKED_AT = 500
_DEEPEST = 100
"""Levels of JSON below which nothing is shown: no reader goes there, and no stack holds any number of them."""


class TreeLimits(msgspec.Struct, frozen=True):
    """How much of a tree is shown."""

    nodes: int = 200
    depth: int = 2
    children: int = 20
    text: int = 1_000
    dropped: frozenset[str] = frozenset(DROPPED)


def is_tree(value: Any) -> bool:
    """Whether a value looks like a user interface: several nodes that say what they are and where."""
    looked_at = list(islice(_dicts(value), _MOST_LOOKED_AT))
    nodes = [one for one in looked_at if not _MARKS.isdisjoint(one)]
    placed = [one for one in nodes if not CHILDREN.isdisjoint(one) or not _PLACES.isdisjoint(one)]
    return len(placed) >= _ENOUGH and len(placed) * 4 >= len(looked_at)


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a value, without those that only describe a node's place."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            yield one
            todo.extend(item for key, item in one.items() if key not in _PLACES)
        elif isinstance(one, list):
            todo.extend(reversed(one))


def prune_tree(value: Any, limits: TreeLimits, level: int = 0, deep: int = 0) -> Any:
    """The value with its upper levels of nodes only; `level` is how many nodes lie above, `deep` how much of JSON."""
    if isinstance(value, str):
        return shorten(value, limits.text)
    if isinstance(value, list | dict) and deep >= _DEEPEST:
        return TRUNCATED
    if isinstance(value, list):
        return [prune_tree(item, limits, level, deep + 1) for item in value[: limits.nodes]]
    if isinstance(value, dict):
        is_node = not _MARKS.isdisjoint(value) or any(isinstance(value.get(key), list) for key in _NESTED)
        here = level + 1 if is_node else level
        return {
            key: _field(key, item, limits, here, deep + 1)
            for key, item in value.items()
            if key not in limits.dropped
        }
    return value


def _field(key: str, item: Any, limits: TreeLimits, level: int, deep: int) -> Any:
    if key not in CHILDREN or not isinstance(item, list) or level == 0:
        return prune_tree(item, limits, level, deep)
    if level >= limits.depth and item:
        return TRUNCATED
    return [prune_tree(child, limits, level, deep + 1) for child in item[: limits.children]]


def shorten(text: str, most: int) -> str:
    """A long text, cut."""
    return text if len(text) <= most else text[: cut(text, most)] + f"...{TRUNCATED}"
