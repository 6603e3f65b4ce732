"""The window over time: for each conversation the tokens sent, call by call, under each policy, and every edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from fanfold.replay.page.plot import LEFT, RIGHT, Axis, Plot, short
from fanfold.replay.played import Change, Loss, Played
from fanfold.text.lines import many

HEADROOM = 1.2
"""A policy that leaves the window is drawn up to this much of it."""
MOST_ROWS = 200
"""No longer list of edits is written."""


def timelines(played: Sequence[Played], hues: Mapping[str, str], window: int) -> str:
    """The conversations to click into, the longest first and opened."""
    groups: dict[str, list[Played]] = {}
    for one in played:
        groups.setdefault(one.conversation, []).append(one)
    called = "<span class=alarm>|</span> a call needed something that was gone"
    marks = f"○ an edit: something before the end of the prompt changed · {called}"
    longest = sorted(groups.items(), key=lambda item: -len(item[1][0].windows))
    return f"<p class=remark>{marks}</p>" + "".join(
        f"<details{' open' * (not number)}><summary><b>{escape(name)}</b> <small>{many(len(group[0].windows), 'call')}"
        f"</small></summary>{''.join(_strip(one, hues[one.policy], window) for one in group)}</details>"
        for number, (name, group) in enumerate(longest)
    )


def _strip(one: Played, hue: str, window: int) -> str:
    """A policy at work: what it sent, where it edited, what was missing."""
    plot = Plot((1.0, max(2.0, len(one.windows))), (0.0, window * HEADROOM), height=140, top=14, bottom=24)
    limit, end = plot.y(window), plot.width - RIGHT
    parts = [
        f'<path class=limit d="M{LEFT} {limit:.1f}H{end}"/>'
        f'<text class=limit x="{end}" y="{limit - 5:.1f}" text-anchor=end>window {window:,}</text>',
        _line(plot, one),
        _cut(plot, max(one.windows, default=0)),
        *(_mark(plot, change) for change in one.changes),
        *(_missing(plot, lost) for lost in one.lost),
    ]
    axes = Axis("", lambda call: f"{call:,.0f}"), Axis("", short, 3)
    picture = plot.draw(f"{one.policy}: tokens sent in {one.conversation}", *axes, parts)
    return f'<figure class="{hue}"><figcaption>{_caption(one)}</figcaption>{picture}{_edits(one)}</figure>'


def _caption(one: Played) -> str:
    gone = many(len(one.lost), "name") + " needed but gone" if one.lost else "nothing needed was gone"
    return f"<i></i><b>{escape(one.policy)}</b> <small>{many(len(one.changes), 'edit')}, {gone}</small>"


def _line(plot: Plot, one: Played) -> str:
    points = [f"{plot.x(n):.1f},{plot.y(tokens):.1f}" for n, tokens in enumerate(one.windows, 1)]
    line = " ".join(points)
    ends = f"{plot.x(len(points)):.1f},{plot.floor:.1f} {plot.x(1):.1f},{plot.floor:.1f}"
    return f'<polygon class=area points="{line} {ends}"/><polyline class=line points="{line}"/>'


def _cut(plot: Plot, peak: int) -> str:
    """That the curve goes on above the picture."""
    if peak <= plot.up[1]:
        return ""
    words = f"▲ cut here, the longest prompt has {peak:,} tokens"
    return f'<text class=limit x="{LEFT + 4}" y="{plot.top - 3}">{words}</text>'


def _mark(plot: Plot, change: Change) -> str:
    where = f'cx="{plot.x(change.call + 1):.1f}" cy="{plot.y(change.after):.1f}"'
    return f"<circle class=edit {where} r=4><title>{escape(told(change))}</title></circle>"


def _missing(plot: Plot, lost: Loss) -> str:
    x = plot.x(lost.call + 1)
    title = f"<title>{escape(f'call {lost.call + 1:,} needed {lost.text}')}</title>"
    return f'<path class=missing d="M{x:.1f} {plot.floor:.1f}v-9">{title}</path>'


def told(change: Change) -> str:
    """A change in words."""
    return (
        f"call {change.call + 1:,}: {change.before:,} → {change.after:,} tokens, "
        f"the first {change.kept:,} as they were"
    )


def _edits(one: Played) -> str:
    """Every edit in words, to click into."""
    if not one.changes:
        return ""
    rows = "".join(f"<li>{escape(told(change))}</li>" for change in one.changes[:MOST_ROWS])
    more = len(one.changes) - MOST_ROWS
    rest = f"<li>and {more:,} more</li>" if more > 0 else ""
    return f"<details class=edits><summary>{many(len(one.changes), 'edit')}</summary><ol>{rows}{rest}</ol></details>"
