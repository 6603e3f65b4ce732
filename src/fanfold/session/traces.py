"""Traces: the rows and notes in which something of an entry may be told."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf

from fanfold.core.edit import Decision, Note
from fanfold.core.log import Log
from fanfold.core.tree import Tree

Since = dict[str | None, float]
"""From which version on something can be seen on the paths through an entry."""


def is_told(log: Log, rows: Collection[str], entries: Iterable[str]) -> bool:
    """Whether one of these entries, or a note that may tell of it, stands in these rows or behind them."""
    leaves = log.leaves(rows)
    return any(id in leaves or not notes_from(log, id).isdisjoint(rows) for id in entries)


def notes_from(log: Log, entry: str | None, version: int = 0) -> frozenset[str]:
    """The notes that may tell of an entry, because it, or another such note, stood there when they were made.

    With a version: of what stands there since then.

    A person's own note is none of them, unless such a note of the same name was there: then it may be a copy of that.
    """
    told: dict[str, str] = {}
    sources: Since = {entry: version}
    known: Since = {}
    for id, decision in log.decisions.items():
        if _may_tell(decision, told) and _since(log.tree, decision.at, sources, known) <= log.born[id]:
            assert isinstance(decision.edit, Note)
            told[id] = decision.edit.name
            for version, place in log.places[id]:
                if _since(log.tree, place, sources, known) > version:  # it was inherited there
                    sources[place] = min(version, sources.get(place, inf))
                    known.clear()
    return frozenset(told)


def _may_tell(decision: Decision, told: dict[str, str]) -> bool:
    """Whether a strategy made this note, or a person one of the same name as a strategy's."""
    edit = decision.edit
    return isinstance(edit, Note) and (decision.by != "person" or edit.name in told.values())


def _since(tree: Tree, at: str | None, sources: Since, known: Since) -> float:
    """From which version on a source could be seen at an entry; what is found on the way there is remembered."""
    walked: list[str] = []
    while at is not None and at not in known:
        walked.append(at)
        at = tree[at].parent
    since = sources.get(None, inf) if at is None else known[at]
    for id in reversed(walked):
        since = known[id] = min(since, sources.get(id, inf))
    return since
