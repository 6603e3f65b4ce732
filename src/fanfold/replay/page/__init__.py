"""A replay as one page that fetches nothing: the trail, the frontier, the windows over time, the worst losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from fanfold.replay.page.frontier import frontier
from fanfold.replay.page.summary import About, headline, write_header, write_tables
from fanfold.replay.page.tables import dearest, losses, trail_table
from fanfold.replay.page.timeline import timelines
from fanfold.replay.played import Played
from fanfold.replay.score import Score
from fanfold.text.json_text import sendable_text

__all__ = ["About", "headline", "look", "page"]
_HUES = 8
"""So many policies can be told apart by their colour; look.css has the colours."""


def page(
    played: Sequence[Played],
    scores: Mapping[str, Score],
    window: int,
    remarks: Sequence[str] = (),
    *,
    about: About | None = None,
) -> str:
    """The whole page, without a script and without an address; what is no text in it is U+FFFD."""
    return sendable_text(_page(played, scores, window, remarks, about=about or About()))


def look() -> str:
    """The colours and parts that this page and the inspector have in common, as a style sheet."""
    return _read("look.css")


def _read(name: str) -> str:
    return (files("fanfold.replay.page") / name).read_text(encoding="utf-8")


def _page(
    played: Sequence[Played],
    scores: Mapping[str, Score],
    window: int,
    remarks: Sequence[str],
    *,
    about: About,
) -> str:
    hues = {name: f"hue{number % _HUES}" for number, name in enumerate(scores)}
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=color-scheme content='light dark'>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<link rel=icon href='data:,'><title>fanfold replay</title><style>\n{look()}{_read('page.css')}</style></head>"
        f"<body><main>{write_header(played, scores, window, about)}"
        f"{write_tables(scores, hues)}{''.join(f'<p class=remark>{escape(text)}</p>' for text in remarks)}"
        "<section id=trail><h2>The trail of work</h2><p class=remark>What the agent must still know: how much of "
        f"it was in the requests that had to be reduced.</p>{trail_table(scores, hues)}</section>"
        "<section id=frontier><h2>Cost and recall</h2><p class=remark>Cheap policies are on the left, those that "
        f"keep much are at the top. The dotted line joins the policies that no other beats in both.</p>"
        f"{frontier(scores, hues)}</section>"
        f"<section id=windows><h2>The window over time</h2>{timelines(played, hues, window)}</section>"
        "<section id=dearest><h2>What cost most</h2><p class=remark>The ten most expensive things of each policy, in "
        "token equivalents, and what showing them once only would have saved.</p>"
        f"{dearest(played, hues)}</section>"
        f"<section id=losses><h2>The worst losses</h2>{losses(played, hues)}</section>"
        "</main></body></html>\n"
    )
