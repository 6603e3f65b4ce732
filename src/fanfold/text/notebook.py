"""How values look in a notebook. All text is escaped, and styles stand in the elements: notebooks drop style sheets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fanfold.text.lines import RowLine

_COLORS = {"system": "#64748b", "user": "#2563eb", "assistant": "#059669", "tool": "#d97706"}
_FOLD = "#7c3aed"
_CELL = "padding:1px 8px;text-align:left;white-space:nowrap"


def rows_table(title: str, lines: Sequence[RowLine]) -> str:
    """The rows of a view as a table: a bar as wide as its share of the tokens, first words, and the reason."""
    widest = max((line.tokens for line in lines), default=1) or 1
    return _table(title, [_row(line, 100 * line.tokens / widest) for line in lines])


def lines_table(title: str, lines: Iterable[str]) -> str:
    """Plain lines under a title."""
    return _table(title, [f'<tr><td style="{_CELL}"><code>{escape(line)}</code></td></tr>' for line in lines])


def _table(title: str, rows: Iterable[str]) -> str:
    return (
        '<div style="font:13px/1.5 system-ui,sans-serif;overflow-x:auto">'
        f'<div style="font-weight:600">{escape(title)}</div>'
        f'<table style="border-collapse:collapse">{"".join(rows)}</table></div>'
    )


def _row(line: RowLine, width: float) -> str:
    color = _FOLD if line.sign == "≡" else _COLORS.get(line.role, _COLORS["tool"])
    bar = f"width:{max(width, 1):.0f}px;height:10px;border-radius:3px;background:{color}"
    cells = (line.sign, line.role, f"{line.tokens:,}", None, line.excerpt, line.reason)
    told = [f'<div style="{bar}"></div>' if cell is None else escape(cell) for cell in cells]
    return "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in told) + "</tr>"
