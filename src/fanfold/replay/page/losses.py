"""The worst losses, to click into: what a call needed, and where it had stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from fanfold.replay.played import Loss, Played

MOST = 40
"""So many conversations are listed."""
MOST_ROWS = 100


def losses(played: Sequence[Played], hues: Mapping[str, str]) -> str:
    """Of each conversation and policy what was gone when it was needed, the worst first."""
    worst = sorted((one for one in played if one.lost), key=lambda one: -len(one.lost))[:MOST]
    if not worst:
        return "<p>Nothing that a call needed was out of reach.</p>"
    return "".join(_listed(one, hues[one.policy]) for one in worst)


def _listed(one: Played, hue: str) -> str:
    rows = "".join(_row(loss) for loss in one.lost[:MOST_ROWS])
    more = len(one.lost) - MOST_ROWS
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    gone = f"{len(one.lost):,} of {one.score.all.needed:,} references gone"
    head = f"<i></i>{escape(one.policy)} <b>{escape(one.conversation)}</b> <small>{gone}</small>"
    return (
        f'<details class="{hue}"><summary>{head}</summary>'
        f"<div class=wide><table class=lost><tr><th>call</th><th>needed</th><th>by</th><th>had stood in</th></tr>"
        f"{rows}</table></div>{rest}</details>"
    )


def _row(loss: Loss) -> str:
    text = escape(loss.text)
    stood = escape(loss.stood).replace(text, f"<mark>{text}</mark>")
    cells = (f"{loss.call + 1:,}", f"<code>{text}</code>", escape(loss.user), stood)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
