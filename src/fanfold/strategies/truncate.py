"""Truncate: hide a share of the visible messages behind a marker, the first one and the first request never (E6)."""

from __future__ import annotations

from fanfold.core.budget import Budget
from fanfold.core.edit import Fold
from fanfold.core.errors import BadSetting
from fanfold.core.plan import Plan, Strategy
from fanfold.core.view import Row, View
from fanfold.strategies.handover.first import asking_row
from fanfold.strategies.handover.seal import unsealed

MARKER = "[Sliding window truncation: {} messages hidden to reduce context]"


def truncate(fraction: float = 0.5) -> Strategy:
    """Hide `fraction` of the visible messages but the first, made even; a standing summary is hidden last.

    The first request stays, wherever it stands.
    """
    if not 0 < fraction < 1:
        raise BadSetting("truncate takes a share between 0 and 1.")

    def truncate(view: View, budget: Budget) -> Plan:
        visible = [row for row in view.rows if row.kind != "note"]
        number = int((len(visible) - 1) * fraction)
        number -= number % 2
        chosen = _chosen(view, {row.id for row in (*visible[:1], *_asking(view))}, number)
        if chosen:
            count = sum(row.count for row in chosen)
            yield Fold(tuple(row.id for row in chosen), MARKER.format(count))

    return truncate


def _asking(view: View) -> list[Row]:
    """What tells what was asked first; a fold without a mark is a marker, or somebody's own words."""
    row = asking_row(view)
    return [row] if row is not None and (row.is_request or unsealed(row) is not None) else []


def _chosen(view: View, kept: set[str], number: int) -> list[Row]:
    """Whole blocks from the oldest on, summaries last, until the number is reached."""
    rows: list[Row] = []
    for block in sorted(view.offered, key=lambda block: block.rows[0].kind == "fold"):
        if len(rows) + len(block.rows) > number:
            break
        if kept.isdisjoint(block.covers):
            rows.extend(block.rows)
    return rows
