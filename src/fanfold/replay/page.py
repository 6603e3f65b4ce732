"""A replay as one page that fetches nothing: the frontier, the windows over time, the worst losses."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fanfold.replay.report import rows, totals
from fanfold.replay.running import Played
from fanfold.replay.score import Score

_COLOURS = ("#2f6fde", "#e0902f", "#3aa17e", "#9b6fd0", "#d6578a", "#6c757d", "#b8860b", "#20a4b8")
_WIDTH, _HEIGHT, _EDGE = 720, 320, 60
_WORST = 40

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
td, th { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; }
td:first-child, th:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
summary { cursor: pointer; padding: .2rem 0; }
code { background: #f3f3f3; padding: 0 .25rem; overflow-wrap: anywhere; }
"""


def page(played: Sequence[Played], window: int) -> str:
    """The whole page."""
    names = list(dict.fromkeys(one.policy for one in played))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}
    scores = totals(played)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>fanfold replay</title><style>{_STYLE}</style><h1>What each policy cost, kept and lost</h1>"
        f"<p>{len({one.conversation for one in played}):,} conversations, a window of {window:,} tokens.</p>"
        f"{_table(scores)}<h2>Cost and recall</h2>{_frontier(scores, colours)}"
        f"<h2>The window over time</h2>{_windows(played, colours, window)}"
        f"<h2>The worst losses</h2>{_losses(played)}</html>\n"
    )


def _table(scores: dict[str, Score]) -> str:
    head, *body = rows(scores)
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in body]
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _frontier(scores: dict[str, Score], colours: dict[str, str]) -> str:
    """Each policy as a point: cheap is left, much recall is up."""
    most = max((score.cost for score in scores.values()), default=1.0) or 1.0
    parts = [_axes("cost in token equivalents", "fresh references in view")]
    for name, score in scores.items():
        x = _EDGE + score.cost / most * (_WIDTH - 2 * _EDGE)
        y = _HEIGHT - _EDGE - score.fresh.in_view * (_HEIGHT - 2 * _EDGE)
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="{colours[name]}"/>')
        text = f"{escape(name)}: {score.cost / 1e6:.2f} M, {score.fresh.in_view:.0%}"
        parts.append(f'<text x="{min(x + 10, _WIDTH - 190):.0f}" y="{y - 8:.0f}">{text}</text>')
    return _svg(parts)


def _axes(across: str, up: str) -> str:
    bottom, right = _HEIGHT - _EDGE, _WIDTH - _EDGE
    return (
        f'<path d="M{_EDGE} {_EDGE // 2}V{bottom}H{right}" fill="none" stroke="#999"/>'
        f'<text x="{right}" y="{bottom + 24}" text-anchor="end">{across}</text>'
        f'<text x="{_EDGE}" y="{_EDGE // 2 - 8}">{up}</text>'
    )


def _svg(parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="13">{"".join(parts)}</svg>'


def _windows(played: Sequence[Played], colours: dict[str, str], window: int) -> str:
    """For each conversation the tokens sent, call by call, under each policy."""
    by_name: dict[str, list[Played]] = {}
    for one in played:
        by_name.setdefault(one.conversation, []).append(one)
    return "".join(
        f"<details><summary>{escape(name)}: {len(group[0].windows):,} calls</summary>{_lines(group, colours, window)}"
        "</details>"
        for name, group in by_name.items()
    )


def _lines(group: Sequence[Played], colours: dict[str, str], window: int) -> str:
    most = max(window, *(max(one.windows, default=1) for one in group if one.policy != "none"), 1)
    parts = [_axes("model calls", "tokens sent")]
    limit = _HEIGHT - _EDGE - window / most * (_HEIGHT - 2 * _EDGE)
    parts.append(f'<path d="M{_EDGE} {limit:.0f}H{_WIDTH - _EDGE}" stroke="#c33" stroke-dasharray="4"/>')
    for number, one in enumerate(group):
        parts.append(f'<polyline fill="none" stroke="{colours[one.policy]}" points="{_points(one, most)}"/>')
        where = f'x="{_EDGE + 120 * number}" y="{_HEIGHT - 10}" fill="{colours[one.policy]}"'
        parts.append(f"<text {where}>{escape(one.policy)}</text>")
    return _svg(parts)


def _points(one: Played, most: int) -> str:
    wide, high = (_WIDTH - 2 * _EDGE) / max(1, len(one.windows) - 1), _HEIGHT - 2 * _EDGE
    return " ".join(
        f"{_EDGE + i * wide:.1f},{_HEIGHT - _EDGE - min(tokens, most) / most * high:.1f}"
        for i, tokens in enumerate(one.windows)
    )


def _losses(played: Sequence[Played]) -> str:
    worst = sorted((one for one in played if one.lost), key=lambda one: -len(one.lost))[:_WORST]
    return "".join(
        f"<details><summary>{escape(one.policy)} on {escape(one.conversation)}: {len(one.lost):,} references gone"
        "</summary><ul>"
        + "".join(f"<li>call {call}: <code>{escape(text)}</code>" for call, text in one.lost[:100])
        + "</ul></details>"
        for one in worst
    )
