"""Tables of the page: what of the trail was kept, and the worst losses, to click into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from fanfold.replay.played import Loss, Played
from fanfold.replay.score import Score
from fanfold.replay.trail import KINDS


def trail_table(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    """One row a policy, one column a kind; nothing if no call had to be reduced."""
    if all(score.trail.mean is None for score in scores.values()):
        return "<p>No request had to be reduced.</p>"
    head = "".join(f"<th scope=col>{escape(kind)}</th>" for kind in ("", *KINDS, "mean"))
    rows = [f"<tr>{head}</tr>", *(_trail_row(name, score, hues[name]) for name, score in scores.items())]
    return f"<div class=wide><table class=trail>{''.join(rows)}</table></div>"


def _trail_row(name: str, score: Score, hue: str) -> str:
    trail = score.trail
    cells = "".join(map(_bar, (*map(trail.share, KINDS), trail.mean)))
    return f'<tr class="{hue}"><th scope=row><i></i>{escape(name)}</th>{cells}</tr>'


def _bar(share: float | None) -> str:
    if share is None:
        return "<td>–</td>"
    return f'<td>{share:.0%}<span class=bar><b style="width:{share:.1%}"></b></span></td>'


MOST = 40
"""So many conversations are listed."""
MOST_ROWS = 100


def losses(played: Sequence[Played], hues: Mapping[str, str]) -> str:
    """Of each conversation and policy what was gone when it was needed, the worst first."""
    worst = sorted((one for one in played if one.lost), key=lambda one: -len(one.lost))[:MOST]
    if not worst:
        return "<p>Nothing that a call needed was out of reach.</p>"
    return "".join(_list(one, hues[one.policy]) for one in worst)


def _list(one: Played, hue: str) -> str:
    rows = "".join(_loss_row(loss) for loss in one.lost[:MOST_ROWS])
    more = len(one.lost) - MOST_ROWS
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    gone = f"{len(one.lost):,} of {one.score.all.needed:,} references gone"
    head = f"<i></i>{escape(one.policy)} <b>{escape(one.conversation)}</b> <small>{gone}</small>"
    return (
        f'<details class="{hue}"><summary>{head}</summary>'
        f"<div class=wide><table class=lost><tr><th>call</th><th>needed</th><th>by</th><th>had stood in</th></tr>"
        f"{rows}</table></div>{rest}</details>"
    )


def _loss_row(loss: Loss) -> str:
    text = escape(loss.text)
    stood = escape(loss.stood).replace(text, f"<mark>{text}</mark>")
    cells = (f"{loss.call + 1:,}", f"<code>{text}</code>", escape(loss.user), stood)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
