"""The trail of work: of each kind a small bar for every policy, as long as what was kept."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from fanfold.replay.score import Score
from fanfold.replay.trail import KINDS


def kept(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    """One row a policy, one column a kind; nothing if no call had to be reduced."""
    if all(score.trail.mean is None for score in scores.values()):
        return "<p>No request had to be reduced.</p>"
    head = "".join(f"<th scope=col>{escape(kind)}</th>" for kind in ("", *KINDS, "mean"))
    rows = [f"<tr>{head}</tr>", *(_row(name, score, hues[name]) for name, score in scores.items())]
    return f"<div class=wide><table class=trail>{''.join(rows)}</table></div>"


def _row(name: str, score: Score, hue: str) -> str:
    trail = score.trail
    cells = "".join(map(_bar, (*map(trail.share, KINDS), trail.mean)))
    return f'<tr class="{hue}"><th scope=row><i></i>{escape(name)}</th>{cells}</tr>'


def _bar(share: float | None) -> str:
    if share is None:
        return "<td>–</td>"
    return f'<td>{share:.0%}<span class=bar><b style="width:{share:.1%}"></b></span></td>'
