"""Old reads: what a file held once, where a newer look at it or all of its new text stands further down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fanfold.core.budget import Budget
from fanfold.core.edit import Elide
from fanfold.core.errors import BadArguments, BadSetting
from fanfold.core.message import Call
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import View
from fanfold.outputs.notices import LINES, SUPERSEDED
from fanfold.strategies.elide import Seen, count_lines, outputs, trimmed_to
from fanfold.strategies.handover.tools import Tools, Use, tools_with
from fanfold.text.cutting import short

KEEP = 5
"""The newest outputs that stay as they are."""
_SMALLEST = 90
"""Tokens below which an output is as short as the line in its place."""
_RANGES = (
    "offset",
    "limit",
    "start",
    "end",
    "start_line",
    "end_line",
    "line",
    "lines",
    "range",
    "view_range",
    "pages",
)
"""Arguments that choose a part of a file."""
_PATH = 80
"""Characters of a path in a line."""


class _Old(NamedTuple):
    seen: Seen
    why: str


def shorten_reads(
    *, keep: int = KEEP, edits: bool = False, tools: Mapping[str, str] | None = None
) -> Strategy:
    """Shorten reads of files that were read again or rewritten later to one line, oldest first, down to the target.

    The newest `keep` outputs stay. With `edits`, a change to a part of the file is enough.
    """
    if keep < 0:
        raise BadSetting("shorten_reads keeps zero or more of the newest outputs.")
    table = tools_with(tools)

    def shorten_reads(view: View, budget: Budget) -> Plan:
        if view.tokens <= budget.goal:
            return
        for one in list(_old(view, keep, table, edits=edits)):
            if view.tokens <= budget.goal:
                return
            view = yield Elide(
                f"{one.seen.row.id}#{one.seen.number}",
                trimmed_to(LINES.format(count=count_lines(one.seen)), one.why),
            )

    return shorten_reads


def _old(view: View, keep: int, tools: Tools, *, edits: bool) -> Iterator[_Old]:
    """The reads that a later call makes superfluous, oldest first."""
    found = list(outputs(view))
    offered = {row.id for block in view.offered for row in block.rows}
    newer: dict[tuple[str, str], str] = {}
    old: list[_Old] = []
    for place in range(len(found) - 1, -1, -1):
        one = found[place]
        use = tools.use(one.call) if one.call is not None else None
        if use is None or one.part.error:
            continue
        if use.kind == "read" and use.path and one.call is not None:
            part = _part(one.call)
            why = newer.get((use.path, part)) or newer.get((use.path, ""))
            small = one.tokens <= _SMALLEST or one.is_placeholder
            if why and not small and place < len(found) - keep and one.row.id in offered:
                old.append(_Old(one, why))
            elif not one.is_placeholder:
                newer.setdefault(
                    (use.path, part), SUPERSEDED.format(path=short(use.path, _PATH), verb="read again")
                )
        for path, verb in _rewritten(use, edits=edits):
            newer[path, ""] = SUPERSEDED.format(path=short(path, _PATH), verb=verb)
    return reversed(old)


def _part(call: Call) -> str:
    """Which part of the file a call reads; nothing where it reads all of it."""
    try:
        args = call.args
    except BadArguments:
        return call.raw
    return str(sorted((key, str(args[key])) for key in _RANGES if args.get(key) not in (None, "")) or "")


def _rewritten(use: Use, *, edits: bool) -> Iterator[tuple[str, str]]:
    """The files of which a call leaves nothing as it was, or with `edits` not everything."""
    verbs: Sequence[str] = ("written", "deleted", "moved", "changed") if edits else ("written", "deleted")
    return ((change.path, change.verb) for change in use.changes if change.path and change.verb in verbs)
