"""Truncate: hide a share of the visible messages behind a marker, the first one never (systems.md E6)."""

from __future__ import annotations

from fanfold.budget import Budget
from fanfold.edit import Fold
from fanfold.errors import BadSetting
from fanfold.plan import Plan, Strategy
from fanfold.view import Row, View

MARKER = "[Sliding window truncation: {} messages hidden to reduce context]"


def truncate(fraction: float = 0.5) -> Strategy:
    """Hide `fraction` of the visible messages but the first, made even; a standing summary is hidden last."""
    if not 0 < fraction < 1:
        raise BadSetting("truncate takes a share between 0 and 1.")

    def truncate(view: View, budget: Budget) -> Plan:
        visible = [row for row in view.rows if row.kind != "note"]
        number = int((len(visible) - 1) * fraction)
        number -= number % 2
        chosen = _chosen(view, visible[0] if visible else None, number)
        if chosen:
            count = sum(row.count for row in chosen)
            yield Fold(tuple(row.id for row in chosen), MARKER.format(count))

    return truncate


def _chosen(view: View, first: Row | None, number: int) -> list[Row]:
    """Whole blocks from the oldest on, summaries last, until the number is reached."""
    rows: list[Row] = []
    for block in sorted(view.offered, key=lambda block: block.rows[0].kind == "fold"):
        if len(rows) + len(block.rows) > number:
            break
        if all(row is not first for row in block.rows):
            rows.extend(block.rows)
    return rows
