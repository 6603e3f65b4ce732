"""A replay as one page that fetches nothing: the trail, the frontier, the windows over time, the worst losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from fanfold.replay.page.frontier import frontier
from fanfold.replay.page.tables import losses, trail_table
from fanfold.replay.page.timeline import timelines
from fanfold.replay.played import Played
from fanfold.replay.report import rows
from fanfold.replay.score import Score
from fanfold.tokens.vocabulary import sendable

_HUES = 8
"""So many policies can be told apart by their colour; page.css has the colours."""


def page(
    played: Sequence[Played], scores: Mapping[str, Score], window: int, remarks: Sequence[str] = ()
) -> str:
    """The whole page, without a script and without an address; what is no text in it is U+FFFD."""
    return sendable(_page(played, scores, window, remarks))


def _page(played: Sequence[Played], scores: Mapping[str, Score], window: int, remarks: Sequence[str]) -> str:
    style = (files("fanfold.replay.page") / "page.css").read_text(encoding="utf-8")
    hues = {name: f"hue{number % _HUES}" for number, name in enumerate(scores)}
    talks = len({one.conversation for one in played})
    calls = max((score.calls for score in scores.values()), default=0)
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=color-scheme content='light dark'>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<link rel=icon href='data:,'><title>fanfold replay</title><style>\n{style}</style></head><body><main>"
        "<header><h1>What each policy cost, kept and lost</h1>"
        f"<p>{talks:,} conversations · {calls:,} model calls · a window of {window:,} tokens</p></header>"
        f"{_table(scores, hues)}{''.join(f'<p class=remark>{escape(text)}</p>' for text in remarks)}"
        "<section id=trail><h2>The trail of work</h2><p class=remark>what the agent must still know, and how much of "
        f"it stood in the requests that had to be reduced</p>{trail_table(scores, hues)}</section>"
        f"<section id=frontier><h2>Cost and recall</h2>{frontier(scores, hues)}</section>"
        f"<section id=windows><h2>The window over time</h2>{timelines(played, hues, window)}</section>"
        f"<section id=losses><h2>The worst losses</h2>{losses(played, hues)}</section>"
        "</main></body></html>\n"
    )


def _table(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    head, *body = rows(dict(scores))
    lines = ["".join(f"<th scope=col>{escape(cell)}</th>" for cell in head)]
    for name, *cells in body:
        first = f'<th scope=row class="{hues[name]}"><i></i>{escape(name)}</th>'
        lines.append(first + "".join(f"<td>{escape(cell)}</td>" for cell in cells))
    return f"<div class=wide><table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table></div>"
