"""The top of the page: what was found in one sentence, what was run, and a table with the meaning of every column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import msgspec

from fanfold.replay.played import Played
from fanfold.replay.report import rows
from fanfold.replay.score import Score
from fanfold.text.lines import many

MEANING = {
    "policy": "What decides what is left out; `none` sends everything.",
    "calls": "Calls of the model that were replayed.",
    "M tokens": "Millions of tokens in all prompts.",
    "tokens/call": "Tokens of the average prompt.",
    "cached": "The share of all prompt tokens that the provider's cache had.",
    "cost M": "Millions of token equivalents: an uncached token counts 1.25, a cached one 0.1.",
    "$": "All prompts at the model's list prices; a dash where no price is known.",
    "re-sent": "Tokens that were sent before and had to be read afresh, because something before them changed.",
    "peak": "Tokens of the longest prompt.",
    "over": "Prompts that do not fit the window.",
    "400": "Prompts that the provider would refuse because they break one of its rules.",
    "asked": "Questions to a model for summaries; their cost is included.",
    "trail": "What the agent did, found, decided and broke, as far as it stood in the prompts that had to be reduced.",
    "false": "Statements about how something ended that the history contradicts.",
    "names in view": "Names that the next call used, and that stood in the prompt.",
    "needed names in view": "Names in view, without those that the model had just used itself.",
    "one call away": "Needed names in view, and those that the model can look up by a reference in the prompt.",
    "code words in view": "Like needed names, for every word that looks like code.",
    "first request kept": "Prompts in which the person's first request stood, word for word.",
    "rules": "Rules of the person that stood in the prompts, word for word.",
    "shown whole": "New outputs that were shown whole when they arrived.",
    "last five whole": "Of the last five outputs, those that were still shown whole.",
    "ms/call": "Milliseconds that the policy took for a prompt.",
}
"""What every column means."""
FIRST = ("$", "cost M", "cached", "peak", "over", "trail", "needed names in view", "one call away")
"""The columns of the table that everybody sees; all others are in the one below."""
_PERCENT = "\N{NO-BREAK SPACE}%"
CHOSEN = ("default", "auto")


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What was run, and when."""

    command: str = ""
    date: str = ""


def headline(scores: Mapping[str, Score]) -> str:
    """What was found, in one sentence: the default, or the first policy that leaves something out."""
    return _sentence(scores).replace("%", _PERCENT)


def _sentence(scores: Mapping[str, Score]) -> str:
    name = next((one for one in (*CHOSEN, *scores) if one in scores and one != "none"), None)
    if name is None:
        return "What it costs to send everything"
    score, whole = scores[name], scores.get("none")
    if whole is not None and whole.cost and not whole.over:
        return f"{name} is {_against(score, whole)} sending everything{_kept(score)}"
    # What does not fit cannot be sent, so that its price says nothing.
    begin = f"{name} "
    if whole is not None and whole.over:
        begin = f"Sending everything does not fit in {whole.over:,} of {many(whole.calls, 'call')}; {name} "
    fitting = (
        one for one in scores if one not in (name, "none") and scores[one].cost and not scores[one].over
    )
    other = next(fitting, None)
    if other is None:
        return f"{begin}costs {_cost(score)}{_kept(score)}"
    return f"{begin}is {_against(score, scores[other])} {other}{_kept(score, other, scores[other])}"


def _cost(score: Score) -> str:
    """In dollars where all prices are known."""
    if score.dollars and not score.unpriced:
        return f"${score.dollars:,.2f}"
    return f"{score.cost / 1e6:,.2f} M token equivalents"


def _kept(score: Score, other: str = "", beside: Score | None = None) -> str:
    """How much of the trail of work a policy keeps; and the one that it is compared with."""
    if score.trail.mean is None:
        return ""
    known = beside is not None and beside.trail.mean is not None
    compared = f" ({other}: {beside.trail.mean:.0%})" if known and beside else ""
    return f", and keeps {score.trail.mean:.0%} of the trail of work{compared}"


def _against(score: Score, other: Score) -> str:
    part = 1 - score.cost / other.cost
    return f"{abs(part):.0%} {'cheaper' if part >= 0 else 'more expensive'} than"


def write_header(played: Sequence[Played], scores: Mapping[str, Score], window: int, about: About) -> str:
    """The sentence, and what was run."""
    talks = len({one.conversation for one in played})
    calls = max((score.calls for score in scores.values()), default=0)
    models = sorted({one.model for one in played if one.model})
    told = [many(talks, "conversation"), many(calls, "model call"), f"a window of {window:,} tokens"]
    told += [
        ", ".join(models[:3]) + (" …" if len(models) > 3 else "") if models else "no model recorded",
        about.date,
    ]
    command = f"<p><code>{escape(about.command)}</code></p>" if about.command else ""
    words = " · ".join(escape(one) for one in told if one)
    return f"<header><h1>{escape(headline(scores))}</h1><p>{words}</p>{command}</header>"


def write_tables(scores: Mapping[str, Score], hues: Mapping[str, str]) -> str:
    """The table, every column with its meaning, and all other columns to click into."""
    head, *body = rows(dict(scores))
    first = [head.index(name) for name in FIRST]
    rest = [at for at in range(1, len(head)) if at not in first]
    legend = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(MEANING[name])}</dd></div>" for name in head[1:]
    )
    return (
        f"<section id=policies>{_table(head, body, first, hues)}"
        f"<details><summary>All other columns</summary>{_table(head, body, rest, hues)}</details>"
        f"<details id=legend><summary>What the columns mean</summary><dl class=meanings>{legend}</dl></details>"
        "</section>"
    )


def _table(
    head: tuple[str, ...], body: Sequence[tuple[str, ...]], places: Sequence[int], hues: Mapping[str, str]
) -> str:
    """Some columns; on a phone every policy becomes a card, and every cell has its column's name."""
    top = "".join(
        f'<th scope=col title="{escape(MEANING[head[at]])}">{escape(head[at])}</th>' for at in (0, *places)
    )
    lines = [f"<thead><tr>{top}</tr></thead><tbody>"]
    for row in body:
        name = f'<th scope=row><i class="{hues[row[0]]}"></i>{escape(row[0])}</th>'
        cells = "".join(f'<td data-name="{escape(head[at])}">{escape(row[at])}</td>' for at in places)
        lines.append(f"<tr>{name}{cells}</tr>")
    return f"<div class=wide><table class=policies>{''.join(lines)}</tbody></table></div>"
