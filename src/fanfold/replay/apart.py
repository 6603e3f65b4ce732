"""Names that tell conversations apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePath
from typing import NamedTuple


class Known(NamedTuple):
    """A conversation by its recorded name and its file."""

    name: str
    source: str


def told_apart(known: Sequence[Known]) -> list[str]:
    """A name for each; those that are alike get as much of their path as makes them differ, else a number."""
    sources: dict[str, set[str]] = {}
    for one in known:
        sources.setdefault(one.name, set()).add(one.source)
    depths = {name: _depth(some) for name, some in sources.items()}
    return _numbered([_with_path(one, depths[one.name]) for one in known])


def _depth(sources: Collection[str]) -> int:
    """How many last parts of these paths make them differ; none where there is only one."""
    if len(sources) == 1:
        return 0
    paths = [PurePath(source).parts for source in sources]
    deepest = max(map(len, paths))
    return next(
        (depth for depth in range(1, deepest) if len({path[-depth:] for path in paths}) == len(paths)),
        deepest,
    )


def _with_path(one: Known, depth: int) -> str:
    if not depth:
        return one.name
    path = PurePath(one.source)
    label = "/".join(path.parts[-depth:])
    return (
        label + one.name.removeprefix(path.name) if one.name.startswith(path.name) else f"{label}: {one.name}"
    )


def _numbered(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
